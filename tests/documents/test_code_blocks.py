"""Python code blocks of Markdown and reStructuredText, as one program that stands in the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.code_blocks import CodeBlocks, code_blocks_from_bytes
from oomlint.documents.lines import Location
from oomlint.documents.python_file import DocumentError
from oomlint.documents.text_edits import TextEdit


def markdown(text: str) -> CodeBlocks:
    return code_blocks_from_bytes(text.encode(), "a.md")


def restructured(text: str) -> CodeBlocks:
    return code_blocks_from_bytes(text.encode(), "a.rst")


def changed(document: CodeBlocks, *edits: tuple[str, str, str]) -> str:
    """The file after writing something before a text of the program, in place of it, or in place of nothing."""
    found = []
    for before, old, new in edits:
        start = document.text.index(before)
        found.append(TextEdit(start, start + len(old), new))
    return document.with_edits(found).raw.decode()


@pytest.mark.parametrize(
    "opening",
    [
        "```python",
        "~~~python",
        "````py",
        "```python3 title='a.py'",
        "``` {.python .numberLines}",
        "```{python}",
        "```{python, echo=FALSE}",
        "```{code-cell} ipython3",
        "```{code-cell}",
        "```{code-block} python",
        "```Python",
        "- ```py",
        "  1. ~~~python",
        "> ```python",
    ],
)
def test_fences_with_python(opening: str) -> None:
    fence = opening.lstrip(" >-1.")
    closing = fence[: len(fence) - len(fence.lstrip(fence[0]))]
    prefix = "".join(">" if char == ">" else " " for char in opening[: len(opening) - len(fence)])
    document = markdown(
        f"text\n\n{opening}\n{prefix}x = 1\n{prefix}if x:\n{prefix}    y = 2\n{prefix}{closing}\nx = 3\n"
    )
    assert document.text.strip() == "x = 1\nif x:\n    y = 2"
    offset = document.text.index("y")
    assert document.location(offset) == Location(6, len(prefix) + 5)
    assert document.offset(document.location(offset)) == offset
    assert document.shown(offset, offset) == (f"{prefix}    y = 2",)
    after = changed(document, ("x", "", "a = 0\n"), ("    y", "", "    b = 1\n"))
    assert after.split("\n")[3:8] == [
        f"{prefix}a = 0",
        f"{prefix}x = 1",
        f"{prefix}if x:",
        f"{prefix}    b = 1",
        f"{prefix}    y = 2",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\nx = 1\n```",
        "```bash\nx=1\n```",
        "```pythonic\nx = 1\n```",
        "```json\nx\n```",
        "    x = 1",
        "`python x = 1`",
        "```text\n```python\nx = 1\n```",
        "```python\n```",
        "```python\nmodel.fit(x, ..., y=1, z\n```",
        "```{code-cell} julia\nx = 1\n```",
        "```{r}\nx = 1\n```",
    ],
)
def test_what_is_no_python_block_is_passed_over_in_silence(text: str) -> None:
    document = markdown(text)
    assert (document.text.strip(), document.broken) == ("", ())


def test_blocks_see_each_other_and_a_broken_one_costs_itself() -> None:
    document = markdown("```python\nx = 1\n```\n```python\nx = \n```\n```python\ny = x\n```\n")
    assert document.text.split() == ["x", "=", "1", "y", "=", "x"]


def test_options_of_a_cell_are_no_code() -> None:
    document = markdown("```{code-cell} ipython3\n:tags: [hide]\n\n%cd a\nx = 1\n```\n")
    assert document.text.strip() == "pass \nx = 1"
    assert markdown("```{code-cell}\n---\ntags: [a]\n---\nx = 1\n```\n").text.strip() == "x = 1"
    assert document.location(document.text.index("x")) == Location(5, 1)


def test_a_fence_that_is_never_closed_goes_to_the_end() -> None:
    document = markdown("```python\nx = 1")
    assert document.text.strip() == "x = 1"
    end = document.text.index("1") + 2
    assert document.with_edits([TextEdit(end, end, "y = 2\n")]).raw == b"```python\nx = 1\ny = 2"


def test_sessions_are_read_and_left_as_they_are() -> None:
    document = markdown("```pycon\n>>> x = 1\n>>> if x:\n...     y = 2\n1\n>>> z = 3\n```\n")
    assert [row for row in document.text.split("\n") if row] == ["x = 1", "if x:", "    y = 2", "z = 3"]
    assert document.location(document.text.index("y")) == Location(4, 9)
    with pytest.raises(DocumentError, match=">>>"):
        changed(document, ("z", "", "a = 1\n"))


RST = """\
Title
=====

.. code-block:: python
   :linenos:
   :caption: a

   import os

   def f():
       return 1

- item

  .. code:: python3

     x = f()

  text::

     x = 2

.. sourcecode:: bash

   x = 3

.. code::

   x = 4

>>> x = 5
>>> y = x
5

.. testcode::

    z = 6
"""


def test_directives() -> None:
    document = restructured(RST)
    rows = [row for row in document.text.split("\n") if row]
    assert rows == ["import os", "def f():", "    return 1", "x = f()", "x = 5", "y = x", "z = 6"]
    for word, place in (("import", Location(8, 4)), ("x = f", Location(17, 6)), ("z", Location(37, 5))):
        offset = document.text.index(word)
        assert document.location(offset) == place
        assert document.offset(place) == offset
    after = changed(
        document, ("def", "", "a = 1\n\n"), ("    return 1", "    return 1", "    if a:\n        return 2")
    )
    assert after == RST.replace(
        "   def f():\n       return 1", "   a = 1\n\n   def f():\n       if a:\n           return 2"
    )


def test_newlines_and_a_mark_stay() -> None:
    raw = b"\xef\xbb\xbf# \xc3\xa9\r\n```python\r\nx = 1\r\n```\r\n"
    document = code_blocks_from_bytes(raw, "a.md")
    after = document.with_edits([TextEdit(0, 0, "y = 2\n")])
    assert after.raw == raw.replace(b"x = 1", b"y = 2\r\nx = 1")
    with pytest.raises(DocumentError, match="0xe9 is not valid utf-8"):
        code_blocks_from_bytes(b"\xe9", "a.md")


BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["", "  ", "> ", "\t"]),
        st.lists(
            st.sampled_from(["x = 1", "", "if x:\n    y = 2", "# é", "s = '''\na'''"]), min_size=1, max_size=4
        ),
    ),
    min_size=1,
    max_size=3,
)


@given(BLOCKS, st.data())
def test_inserted_rows_are_indented_and_nothing_else_changes(
    blocks: list[tuple[str, list[str]]], data: st.DataObject
) -> None:
    parts = []
    for prefix, rows in blocks:
        body = "\n".join(f"{prefix}{row}" if row else row for row in "\n".join(rows).split("\n"))
        parts.append(f"text é\n\n{prefix}```python\n{body}\n{prefix}```\n")
    text = "".join(parts)
    document = markdown(text)
    assert document.with_edits([]).raw == text.encode()
    if not document.parts:
        return
    part = data.draw(st.sampled_from(document.parts))
    row = data.draw(st.integers(1, part.rows.count))
    offset = part.start + part.rows.start(row)
    after = document.with_edits([TextEdit(offset, offset, "new = 1\n")])
    old_rows, new_rows = text.split("\n"), after.raw.decode().split("\n")
    at = document.location(offset).row - 1
    assert new_rows[at] == part.prefix + "new = 1"
    assert new_rows[:at] + new_rows[at + 1 :] == old_rows
    again = code_blocks_from_bytes(after.raw, "a.md")
    if len(again.parts) == len(after.parts):  # else the row has broken its block
        assert [one.text for one in again.parts] == [one.text for one in after.parts]

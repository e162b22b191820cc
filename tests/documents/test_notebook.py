"""Notebooks: cells as one program, and a file of which only the edited cells' source changes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.lines import Location
from oomlint.documents.notebook import Notebook, notebook_from_bytes, notebook_of_cells
from oomlint.documents.python_file import DocumentError, write
from oomlint.documents.reading import document_of, read
from oomlint.documents.text_edits import TextEdit, apply_edits


def code(source: Any, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": [],
        "source": source,
        **more,
    }


def text(source: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def notebook(*cells: dict[str, Any], **metadata: Any) -> Notebook:
    content = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return notebook_from_bytes(json.dumps(content, indent=1).encode(), "a.ipynb")


def sources(raw: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"]]


def insert(document: Notebook, before: str, new: str) -> TextEdit:
    offset = document.text.index(before)
    return TextEdit(offset, offset, new)


def test_code_cells_are_one_program_and_places_count_all_cells() -> None:
    document = notebook(
        text("# import x"), code(["import a\n", "b = 1"]), text("keras"), code("c = é = 2\n\nd = 3")
    )
    assert document.text.split() == ["import", "a", "b", "=", "1", "c", "=", "é", "=", "2", "d", "=", "3"]
    for word, place in (("b", Location(2, 1, 2)), ("c =", Location(1, 1, 4)), ("d", Location(3, 1, 4))):
        offset = document.text.index(word)
        assert document.location(offset) == place
        assert document.offset(place) == offset
    start = document.text.index("c =")
    assert document.shown(start, document.text.index("d")) == ("c = é = 2", "", "d = 3")
    assert document.sources() == {2: "import a\nb = 1", 4: "c = é = 2\n\nd = 3"}


def test_what_is_shown_of_a_magic_is_the_magic() -> None:
    document = notebook(code("x = 1\nfiles = !ls"))
    offset = document.text.index("files")
    assert document.shown(offset, offset) == ("files = !ls",)


def test_cells_that_are_not_python_are_left_out() -> None:
    document = notebook(
        code("%%bash\nls"),
        {"cell_type": "raw", "metadata": {}, "source": "x ="},
        code("SELECT 1", metadata={"vscode": {"languageId": "sql"}}),
        code(""),
        code("x = 1", metadata={"vscode": {"languageId": "python"}}),
    )
    assert document.text.strip() == "x = 1"
    assert document.broken == ()


@pytest.mark.parametrize("language", ["R", "julia", "scala"])
def test_a_notebook_of_another_language_is_silent(language: str) -> None:
    for metadata in ({"kernelspec": {"language": language}}, {"language_info": {"name": language}}):
        document = notebook(code("x <- keras("), **metadata)
        assert (document.text, document.parts, document.broken) == ("", (), ())
    assert notebook(code("x = 1"), kernelspec={"language": "python", "name": "julia-like"}).parts


def test_a_kernel_is_known_by_its_name_where_no_language_is_said() -> None:
    assert notebook(code("x = 1"), kernelspec={"name": "swift"}).parts == ()
    assert notebook(code("x = 1"), kernelspec={"name": "julia-1.6"}).parts == ()
    assert notebook(code("x = 1"), kernelspec={"name": "irish-project"}).parts


def test_a_cell_that_does_not_parse_costs_only_itself() -> None:
    document = notebook(code("x = 1"), code("y = 1\nw = = 2"), code("z = 3"))
    assert document.text.split("\n\n") == ["x = 1", "z = 3", ""]
    (broken,) = document.broken
    assert (broken.number, broken.fault.line, broken.row) == (2, 2, "w = = 2")


def test_python_2_is_told_once() -> None:
    document = notebook(code("print 'a'"), code("x = 1"), code("print 'b'"))
    assert [broken.number for broken in document.broken] == [1]
    assert "Python 2" in document.broken[0].fault.message


def test_a_cell_that_is_indented_as_a_whole() -> None:
    document = notebook(code("\n    x = 1\n    if x:\n        y = 2"))
    assert document.text.strip() == "x = 1\nif x:\n    y = 2"
    assert document.location(document.text.index("y")) == Location(4, 9, 1)
    after = document.with_edits(
        [insert(document, "x = 1", "a = 0\n"), insert(document, "    y", "    b = 1\n")]
    )
    assert sources(after.raw) == ["\n    a = 0\n    x = 1\n    if x:\n        b = 1\n        y = 2"]


def test_an_insertion_behind_the_last_row_stays_in_its_cell() -> None:
    document = notebook(code(["import a\n", "import b"]), code(["# first\n", "x = 1"]))
    behind = document.text.index("import b") + len("import b\n")
    after = document.with_edits([TextEdit(behind, behind, "import c\n")])
    assert sources(after.raw) == ["import a\nimport b\nimport c", "# first\nx = 1"]
    # Split where Jupyter splits, so that saving it there changes nothing.
    assert json.loads(after.raw)["cells"][0]["source"] == ["import a\n", "import b\n", "import c"]
    before = document.text.index("# first")
    after = document.with_edits([TextEdit(before, before, "import c\n")])
    assert sources(after.raw) == ["import a\nimport b", "import c\n# first\nx = 1"]
    assert json.loads(after.raw)["cells"][1]["source"] == ["import c\n", "# first\n", "x = 1"]


def test_rows_of_the_file() -> None:
    document = notebook(text("# x"), code(["import a\n", "\n", "b = 1\n", "c = 2"]), code("d = 3\ne = 4"))
    rows = document.raw.decode().splitlines()
    for cell, row, word in ((2, 1, "import a"), (2, 3, "b = 1"), (2, 4, "c = 2"), (3, 2, "d = 3")):
        assert word in rows[document.file_row(Location(row, 1, cell)) - 1]
    with pytest.raises(ValueError, match="cell 1"):
        document.file_row(Location(1, 1, 1))


def test_a_removed_last_row_leaves_no_empty_one() -> None:
    document = notebook(code(["x = 1\n", "y = 2"]), code("z = 3"))
    start = document.text.index("y")
    after = document.with_edits([TextEdit(start, start + len("y = 2\n"), "")])
    assert [cell["source"] for cell in json.loads(after.raw)["cells"]] == [["x = 1"], "z = 3"]


def test_rows_that_go_one_by_one_with_the_last_one_leave_no_empty_one() -> None:
    # As two fixes remove them, each of which knows nothing of the other.
    document = notebook(code(["x = 1\n", "y = 2\n", "z = 3\n", "w = 4"]), code("v = 5"))
    starts = [document.text.index(name) for name in "yzw"]
    gone = [TextEdit(start, start + len("y = 2\n"), "") for start in starts]
    for edits in (gone, gone[::-1]):
        after = document.with_edits(edits)
        assert [cell["source"] for cell in json.loads(after.raw)["cells"]] == [["x = 1"], "v = 5"]
    # Rows that do not touch are each their own.
    after = document.with_edits([gone[0], gone[2]])
    assert json.loads(after.raw)["cells"][0]["source"] == ["x = 1\n", "z = 3"]
    whole = notebook(code(["y = 2\n", "z = 3"]), code("v = 5"))
    after = whole.with_edits(
        [TextEdit(0, len("y = 2\n"), ""), TextEdit(len("y = 2\n"), len("y = 2\nz = 3\n"), "")]
    )
    assert sources(after.raw) == ["", "v = 5"]


def test_rows_that_take_the_place_of_the_last_one_end_as_it_did() -> None:
    document = notebook(code(["x = 1\n", "y = 2"]), code("z = 3"))
    start = document.text.index("y")
    rows = [TextEdit(start, start, "for y in x:\n    f(y)\n"), TextEdit(start, start + len("y = 2\n"), "")]
    after = document.with_edits(rows)
    assert json.loads(after.raw)["cells"][0]["source"] == ["x = 1\n", "for y in x:\n", "    f(y)"]


def test_an_edit_over_two_cells_or_of_a_magic_is_refused() -> None:
    document = notebook(code("x = 1\n%cd a\n%time y = f(2)"), code("z = 3"))
    with pytest.raises(DocumentError, match="two cells"):
        document.with_edits([TextEdit(document.text.index("x"), document.text.index("z") + 1, "")])
    magic = document.text.index("pass")
    for edit in (
        TextEdit(0, magic + 2, ""),
        TextEdit(magic + 1, magic + 1, "a"),
        TextEdit(magic, magic + 4, ""),
    ):
        with pytest.raises(DocumentError, match="IPython"):
            document.with_edits([edit])
    after = document.with_edits([TextEdit(document.text.index("2"), document.text.index("2") + 1, "4")])
    assert sources(after.raw) == ["x = 1\n%cd a\n%time y = f(4)", "z = 3"]


SPELLINGS = rb"""{"nbformat": 4, "cells": [ {"source": ["s = '\u00e9 \ud83d\ude00 \/'\n"  ,
  "t = '\u00C9'" ,"" ], "outputs": [{"text": "\u00e9"}],
 "cell_type": "code", "metadata" : {}} ] , "metadata": {"a": 1e400, "a": 1.50}}  """


def test_every_byte_that_is_not_edited_stays() -> None:
    document = notebook_from_bytes(SPELLINGS, "a.ipynb")
    assert document.text.startswith("s = 'é \U0001f600 /'\nt = 'É'")
    end = document.text.index("t =")
    after = document.with_edits([TextEdit(end, end, "ü = 1\n"), insert(document, "'É", "u")])
    assert after.raw == SPELLINGS.replace(
        rb"""'\u00e9 \ud83d\ude00 \/'\n"  ,
  "t = '\u00C9'" """,
        rb"""'\u00e9 \ud83d\ude00 \/'\n"  ,
  "\u00fc = 1\n"  ,
  "t = u'\u00C9'" """,
    )


def test_crlf_between_values_and_a_mark_in_front() -> None:
    raw = b'\xef\xbb\xbf{\r\n "cells": [\r\n  {"cell_type": "code",\r\n   "source": [\r\n    "x = 1"\r\n   ]}\r\n ]\r\n}'
    document = notebook_from_bytes(raw, "a.ipynb")
    after = document.with_edits([TextEdit(0, 0, 'y = "é"\n')])
    new = '"y = \\"é\\"\\n",\r\n    "x = 1"'.encode()
    assert after.raw == raw.replace(b'"x = 1"', new)


def test_formats_3_and_4_are_read_and_written() -> None:
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("# a"), nbformat.v4.new_code_cell("import keras\nx = 1")]
    )
    for version in (3, 4):
        raw = nbformat.writes(nbformat.convert(book, version)).encode()
        document = notebook_from_bytes(raw, "a.ipynb")
        assert document.text.strip() == "import keras\nx = 1"
        after = document.with_edits([insert(document, "x = 1", "y = 2\n")])
        again = nbformat.reads(after.raw.decode(), as_version=version)
        nbformat.validate(again)
        cells = again.cells if version == 4 else again.worksheets[0].cells
        assert cells[1]["source" if version == 4 else "input"] == "import keras\ny = 2\nx = 1"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "not valid JSON"),
        (b'{"cells": [', "not valid JSON"),
        (b'{"cells": []} x', "not valid JSON"),
        (b'{"cells": [{},]}', "not valid JSON"),
        (b'{"metadata": {}}', "no list of cells"),
        (b"[1]", "no list of cells"),
        (b'{"cells": ["\xff"]}', "0xff is not valid utf-8"),
        ('{"cells": []}'.encode("utf-16"), "UTF-16"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_said(raw: bytes, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        notebook_from_bytes(raw, "a.ipynb")


def test_odd_cells_are_passed_over() -> None:
    document = notebook(
        code(None), code(["a", 1]), code("x = '\\0'"), code("y = 1\x00"), code("z = '\ud800'"), code("u = 1")
    )
    assert document.sources() == {3: "x = '\\0'", 6: "u = 1"}
    assert [broken.number for broken in document.broken] == [4, 5]
    empty = notebook()
    assert (empty.text, empty.location(0)) == ("", Location(1, 1, 1))
    assert empty.with_edits([]).raw == empty.raw


def test_large_outputs_cost_little() -> None:
    picture = "iVBORw0KGgo" * 2_000_000
    document = notebook(code("x = 1", outputs=[{"data": {"image/png": picture}}]), code("y = 2"))
    after = document.with_edits([insert(document, "y", "z = 3\n")])
    assert len(after.raw) == len(document.raw) + len("z = 3\\n")
    assert picture.encode() in after.raw


def test_what_a_notebook_installs_itself() -> None:
    document = notebook(
        code("!pip install -q -U 'keras==2.4' tensorflow-gpu>=2.1 && ls\n%pip install numpy\nx = 1"),
        code("%tensorflow_version 1.x\nprint('!pip install tensorflow==2.0')"),
        code("%%bash\npip install keras==3.1"),
    )
    wanted = document.requirements
    assert wanted == ("tensorflow==1.*", "numpy", "tensorflow-gpu>=2.1", "keras==2.4", "-U", "-q")


def test_an_editor_may_give_the_cells() -> None:
    document = notebook_of_cells([(2, "x = 1"), (5, "y = 'é'\n")], "a.ipynb", Path("a.ipynb"))
    assert document.sources() == {2: "x = 1", 5: "y = 'é'\n"}
    assert document.location(document.text.index("y")) == Location(1, 1, 5)


def test_files_are_read_by_their_name_and_written_back(tmp_path: Path) -> None:
    path = tmp_path / "a.IPYNB"
    path.write_bytes(notebook(code("x = 1")).raw)
    document = read(path)
    assert isinstance(document, Notebook)
    assert isinstance(document_of(b"", "a.py"), Notebook) is False
    changed = document.with_edits([TextEdit(0, 0, "y = 1\n")])
    write(document, changed)
    assert path.read_bytes() == changed.raw


ROWS = st.sampled_from(
    ["x = 1", "", "y = 'é\"\\\\'", "# \U0001f600", "%cd a", "if x:\n    z = 2", "\tif", "w = '''\n'''"]
)
CELLS = st.lists(
    st.tuples(st.lists(ROWS, max_size=5).map("\n".join), st.booleans(), st.booleans()), max_size=4
)


@given(CELLS, st.data())
def test_only_the_source_of_edited_cells_changes(
    cells: list[tuple[str, bool, bool]], data: st.DataObject
) -> None:
    """Whatever a notebook looks like, and wherever its cells are edited."""
    content: dict[str, Any] = {
        "metadata": {"é": [1.0, None]},
        "nbformat": 4,
        "nbformat_minor": 4,
        "cells": [],
    }
    for source, as_list, is_code in cells:
        given_source = source.splitlines(keepends=True) if as_list else source
        cell = code(given_source, outputs=[{"text": ["é\n", '"source"']}]) if is_code else text(given_source)
        shuffled = list(cell.items())
        random.Random(data.draw(st.integers(0, 9))).shuffle(shuffled)
        content["cells"].append(dict(shuffled))
    indent = data.draw(st.sampled_from([None, 0, 1, 4, "\t"]))
    raw = json.dumps(content, indent=indent, ensure_ascii=data.draw(st.booleans()))
    raw = data.draw(st.sampled_from(["", "\n", "\r\n"])).join((raw, ""))
    document = notebook_from_bytes(raw.encode(), "a.ipynb")
    assert document.with_edits([]).raw == document.raw == raw.encode()

    edits: dict[int, list[TextEdit]] = {}
    for index, part in enumerate(document.parts):
        free = [n for n in range(len(part.text) + 1) if not any(a <= n <= b for a, b in part.neutral)]
        if free and data.draw(st.booleans()):
            start = data.draw(st.sampled_from(free))
            ends = [n for n in free if n >= start and all(b <= start or n <= a for a, b in part.neutral)]
            edits[index] = [
                TextEdit(
                    start,
                    data.draw(st.sampled_from(ends)),
                    data.draw(st.sampled_from(["", "é", "a\nb\n", '"'])),
                )
            ]
    moved = [
        TextEdit(e.start + document.parts[n].start, e.end + document.parts[n].start, e.text)
        for n in edits
        for e in edits[n]
    ]
    after = document.with_edits(moved)

    expected = json.loads(raw)
    for index, own in edits.items():
        cell = expected["cells"][document.parts[index].number - 1]
        cell["source"] = apply_edits("".join(cell["source"]), own)
    found = json.loads(after.raw)
    for one, other in zip(found["cells"], expected["cells"], strict=True):
        assert "".join(one.pop("source")) == "".join(other.pop("source"))
    assert found == expected
    if not edits:
        assert after.raw == document.raw
    # What stands around the sources is the same, byte for byte; and what stays of a cell keeps its form.
    assert _around(after) == _around(document)
    kinds = [type(cell["source"]) for cell in json.loads(after.raw)["cells"]]
    assert kinds == [type(cell["source"]) for cell in json.loads(raw)["cells"]]
    for cell in json.loads(after.raw)["cells"]:
        if isinstance(cell["source"], list) and cell["cell_type"] == "code":
            assert cell["source"] == "".join(cell["source"]).splitlines(keepends=True)


def _around(document: Notebook) -> list[str]:
    whole, done, pieces = document.raw.decode(), 0, []
    for start, end in document._spans:
        pieces.append(whole[done:start])
        done = end
    return [*pieces, whole[done:]]

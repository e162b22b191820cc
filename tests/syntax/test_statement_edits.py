"""Whole statements inserted, removed and moved; imports added."""

from __future__ import annotations

import libcst as cst
import pytest
from syntax.edited_code import Code, edited

from oomlint.syntax.edits import AddImport, InsertAfter, InsertBefore, MoveAfter, MoveBefore, RemoveStatement
from oomlint.syntax.resolve import EditError

LINES = ("for g in gs:", "    use(g)")

# before, start of the statement, after
BEFORE = [
    ("x = 1\n", "x", "for g in gs:\n    use(g)\nx = 1\n"),
    ("a\nx = 1\n", "x", "a\nfor g in gs:\n    use(g)\nx = 1\n"),
    ("a\n\n# about x\n# more\nx = 1\n", "x", "a\n\nfor g in gs:\n    use(g)\n# about x\n# more\nx = 1\n"),
    ("a\n# of a section\n\nx = 1\n", "x", "a\n# of a section\n\nfor g in gs:\n    use(g)\nx = 1\n"),
    ("#!/usr/bin/env python\n# licence\nx = 1\n", "x",
     "#!/usr/bin/env python\n# licence\nfor g in gs:\n    use(g)\nx = 1\n"),
    ("if a:\n\tx = 1\n", "x", "if a:\n\tfor g in gs:\n\t\tuse(g)\n\tx = 1\n"),
    ("if a:\n  x = 1\n", "x", "if a:\n  for g in gs:\n    use(g)\n  x = 1\n"),
    ("if a:\r\n    x = 1\r\n", "x", "if a:\r\n    for g in gs:\r\n        use(g)\r\n    x = 1\r\n"),
    ("if a:\n    # why\n    x = 1\n", "x", "if a:\n    for g in gs:\n        use(g)\n    # why\n    x = 1\n"),
    ("if a: x = 1\n", "x", "if a:\n    for g in gs:\n        use(g)\n    x = 1\n"),
    ("if a: y; x = 1  # c\n", "x", "if a:\n    y\n    for g in gs:\n        use(g)\n    x = 1  # c\n"),
    ("y; x = 1\n", "x", "y\nfor g in gs:\n    use(g)\nx = 1\n"),
    ("x = 1; y\n", "x", "for g in gs:\n    use(g)\nx = 1; y\n"),
    ("a\n@d\n@e(\n  1)\ndef x(): pass\n", "def x", "a\nfor g in gs:\n    use(g)\n@d\n@e(\n  1)\ndef x(): pass\n"),
    ("if a:\n    b\nelif c:\n    x = 1\n", "x", "if a:\n    b\nelif c:\n    for g in gs:\n        use(g)\n    x = 1\n"),
    ("if a:\n    b\nelse:\n    x = 1\n", "x", "if a:\n    b\nelse:\n    for g in gs:\n        use(g)\n    x = 1\n"),
    ("while a:\n  if (b and\n      c): x = 1\n", "x",
     "while a:\n  if (b and\n      c):\n    for g in gs:\n      use(g)\n    x = 1\n"),
    ("try: x = 1\nfinally: pass\n", "x", "try:\n    for g in gs:\n        use(g)\n    x = 1\nfinally: pass\n"),
    ("x = 1", "x", "for g in gs:\n    use(g)\nx = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "start", "after"), BEFORE)
def test_insert_before(before: str, start: str, after: str) -> None:
    assert edited(before, lambda code: InsertBefore(code.statement(start), LINES)) == after


def test_insert_before_an_elif_goes_before_its_if() -> None:
    text = "a\nif b:\n    c\nelif d:\n    e\n"
    after = edited(text, lambda code: InsertBefore(code.at("d"), ("x = 1",)))
    assert after == "a\nx = 1\nif b:\n    c\nelif d:\n    e\n"


def test_insert_before_takes_any_node_of_the_statement_and_a_blank_line() -> None:
    after = edited(
        "a\nx = f(\n    y\n)\n", lambda code: InsertBefore(code.at("y"), ("b", "", "c"), blank=True)
    )
    assert after == "a\nb\n\nc\n\nx = f(\n    y\n)\n"


AFTER = [
    ("x = 1\n", "x", "x = 1\nfor g in gs:\n    use(g)\n"),
    ("x = 1  # why\ny\n", "x", "x = 1  # why\nfor g in gs:\n    use(g)\ny\n"),
    ("x = 1", "x", "x = 1\nfor g in gs:\n    use(g)"),
    ("x = f(\n    1\n)\ny\n", "x", "x = f(\n    1\n)\nfor g in gs:\n    use(g)\ny\n"),
    ("if a:\n\tx = 1\ny\n", "x", "if a:\n\tx = 1\n\tfor g in gs:\n\t\tuse(g)\ny\n"),
    ("if a: x = 1  # c\ny\n", "x", "if a:\n    x = 1  # c\n    for g in gs:\n        use(g)\ny\n"),
    ("x = 1; y\n", "x", "x = 1\nfor g in gs:\n    use(g)\ny\n"),
    ("x = 1; y\n", "y", "x = 1; y\nfor g in gs:\n    use(g)\n"),
    ("with x:\n    b  # c\n\n# about d\nd\n", "with",
     "with x:\n    b  # c\nfor g in gs:\n    use(g)\n\n# about d\nd\n"),
    ("if x:\n    b\nelse:\n    c\nd\n", "if", "if x:\n    b\nelse:\n    c\nfor g in gs:\n    use(g)\nd\n"),
    ("x = '''\n a\n'''\ny\n", "x", "x = '''\n a\n'''\nfor g in gs:\n    use(g)\ny\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "start", "after"), AFTER)
def test_insert_after(before: str, start: str, after: str) -> None:
    assert edited(before, lambda code: InsertAfter(code.statement(start), LINES)) == after


REMOVED = [
    ("a\nx = 1\nb\n", ["x"], "a\nb\n"),
    ("a\nx = 1  # why\nb\n", ["x"], "a\nb\n"),
    ("a\n# of x\nx = 1\nb\n", ["x"], "a\n# of x\nb\n"),
    ("a\nx = 1", ["x"], "a\n"),
    ("x = 1\n", ["x"], ""),
    ("a; x = 1; b\n", ["x"], "a; b\n"),
    ("a; x = 1\n", ["x"], "a\n"),
    ("x = 1; a\n", ["x"], "a\n"),
    ("x = 1; a; y = 2\n", ["x", "y"], "a\n"),
    ("b\nx = 1; y = 2\n", ["x", "y"], "b\n"),
    ("if a:\n    x = 1\n", ["x"], "if a:\n    pass\n"),
    ("if a:\n    x = 1  # why\nb\n", ["x"], "if a:\n    pass\nb\n"),
    ("if a:\n    x = 1\n    y = 2\n", ["x", "y"], "if a:\n    pass\n"),
    ("if a:\n    x = 1\n    b\n", ["x"], "if a:\n    b\n"),
    ("if a:\n    b\nelse:\n    x = 1", ["x"], "if a:\n    b\nelse:\n    pass"),
    ("if a: x = 1\n", ["x"], "if a: pass\n"),
    ("if a: x = 1; b\n", ["x"], "if a: b\n"),
    ("if a: x = 1  # c\n", ["x"], "if a: pass  # c\n"),
    ("a\n@d\ndef x():\n    pass\n\nb\n", ["def x"], "a\n\nb\n"),
    ("a\nx = f(\n  1,\n)  # c\nb\n", ["x"], "a\nb\n"),
    ("if a:\r\n\tx = 1\r\n\tb\r\n", ["x"], "if a:\r\n\tb\r\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "starts", "after"), REMOVED)
def test_remove(before: str, starts: list[str], after: str) -> None:
    def edits(code: Code) -> list[RemoveStatement]:
        return [RemoveStatement(code.statement(start)) for start in starts]

    assert edited(before, edits) == after


# before, first moved, last moved, target, after
MOVED = [
    ("a\nb\nx = 1\n", "x", "x", "a", "x = 1\na\nb\n"),
    ("a\nx = 1\ny = 2\nb\n", "x", "y", "a", "x = 1\ny = 2\na\nb\n"),
    ("# header\na\n\n# of x\nx = 1  # end\n", "x", "x", "a", "# header\n# of x\nx = 1  # end\n\na\n"),
    ("a\nif b:\n    x = 1\n    c\n", "x", "x", "a", "x = 1\na\nif b:\n    c\n"),
    ("a\nif b:\n    x = 1\n", "x", "x", "a", "x = 1\na\nif b:\n    pass\n"),
    ("a\nif b:\n    # of x\n    x = 1\n", "x", "x", "a", "# of x\nx = 1\na\nif b:\n    pass\n"),
    ("with s:\n    a\nx = 1\n", "x", "x", "a", "with s:\n    x = 1\n    a\n"),
    (
        "a\nif b:\n    for x in y:\n        z = '''\n    kept\n'''\n        w\n    c\n", "for x", "for x", "a",
        "for x in y:\n    z = '''\n    kept\n'''\n    w\na\nif b:\n    c\n",
    ),
    ("a\ndef f():\n\tx = g(\n\t\t1)\n\treturn x\n", "x = g", "x = g", "a", "x = g(\n\t1)\na\ndef f():\n\treturn x\n"),
    ("a\nb; x = 1\n", "x", "x", "a", "x = 1\na\nb\n"),
    ("a\nif b: x = 1\n", "x", "x", "a", "x = 1\na\nif b: pass\n"),
    ("if a: b\nx = 1\n", "x", "x", "b", "if a:\n    x = 1\n    b\n"),
    ("a\nx = 1", "x", "x", "a", "x = 1\na\n"),
    ("a\n@d\ndef x():\n    pass\nb\n", "def x", "def x", "a", "@d\ndef x():\n    pass\na\nb\n"),
    ("x = 1\na\nb\n", "x", "x", "b", "a\nx = 1\nb\n"),
    ("with s:\n    a\n\fx = 1\n", "x", "x", "a", "with s:\n    x = 1\n    a\n"),
    ("a\nif b:\n  \f    x = 1\n    c\n", "x", "x", "a", "x = 1\na\nif b:\n    c\n"),
    ("a\r\nif b:\r\n    x = 1\r\n    c\r\n", "x", "x", "a", "x = 1\r\na\r\nif b:\r\n    c\r\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "first", "last", "target", "after"), MOVED)
def test_move_before(before: str, first: str, last: str, target: str, after: str) -> None:
    def edits(code: Code) -> MoveBefore:
        return MoveBefore(code.statement(first), code.statement(last), code.statement(target))

    assert edited(before, edits) == after


# The statements go behind what they stand in, or behind another.
MOVED_BEHIND = [
    ("try:\n    a\nexcept B:\n    x = 1\n    y\nc\n", "x", "y", "try", "try:\n    a\nexcept B:\n    pass\nx = 1\ny\nc\n"),
    ("while a:\n  with b:\n    c\n    # of x\n    x = 1\n  d\n", "x", "x", "with",
     "while a:\n  with b:\n    c\n  # of x\n  x = 1\n  d\n"),
    ("if a:\r\n    b\r\n    x = 1 + \\\r\n        2\r\nc\r\n", "x", "x", "if",
     "if a:\r\n    b\r\nx = 1 + \\\r\n    2\r\nc\r\n"),
    ("if a:\n  b\n  if x:\n    if y:\n      z = '''\n    kept\n'''\n", "if x", "if x", "if a",
     "if a:\n  b\nif x:\n  if y:\n    z = '''\n    kept\n'''\n"),
    ("with a:\n    b\n\n# of x\nx = 1  # end\nc\n", "x", "x", "b", "with a:\n    b\n\n    # of x\n    x = 1  # end\n\nc\n"),
    ("with a: b\nx = 1\n", "x", "x", "b", "with a:\n    b\n    x = 1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "first", "last", "target", "after"), MOVED_BEHIND)
def test_move_after(before: str, first: str, last: str, target: str, after: str) -> None:
    def edits(code: Code) -> MoveAfter:
        return MoveAfter(code.statement(first), code.statement(last), code.statement(target))

    assert edited(before, edits) == after


@pytest.mark.parametrize("lines", [("for b in \\\r\n  c:", "    d"), ("for b in \\", "  c:", "    d")])
def test_rows_of_code_that_is_inserted_end_as_those_of_the_file(lines: tuple[str, ...]) -> None:
    after = edited("if a:\r\n\tx = 1\r\n", lambda code: InsertBefore(code.statement("x"), lines))
    assert after == "if a:\r\n\tfor b in \\\r\n\t  c:\r\n\t\td\r\n\tx = 1\r\n"


def test_a_string_over_several_rows_is_not_inserted() -> None:
    with pytest.raises(EditError):
        edited("if a:\n    x = 1\n", lambda code: InsertBefore(code.statement("x"), ("y = '''a\nb'''",)))


def test_nothing_is_moved_into_itself_or_backwards() -> None:
    with pytest.raises(EditError):
        edited(
            "for x in y:\n    a\n",
            lambda c: MoveBefore(c.statement("for"), c.statement("for"), c.statement("a")),
        )
    with pytest.raises(EditError):
        edited("a\nx\ny\n", lambda c: MoveBefore(c.statement("y"), c.statement("x"), c.statement("a")))


TF = "import tensorflow as tf"
IMPORTED = [
    ("x\n", f"{TF}\n\nx\n"),
    ("import os\nx\n", f"import os\n{TF}\nx\n"),
    ("# licence\n\nimport os\nx\n", f"# licence\n\nimport os\n{TF}\nx\n"),
    ('"""Doc."""\nx\n', f'"""Doc."""\n{TF}\n\nx\n'),
    ('"""Doc."""\nfrom __future__ import annotations\nx\n',
     f'"""Doc."""\nfrom __future__ import annotations\n{TF}\nx\n'),
    ("#!/usr/bin/env python\nx\n", f"#!/usr/bin/env python\n{TF}\n\nx\n"),
    ("import os\nos.environ['A'] = '1'\nimport sys\nx\n", f"import os\nos.environ['A'] = '1'\nimport sys\n{TF}\nx\n"),
    ("import os\nos.environ['A'] = '1'\nimport x\n", f"import os\nos.environ['A'] = '1'\n{TF}\nimport x\n"),
    ("install\nimport x\n", f"install\n{TF}\nimport x\n"),
    ("import os\nimport x\n", f"import os\n{TF}\nimport x\n"),
    ("try:\n    import a\nexcept ImportError:\n    a = None\nx\n",
     f"try:\n    import a\nexcept ImportError:\n    a = None\n{TF}\nx\n"),
    ("import os\ndef f(): pass\nimport sys\nx\n", f"import os\n{TF}\ndef f(): pass\nimport sys\nx\n"),
    ("import tensorflow as tf\nx\n", "import tensorflow as tf\nx\n"),
    ("try:\n    import tensorflow as tf\nexcept ImportError:\n    pass\nx\n",) * 2,
    ("import tensorflow\nx\n", f"import tensorflow\n{TF}\nx\n"),
    ("x\nimport tensorflow as tf\n", f"{TF}\n\nx\nimport tensorflow as tf\n"),
    ("import os\r\nx\r\n", f"import os\r\n{TF}\r\nx\r\n"),
    ("def f():\n    x\nimport tensorflow as tf\n",) * 2,
    ("def f():\n    import tensorflow as tf\n    x\n",) * 2,
    ("def f():\n    import tensorflow as tf\ndef g():\n    x\n",
     f"{TF}\n\ndef f():\n    import tensorflow as tf\ndef g():\n    x\n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), IMPORTED)
def test_add_import(before: str, after: str) -> None:
    assert edited(before, lambda code: AddImport(code.at("x"), TF)) == after


@pytest.mark.parametrize(
    ("present", "wanted", "there"),
    [
        ("from tensorflow import keras", "from tensorflow import keras", True),
        ("from tensorflow import data, keras", "from tensorflow import keras", True),
        ("from tensorflow import keras as k", "from tensorflow import keras", False),
        ("import keras", "from tensorflow import keras", False),
        ("import os.path", "import os", True),
        ("import os.path as p", "import os", False),
        ("from . import keras", "from tensorflow import keras", False),
    ],
)
def test_an_import_is_there_if_it_binds_the_same_to_the_same_name(
    present: str, wanted: str, there: bool
) -> None:
    after = edited(f"{present}\nx\n", lambda code: AddImport(code.at("x"), wanted))
    assert after == (f"{present}\nx\n" if there else f"{present}\n{wanted}\nx\n")


def test_a_node_of_another_document_is_refused() -> None:
    code, other = Code("x\n"), Code("y\n")
    with pytest.raises(EditError):
        code.after(RemoveStatement(other.statement("y")))
    with pytest.raises(EditError):
        code.after(RemoveStatement(code.source.place(cst.Name("z"))))

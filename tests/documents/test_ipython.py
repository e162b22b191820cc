"""What IPython adds to Python is set aside where it stands, and nothing else is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomlint.documents.ipython import cell_of


def program(source: str) -> str:
    cell = cell_of(source)
    assert cell is not None
    assert cell.fault is None
    ast.parse(cell.text)
    assert len(cell.text) == len(source)
    assert [row == "" for row in cell.text.split("\n")] == [row == "" for row in source.split("\n")]
    return "\n".join(row.rstrip() for row in cell.text.split("\n"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install keras\nx = 1", "pass\nx = 1"),
        ("!ls", "0"),
        ("if x:\n    !ls -l\n    %cd a\nelse:\n    y = 1", "if x:\n    pass\n    pass\nelse:\n    y = 1"),
        ("files = !ls *.png\nn = len(files)", "files = __\nn = len(files)"),
        ("a, b = !ls", "a, b = __"),
        ("t['x'] = %timeit -o f(1)", "t['x'] = __"),
        ("np.array?", "pass"),
        ("?np.array\nnp.zeros??  # all of it", "pass\npass        # all of it"),
        ("!pip install a \\\n    b c\nx = 1", "pass\n\nx = 1"),
        ("%time history = model.fit(x)", "0;    history = model.fit(x)"),
        ("%timeit -n 10 -r 3 f(x)", "0;                 f(x)"),
        ("%time for x in y: f(x)", "pass"),
        ("%timeit -r1 for x in y: f(x)", "pass"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("# a form\n\n%%capture out\nx = 1;", "# a form\n\npass\nx = 1;"),
        ("%load_ext tensorboard\n%tensorboard --logdir a", "pass\npass"),
        # IPython takes these without the % where they can be nothing else
        ("pip install keras\nx = 1", "pass\nx = 1"),
        ("cd ..\nls -la data\nx = 1", "pass\npass\nx = 1"),
    ],
)
def test_what_is_ipythons_does_nothing(source: str, expected: str) -> None:
    assert program(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "x = (a\n     % b)",
        "x = '''\n%not a magic\n!neither\n'''",
        'x = """a \\""" \n%y\n"""',
        "x = [\n    'a',\n    # why?\n]",
        "x = a \\\n    % b",
        "'loss=%f' % loss",
        "print('a=%d, b=%d' % (1, 2))  # really?",
        "# what is this?\nx = 1",
        "x = 'it''s'\ny = \"# no comment\"",
        "x = {'!': 1, '%': 2}\nx['!'] = 3",
        "cat = 1\ncat - 2\nls = [cat]\nls",
        "s = f'{x!r}'\nt = f\"{y:%Y}\"",
        "@decorator\ndef f():\n    return await_it",
        "x = await f()\nasync with a as b:\n    pass",
        'batch = 64 #@param {type:"integer"}',
    ],
)
def test_what_is_python_stays(source: str) -> None:
    assert program(source) == "\n".join(row.rstrip() for row in source.split("\n"))


@pytest.mark.parametrize(
    "source",
    ["%%bash\nls", "%%writefile train.py\nimport keras", "%%html\n<b>", "\n%%javascript\nx", "%%R\nx <- 1"],
)
def test_cells_of_other_languages_are_no_program(source: str) -> None:
    assert cell_of(source) is None


def test_a_cell_that_is_no_python_says_where() -> None:
    cell = cell_of("%matplotlib inline\nx = = 1")
    assert cell is not None
    assert cell.fault is not None
    assert (cell.fault.line, cell.fault.message) == (2, "invalid syntax")


def test_a_name_that_is_a_magic_too_is_a_name_where_it_is_given_a_value() -> None:
    cell = cell_of("history = model.fit(# your code)")
    assert cell is not None
    assert cell.fault is not None


@pytest.mark.parametrize(
    ("magics", "expected"),
    [
        ("%env A=b c\n%set_env D e", [("A", "b c"), ("D", "e")]),
        ("%env\n%env F\n%env G={h}\n%env H=$i", []),
        ("%run data.py", ["data"]),
        ("%run -i ./src/data.py --size 3", ["src.data"]),
        ("%run other.ipynb\n%run ../data.py\n%run $name.py", []),
    ],
)
def test_magics_that_do_something_to_the_program(magics: str, expected: list[object]) -> None:
    cell = cell_of(f"{magics}\nx = 1")
    assert cell is not None
    found: list[object] = []
    for node in ast.walk(ast.parse(cell.prelude)):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=name))], value=ast.Constant(value=value)
            ):
                found.append((name, value))
            case ast.ImportFrom(module=module, names=[ast.alias(name="*")]):
                found.append(module)
    assert found == expected


LINES = st.sampled_from(
    [
        "x = 1",
        "%magic a",
        "!ls '",
        'y = !ls "',
        "s = '''",
        "'''",
        "z = (",
        "% 3)",
        "help?",
        "  ",
        "# it's",
        "a\\",
        "%%time",
    ]
)


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_rows_and_columns_never_move(source: str) -> None:
    cell = cell_of(source)
    if cell is not None:
        assert [len(row) for row in cell.text.split("\n")] == [len(row) for row in source.split("\n")]
        kept = set(range(len(source))) - {n for start, end in cell.neutral for n in range(start, end)}
        assert all(cell.text[n] == source[n] for n in kept)

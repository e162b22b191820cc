"""The two gates before LibCST, and syntax errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.syntax.gates import PARSES, SyntaxFault, has_candidate, is_candidate, names_keras, parse_ast
from oomlint.syntax.parse import parse_whole as parse


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (b"import tensorflow as tf\n", True),
        (b"from tf_keras import layers\n", True),
        (b"import torch\n", False),
        (b"", False),
        (b"# coding: latin-1\n'\xe9'\n", False),
        (b"# coding: nonsense\n", False),
        ("import keras\n".encode("utf-16"), True),
        ("import keras\n".encode("utf-16-le"), True),
        ("import keras\n".encode("utf-32"), True),
        ("import torch\n".encode("utf-16"), False),
        # in UTF-7 a word may be spelled in base 64: this is "keras"
        (b"# coding: utf-7\n'+AGsAZQByAGEAcw-'\n", True),
        (b"# coding: utf-7\n'+AGsAZQByAGEA-'\n", False),
    ],
)
def test_the_first_gate_looks_for_the_names(raw: bytes, named: bool) -> None:
    assert names_keras(raw) is named


@pytest.mark.parametrize(
    "text",
    [
        "ds.shuffle(10)",
        "shuffle(10)",
        "def shuffle(): pass",
        "async def shuffle(): pass",
        "class shuffle: pass",
        "f(shuffle=True)",
        "g = ds.shuffle",
        "from a.shuffle import b",
        "import shuffle.b",
        "from a import shuffle as s",
        "from a import s as shuffle",
        "@shuffle\ndef f(): pass",
        "x = [a for b in c if shuffle(d)]",
        "match a:\n    case b if shuffle: pass",
        "async def f():\n    async with a as b, c(): await shuffle()",
        "f'{shuffle}'",
        "lambda a=shuffle: a",
    ],
)
def test_the_second_gate_opens_for_a_name_that_is_used_or_defined(text: str) -> None:
    assert has_candidate(parse_ast(document_from_text(text, "s.py")), frozenset({"shuffle", "cache"}))


@pytest.mark.parametrize("text", ["# shuffle", "'shuffle'", "shuffled()", "f(a['shuffle'])", ""])
def test_the_second_gate_stays_shut_otherwise(text: str) -> None:
    assert not has_candidate(parse_ast(document_from_text(text, "s.py")), frozenset({"shuffle"}))


def test_a_deep_expression_passes_the_second_gate() -> None:
    text = "x = " + "+".join(["a"] * 600) + "+shuffle()\n"
    document = document_from_text(text, "s.py")
    assert is_candidate(document, frozenset({"shuffle"}))
    assert not is_candidate(document, frozenset({"cache"}))
    assert parse(document).module.body


def test_parses_are_counted() -> None:
    document = document_from_text("x = 1\n", "s.py")
    PARSES.reset()
    is_candidate(document, frozenset({"y"}))
    assert (PARSES.ast, PARSES.libcst) == (1, 0)
    parse(document)
    assert (PARSES.ast, PARSES.libcst) == (1, 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\nprint 'hello'\n", 2),
        ("print x\n", 1),
        ("print >>f, 'a' if\n", 1),
        ("exec 'x = 1'\n", 1),
        ("try:\n    x\nexcept ValueError, e:\n    pass\n", 3),
        ("raise ValueError, 'no'\n", 1),
        ("x = 0777\n", 1),
        ("x = 10L\n", 1),
        ("if a <> b: pass\n", 1),
        ("x = `a`\n", 1),
        ("x = ur'a'\n", 1),
    ],
)
def test_python_2_code_is_called_so(text: str, line: int) -> None:
    with pytest.raises(SyntaxFault, match="Python 2") as caught:
        parse_ast(document_from_text(text, "s.py"))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("x = 1\ny = (1,\n", 2, 5),
        ("def f(:\n    pass\n", 1, 7),
        ("if x:\n  a\n b\n", 3, 3),
        ("\u00e9 = '\u00e9' 1\n", 1, 5),
        ("x = '<>' 1\n", 1, 8),
        ("x = 1 +  # `a`\n", 1, 8),
    ],
)
def test_other_faults_are_not_blamed_on_python_2(text: str, line: int, column: int) -> None:
    with pytest.raises(SyntaxFault) as caught:
        parse_ast(document_from_text(text, "s.py"))
    assert "Python 2" not in caught.value.message
    assert caught.value.line == line
    assert abs(caught.value.column - column) <= 4  # where in the row differs between versions of Python


def test_warnings_of_the_checked_code_stay_inside() -> None:
    code = (
        "from oomlint.documents.python_file import document_from_text as d\n"
        "from oomlint.syntax.gates import parse_ast\n"
        r"parse_ast(d('x = \'\\d\'', 's.py'))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_gates_do_not_import_libcst() -> None:
    code = (
        "import sys, oomlint.syntax.gates, oomlint.findings.suppressions, oomlint.findings.applying\n"
        "sys.exit('libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_nests_too_deeply_is_a_fault_and_no_crash() -> None:
    with pytest.raises(SyntaxFault):
        is_candidate(document_from_text("x = " + "-" * 20000 + "1\n", "s.py"), frozenset({"x"}))
    with pytest.raises(SyntaxFault):
        is_candidate(document_from_text("x = " + "[" * 3000 + "]" * 3000, "s.py"), frozenset({"x"}))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows the syntax")
@pytest.mark.parametrize("text", ["type X = shuffle\n", "def f[T](x): shuffle\n", 'f"{shuffle["a"]}"\n'])
def test_syntax_newer_than_the_running_python_is_left_to_libcst(text: str) -> None:
    document = document_from_text(text, "s.py")
    assert is_candidate(document, frozenset({"shuffle"}))
    assert not is_candidate(document, frozenset({"cache"}))
    assert parse(document).module.body


def test_what_neither_parser_reads_is_a_fault() -> None:
    document = document_from_text("f'{a b}'\nshuffle\n", "s.py")
    with pytest.raises(SyntaxFault) as caught:
        parse(document)
    assert caught.value.line == 1


def test_what_only_libcst_refuses_is_a_fault_with_a_place() -> None:
    """LibCST 1.9 does not read an annotated name in parentheses; Python does."""
    document = document_from_text("x: int\n(a): int = 1\n", "s.py")
    parse_ast(document)
    with pytest.raises(SyntaxFault, match="LibCST") as caught:
        parse(document)
    assert caught.value.line == 2


def test_a_parse_that_trusts_the_parser_gives_the_same_trees_and_trusts_nobody_afterwards() -> None:
    scripts = sorted((Path(__file__).parents[2] / "fixtures").glob("*/bad.py"))
    assert len(scripts) > 50
    for script in scripts[::3]:
        text = script.read_text("utf-8")
        assert parse(document_from_text(text, script.name)).module.deep_equals(cst.parse_module(text))
    with pytest.raises(SyntaxFault):
        parse(document_from_text("x = (\n", "x.py"))
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")

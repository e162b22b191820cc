"""What the server offers for findings, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import oomlint
from editor import FIXTURES, Editor, applied
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

SAFE = (FIXTURES / "OOM303-prefetch-many-batches" / "bad.py").read_text("utf-8")
UNSAFE = (FIXTURES / "OOM301-shuffle-buffer-large" / "bad.py").read_text("utf-8")
BOTH = (
    SAFE
    + """

pictures = tf.data.Dataset.list_files("*.jpg").map(lambda path: read(path, 0)[0])
pictures = pictures.shuffle(1_281_167).batch(BATCH).prefetch(99)  # noqa: OOM405
"""
)


def _mended(text: str, *flags: str, cwd: Path) -> str:
    done = oomlint("check", "--fix", *flags, "--stdin-filename", "a.py", "-", stdin=text, cwd=cwd)
    return done.stdout


@pytest.mark.parametrize(("text", "safety"), [(SAFE, "safe"), (UNSAFE, "unsafe")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_quick_fix_is_what_check_fix_writes(
    editor: Editor, folder: Path, workspace: Path, text: str, safety: str, newline: str
):
    text = text.replace("\n", newline)
    uri = (folder / "a.py").as_uri()
    (found,) = editor.open(uri, text)
    action = editor.actions(uri, [found])[0]
    assert action.title.endswith(f"({safety} fix)")
    assert action.kind == lsp.CodeActionKind.QuickFix
    assert list(action.diagnostics or ()) == [found]
    assert bool(action.is_preferred) is (safety == "safe")
    (change,) = action.edit.document_changes or ()
    assert change.text_document.version == 1
    expected = _mended(text, "--unsafe-fixes", cwd=workspace)
    assert expected != text
    assert applied({uri: text}, action.edit)[uri] == expected
    editor.write(uri, expected)
    assert editor.codes(uri) == []


def test_fix_all_makes_safe_fixes_only(editor: Editor, folder: Path, workspace: Path):
    uri = (folder / "a.py").as_uri()
    found = editor.open(uri, BOTH)
    assert sorted(str(one.code) for one in found) == ["OOM000", "OOM301", "OOM303", "OOM303"]
    (action,) = editor.actions(uri, only=["source.fixAll"])
    assert (action.kind, action.edit) == ("source.fixAll.oomlint", None)
    action = editor.run(editor.client.code_action_resolve_async(action))
    after = applied({uri: BOTH}, action.edit)[uri]
    assert after == _mended(BOTH, cwd=workspace)
    editor.write(uri, after)
    assert editor.codes(uri) == ["OOM301"]
    assert editor.actions(uri, only=["source.fixAll"]) == []
    assert editor.actions(uri, only=["source.organizeImports"]) == []


@pytest.mark.parametrize("comment", ["ignore", "noqa"])
def test_ignore_on_this_line(editor: Editor, folder: Path, comment: str):
    uri = (folder / "a.py").as_uri()
    text = UNSAFE.replace("  # expect: ", "  # was ")
    editor.configure({"comment": comment})
    (found,) = editor.open(uri, text)
    action = next(one for one in editor.actions(uri, [found]) if "ignore on this line" in one.title)
    after = applied({uri: text}, action.edit)[uri]
    written = {"ignore": "# oomlint: ignore[OOM301]", "noqa": "# noqa: OOM301"}[comment]
    (changed,) = [line for line in after.splitlines() if line not in text.splitlines()]
    assert changed.endswith(written)
    assert after.replace(f"  {written}", "") == text
    assert editor.write(uri, after) == []
    editor.configure({})


def test_unsafe_fixes_can_be_left_out(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.configure({"unsafeFixes": False})
    (found,) = editor.open(uri, UNSAFE)
    assert not [one.title for one in editor.actions(uri, [found]) if "unsafe" in one.title]
    editor.configure({})


def test_the_page_of_a_rule(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    (found,) = editor.open(uri, UNSAFE)
    assert "oomlint: show the page of OOM301" in [one.title for one in editor.actions(uri, [found])]
    params = lsp.ExecuteCommandParams("oomlint.showRule", arguments=["OOM301"])
    editor.run(editor.client.workspace_execute_command_async(params))
    page = Path(editor.documents_shown[-1].removeprefix("file://")).read_text("utf-8")
    assert page.startswith("# OOM301 shuffle-buffer-large\n")
    assert page.removeprefix("# OOM301 shuffle-buffer-large\n\n") in oomlint("rule", "OOM301").stdout + "\n"


def test_a_cancelled_request_is_answered_as_such(editor: Editor, folder: Path):
    uri = (folder / "a.py").as_uri()
    editor.open(uri, BOTH)
    # The text changes, so that the request has to wait for a check; it is cancelled before. The check takes about a
    # second, far longer than the two messages are apart on a busy machine.
    pipelines = "".join(f"d{n} = d.map(lambda x: x).batch({n}).prefetch(1)\n" for n in range(1, 801))
    editor.change(
        uri, lsp.TextDocumentContentChangeWholeDocument(f"{BOTH}d = tf.data.Dataset.range(9)\n{pipelines}")
    )
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(999, 0))
    params = lsp.CodeActionParams(
        lsp.TextDocumentIdentifier(uri), whole, lsp.CodeActionContext([], only=["source.fixAll"])
    )

    async def cancelled() -> int:
        protocol = editor.client.protocol
        future = protocol.send_request_async(lsp.TEXT_DOCUMENT_CODE_ACTION, params, msg_id="7")
        protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams("7"))
        # The client forgets what it cancels only when the answer is there.
        try:
            await future
        except JsonRpcException as error:
            return error.code
        return 0

    assert editor.run(cancelled()) == lsp.LSPErrorCodes.RequestCancelled
    assert "OOM301" in editor.codes(uri)  # the check itself was not

"""What the editor asks for: code actions, their edits, and hovers."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from oomlint.documents.lines import Location
from oomlint.server.actions import FIX_ALL, KINDS, Offer
from oomlint.server.checking import Checked
from oomlint.server.pages import about_comment, about_finding, comment_at
from oomlint.server.protocol import OomlintServer, plain


def answer(server: OomlintServer) -> None:
    """Register the requests."""
    resolved = lsp.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, resolved)
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        checked = await server.session.current(uri)
        if checked is None:
            return []
        offer = _offer(server, checked)
        found: list[lsp.CodeAction] = []
        if _wanted(params.context.only, lsp.CodeActionKind.QuickFix):
            here = [one for one in server.session.shown(uri) if _meet(one.sent.range, params.range)]
            found += offer.quick_fixes(here, params.context.diagnostics)
        if _wanted(params.context.only, FIX_ALL):
            found += await _fix_all(server, uri, checked, params.context)
        return found

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    async def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        uri = plain(action.data or {}).get("uri")
        checked = await server.session.current(uri) if uri else None
        if checked is not None:
            action.edit = await _all_fixes(server, checked)
        return action

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        return _hover(server, params)


async def _fix_all(
    server: OomlintServer, uri: str, checked: Checked, context: lsp.CodeActionContext
) -> list[lsp.CodeAction]:
    """The action that applies all safe fixes. What it changes is found out when it is chosen, where that is known."""
    fixable = [one for one in checked.diagnostics if one.fixable is not None and one.fixable.value == "safe"]
    if not fixable:
        return []
    action = lsp.CodeAction("oomlint: apply all safe fixes", lsp.CodeActionKind.SourceFixAll)
    action.kind = FIX_ALL
    document = server.client_capabilities.text_document
    can = document.code_action.resolve_support if document is not None and document.code_action else None
    if can is not None and "edit" in can.properties:
        action.data = {"uri": uri}
        return [action]
    if not context.only and context.trigger_kind == lsp.CodeActionTriggerKind.Automatic:
        return []  # a light bulb on every move of the cursor is not worth it
    action.edit = await _all_fixes(server, checked)
    return [action] if action.edit is not None else []


async def _all_fixes(server: OomlintServer, checked: Checked) -> lsp.WorkspaceEdit | None:
    offer = _offer(server, checked)
    document = checked.document
    if document is None:
        return None
    return await server.session.ask(lambda checker, stop: offer.fix_all(checker.alone(document, stop)))


def _offer(server: OomlintServer, checked: Checked) -> Offer:
    workspace = server.client_capabilities.workspace
    edits = workspace.workspace_edit if workspace is not None else None
    window = server.client_capabilities.window
    return Offer(
        checked,
        server.session.options(checked.filename),
        server.session.speaker.encoding,
        versioned=edits is not None and bool(edits.document_changes),
        shows_pages=window is not None and window.show_document is not None and window.show_document.support,
    )


def _wanted(only: Sequence[lsp.CodeActionKind | str] | None, kind: lsp.CodeActionKind | str) -> bool:
    """Whether an editor that wants `only` these kinds, or what is below them, wants this one."""
    names = [_name(one) for one in only or ()]
    return not names or any(_name(kind) == name or _name(kind).startswith(f"{name}.") for name in names)


def _name(kind: lsp.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind


def _meet(one: lsp.Range, other: lsp.Range) -> bool:
    """Whether two spans touch; a cursor anywhere in a finding's first line means the finding."""
    first = (one.start.line, 0), (one.start.line + 1, 0)
    spans = ((one.start.line, one.start.character), (one.end.line, one.end.character)), first
    start, end = (other.start.line, other.start.character), (other.end.line, other.end.character)
    return any(low <= end and start <= high for low, high in spans[:1]) or first[0] <= start < first[1]


def _hover(server: OomlintServer, params: lsp.HoverParams) -> lsp.Hover | None:
    uri, session = params.text_document.uri, server.session
    sheet = session.desk.sheet(uri)
    checked = session.known(uri)
    if sheet is None or checked is None or checked.opened is None:
        return None
    at = lsp.Range(params.position, params.position)
    here = [one for one in session.shown(uri) if _covers(one.sent.range, params.position)]
    if here:
        text = "\n\n---\n\n".join(about_finding(one, session.find) for one in here)
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), here[0].sent.range)
    if checked.document is None or checked.opened != session.opened(uri):
        return None
    place = sheet.place(at.start, session.speaker.encoding)
    try:
        number = checked.opened.cell_of(uri)
        offset = checked.document.offset(Location(place.row, place.column, number))
    except ValueError:
        return None
    comment = comment_at(checked.document, offset)
    text = about_comment(comment) if comment is not None else ""
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None


def _covers(span: lsp.Range, position: lsp.Position) -> bool:
    start, end = (span.start.line, span.start.character), (span.end.line, span.end.character)
    return start <= (position.line, position.character) <= end

"""Functions of the script that a web server calls, once for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from oomlint.dryrun.trace import Body, Context, Loop

if TYPE_CHECKING:
    from oomlint.dryrun.values.program import Function

# `@app.route("/predict")` of Flask, Bottle and aiohttp, `@app.post("/predict")` of FastAPI and Flask 2.
_ROUTES = frozenset({"route", "get", "post", "put", "api_route", "websocket"})
_VERBS = frozenset({"get", "post", "put"})
# The classes whose methods of that name answer requests: Tornado's, Flask's, Flask-RESTful's, Django's.
_VIEWS = ("RequestHandler", "MethodView", "Resource", "APIView", "View")


def answering(context: Context) -> Function | None:
    """The function around an event that is called once per request; None also where a loop lies in between."""
    for frame in context.frames():
        if isinstance(frame, Loop):
            return None
        if isinstance(frame, Body) and not frame.called:
            return frame.function if _answers(frame.function) else None
    return None


def _answers(function: Function) -> bool:
    node = function.node
    if isinstance(node, cst.Lambda):
        return False
    if function.owner is not None:
        if function.name in ("do_GET", "do_POST", "do_PUT"):  # http.server looks them up by these names
            return True
        return function.name in _VERBS and any(
            name.endswith(_VIEWS) for name in function.owner.library_bases()
        )
    if any(_is_route(decorator.decorator) for decorator in node.decorators):
        return True
    first = node.params.params[:1]
    return bool(first) and first[0].name.value == "request"  # a view of Django


def _is_route(decorator: cst.BaseExpression) -> bool:
    match decorator:
        case cst.Call(func=cst.Attribute(value=cst.Name(), attr=cst.Name(value=name)), args=[_, *_]):
            return name in _ROUTES
    return False

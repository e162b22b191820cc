"""What an exception while a step is followed means: a value that is not known, or code that cannot run as it stands.

A step is the user's code and the libraries'. Only what went wrong in oomlint's own is a bug of oomlint.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.request import Request
from oomlint.estimate.worker import making, running
from oomlint.estimate.worker.stand_ins import NeededError

# Functions in which a step is called: Keras' own, and those of the engines that trace it.
_FOLLOWING = ("train_step", "_concrete", "get_concrete_function")
_HINT = "If the script trains as it stands, this is a bug of oomlint."
_OWN = Path(__file__).resolve().parent


@contextmanager
def said(request: Request) -> Iterator[None]:
    """Inside, an exception that is the script's becomes the error for its user."""
    try:
        yield
    except (EstimateError, MemoryError):
        raise
    except Exception as error:
        found = _of_step(error, request)
        if found is None:
            raise
        raise found from error


def _of_step(error: Exception, request: Request) -> EstimateError | None:
    """The error for the user, at the user's line or at the training call; None where oomlint is at fault."""
    path = request.names.get("path", "")
    line = request.names.get("line", "")
    if isinstance(error, NeededError):
        found = running.asked(error.value, path, [])
        return found if found.line is not None else _placed(found, path, line)
    frames = traceback.extract_tb(error.__traceback__)
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
    of_user = [one for one in frames if making.of_the_user(one.filename) and one.filename.endswith(".py")]
    if of_user:
        return EstimateError(
            f"the step fails there: {text}", "build", of_user[-1].filename, of_user[-1].lineno, _HINT
        )
    if not frames or _OWN in Path(frames[-1].filename).parents:
        return None
    if not any(one.name in _FOLLOWING for one in frames):
        return None
    return _placed(EstimateError(f"the step fails: {text}", "build", hint=_HINT), path, line)


def _placed(error: EstimateError, path: str, line: str) -> EstimateError:
    error.file, error.line = path or None, int(line) if line.isdigit() else None
    return error

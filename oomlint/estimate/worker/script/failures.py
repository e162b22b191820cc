"""What an exception while a step is followed means: a value that is not known, or code that cannot run as it stands.

A step is the user's code and the libraries'. Only what went wrong in oomlint's own is a bug of oomlint.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oomlint.estimate.errors import EstimateError, words_of
from oomlint.estimate.request import Request
from oomlint.estimate.worker.absent.stand_ins import Missing, NeededError
from oomlint.estimate.worker.script import making, running

# Functions in which a step is called: Keras' own, and those of the engines that trace it.
_FOLLOWING = ("train_step", "_concrete", "get_concrete_function")
_HINT = "If the script trains as it stands, this is a bug of oomlint."
_OWN = Path(__file__).resolve().parent.parent


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
    path = request.names.get("trained_in") or request.names.get("path", "")
    line = request.names.get("line", "")
    value = error.value if isinstance(error, NeededError) else _wanted(error) or running.named_in(error, [])
    if value is not None:
        found = running.asked(value, path, [])
        return found if found.line is not None else _placed(found, path, line)
    frames = traceback.extract_tb(error.__traceback__)
    text = f"{type(error).__name__}: {words_of(error)}"
    of_user = [one for one in frames if _written(one.filename)]
    place = (of_user[-1].filename, of_user[-1].lineno) if of_user else _in_words(str(error))
    if place is not None:
        return EstimateError(f"the step fails there: {text}", "build", *place, _HINT)
    if not frames or _OWN in Path(frames[-1].filename).parents:
        return None
    if not any(one.name in _FOLLOWING for one in frames):
        return None
    return _placed(EstimateError(f"the step fails: {text}", "build", hint=_HINT), path, line)


def _placed(error: EstimateError, path: str, line: str) -> EstimateError:
    error.file, error.line = path or None, int(line) if line.isdigit() else None
    return error


def _wanted(error: Exception) -> Missing | None:
    """The value that is not known, where AutoGraph made an exception of its own of what was said of it."""
    return Missing.touched if f"{NeededError.__name__}:" in str(error) else None


def _in_words(text: str) -> tuple[str, int] | None:
    """The last place of the user's that AutoGraph names in an exception of code that it made."""
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    return next(((file, int(row)) for file, row in reversed(places) if _written(file)), None)


def _written(file: str) -> bool:
    """Whether a file is the user's own; AutoGraph writes what it makes of one into the estimate's folder."""
    made = os.environ.get("OOMLINT_WORK") or None
    return making.of_the_user(file) and file.endswith(".py") and not (made and file.startswith(made))

"""What to say of an exception of the user's code that nothing helps against, and of modules that it lacks."""

from __future__ import annotations

import linecache
import os
import re
from pathlib import Path

from oomlint.estimate.errors import EstimateError, words_of
from oomlint.estimate.slicing.vocabulary import is_model
from oomlint.estimate.worker.absent.stand_ins import USUAL, Missing, NeededError
from oomlint.estimate.worker.values import roles
from oomlint.estimate.worker.values.sizes import usual_size

_ABSENT = re.compile(r"No module named '([\w.]+)'")
_IMPORT = re.compile(r"\s*(?:import|from)\s+(\w[\w.]*)")


def refused(error: BaseException, file: str | None, line: int | None) -> EstimateError:
    """The error for an exception that the user's code raises. `file` and `line` are where that was."""
    if (absent := not_imported(error, file, line)) is not None:
        return absent
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        hint = "Python does not read that file: mend it, or estimate what needs nothing of it."
        return EstimateError(f"SyntaxError: {error.msg}", "build", error.filename, error.lineno, hint)
    words = words_of(error)
    hint = "Name the function that builds the model instead: FILE.py:function, with --arg name=value."
    if "Layer.__init__() takes 1 positional argument" in words:
        hint = "Keras 3 refuses that as well: `super().__init__(**kwargs)` takes no other since Keras 2."
    return EstimateError(f"{type(error).__name__}: {words}", "build", file, line, hint)


NAMED = re.compile(r"<not known: ([^>]+)")  # Python cuts the name of a class that is long
_COUNTED = re.compile(r"(?i)(n|nb|num|number_of)_")  # `n_domains` is a number, whatever it counts


def instead_of(cause: BaseException, names: list[str]) -> tuple[str, ...]:
    """For which of the names, the last of which is what failed, a value may be given in an exception's place.

    What a library gives that is not installed is a function or a class, and no number stands for it; data may come
    from a module that is not there.
    """
    if isinstance(cause, SyntaxError):
        return ()  # of a module that nobody can import
    if not isinstance(cause, ImportError):
        return tuple(names)
    if (cause.name or "").startswith(("keras", "tensorflow")):
        return ()
    data = [
        one
        for one in names[-1:]
        if roles.value(one, USUAL) is not None or usual_size(one) is not None or _COUNTED.match(one)
    ]
    return (*names[:-1], *data)


def of_use(failures: list[Missing], led: set[str]) -> Missing:
    """The first that others follow from. A missing library does no harm by itself, nor does what nobody uses.

    `led` are names on which the training is called: one that failed is why that was not reached.
    """
    others = [
        one for one in failures if not (isinstance(one.oomlint_cause, ImportError) and one.oomlint_name)
    ]
    if (failed := next((one for one in others if one.oomlint_name in led), None)) is not None:
        return failed
    used = {name for one in failures for name in _names_in(one.oomlint_cause)}
    found = (one for one in others if one.oomlint_name in used or isinstance(one.oomlint_cause, NeededError))
    return next(found, others[0] if others else failures[0])


def _names_in(cause: BaseException | None) -> list[str]:
    """The values that an exception is about."""
    needed = [cause.value.oomlint_name] if isinstance(cause, NeededError) else []
    return [re.split(r"[.(\[]", one)[0] for one in (*needed, *NAMED.findall(str(cause)))]


def how_to_give(name: str, known: list[str], path: str, whole: bool = True) -> str:
    """How a value is given that is not known; `known` are those that the script compares it with.

    A model is no value: who trains one in a function is given it by another script, which is named where it is there.
    Where a part of it is asked for (`whole` is false), as of a word, it is no model.
    """
    if not is_model(name) or known or not whole:
        hint = f"Give it: --arg {name}={known[0] if known else 'VALUE'}"
        return hint + (f"  (there is {', '.join(dict.fromkeys(known[:12]))})" if known else "")
    stem = re.escape(Path(path).stem)
    imports = re.compile(rf"(?m)^\s*(?:from\s+\.?(?:\w+\.)*{stem}\s+import|import\s+(?:\w+\.)*{stem}\b)")
    callers = [one.name for one in sorted(Path(path).parent.glob("*.py")) if imports.search(_text_of(one))]
    if len(callers) == 1:
        return f"It is handed to what trains here: {callers[0]} imports that, and may be what to estimate."
    return "It is handed to what trains here: estimate the script that does so, or what makes it, FILE.py:function."


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="ignore")
    except OSError:
        return ""


def not_imported(error: BaseException, file: str | None, line: int | None) -> EstimateError | None:
    """The error for a module that an exception tells to be missing or broken; None for any other.

    Keras makes an exception anew, of its class and with a longer message.
    """
    if not isinstance(error, ImportError):
        return None
    found = _ABSENT.search(str(error))
    if found is not None:
        name = found[1]
        if _is_of_project(name.rpartition(".")[0]):
            message = f"{name.replace('.', '/')}.py is not there, a module of the project's own, and the model needs it"
            return EstimateError(message, "build", file, line, "Run it where the whole project is.")
        words = words_of(error)
        if words.startswith("Exception encountered"):  # Keras', with all that the layer was given
            words = found[0]
        message = f"ModuleNotFoundError: {words}"
        hint = f"Install {name}, or use the interpreter that has it: --python PATH."
        return EstimateError(message, "build", file, line, hint)
    wanted = _IMPORT.match(linecache.getline(file or "", line or 0))
    top = "" if wanted is None else wanted[1].partition(".")[0]
    if not top or top in ("keras", "tensorflow", "tf_keras"):
        return None
    words = words_of(error)
    if "cannot import name" in words:
        return None
    message = f"{top} is installed and cannot be imported: {type(error).__name__}: {words}"
    hint = f"Mend its installation, or use an interpreter in which `import {top}` works: --python PATH."
    return EstimateError(message, "build", file, line, hint)


def _is_of_project(package: str) -> bool:
    """Whether a package is a folder of the user's."""
    folders = os.environ.get("OOMLINT_FOLDERS", "").split(os.pathsep)
    return bool(package) and any(one and Path(one, *package.split(".")).is_dir() for one in folders)

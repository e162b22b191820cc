"""oomlint reads Keras and TensorFlow training scripts and says where they will run out of memory.

>>> import oomlint
>>> for finding in oomlint.check_source(text, filename="train.py"):
...     print(finding.location.row, finding.code, finding.message)
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.live import guard
    from oomlint.project.settings import Settings

__all__ = ["__version__", "check_paths", "check_source", "estimate", "guard"]

__version__ = "0.1.0"

# The functions import what they need when they are called: `oomlint --version` loads none of it.


def _leave_working_directory() -> None:
    """Take the folder of the project that is checked off the path, where `python -m oomlint` has put it first.

    A `json.py` there would be imported in place of the library's; even `typing` and `__future__` could be one, so this
    file names only what Python itself has loaded by now.
    """
    flags = zip(sys.orig_argv[1:], sys.orig_argv[2:])
    module = next(
        (name for flag, name in flags if flag[:1] == "-" and flag[1:2] != "-" and flag[-1:] == "m"), ""
    )
    if sys.argv[:1] != ["-m"] or module != __name__:
        return
    if getattr(sys.flags, "safe_path", sys.flags.isolated):
        return  # -P and -I put nothing there
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if sys.path and os.path.abspath(sys.path[0]) != own:  # noqa: PTH100
        del sys.path[0]


_leave_working_directory()


def check_source(
    text: str, *, filename: str = "script.py", settings: "Settings | None" = None
) -> "list[Diagnostic]":
    """The findings on one script, given as text; or on a notebook or document, by the ending of `filename`.

    No configuration file is read. The project's modules that it imports are looked for from `filename`.
    """
    from pathlib import Path

    from oomlint.documents.reading import document_of_text
    from oomlint.engine.project import Run
    from oomlint.project.configuration import Configuration, Given, project_root
    from oomlint.project.settings import Settings

    folder = Path(filename).absolute().parent
    run = Run(Given(Configuration(settings or Settings(root=project_root(folder)))))
    run.add(document_of_text(text, filename))
    return list(run.check().diagnostics)


def check_paths(
    *paths: "str | os.PathLike[str]", config: "str | os.PathLike[str] | None" = None, isolated: bool = False
) -> "list[Diagnostic]":
    """The findings on files and folders, with the configuration that `oomlint check` would use.

    Raises OSError for a path that is not there or cannot be read.
    """
    from pathlib import Path

    from oomlint.engine.project import check_paths as check
    from oomlint.project.configuration import Configurations

    configurations = Configurations(file=Path(config) if config is not None else None, isolated=isolated)
    report = check([Path(path) for path in paths], configurations)
    if report.problems:
        raise OSError("; ".join(report.problems))
    return list(report.diagnostics)


def __getattr__(name: str) -> "Any":
    """`oomlint.estimate(model, ...)`, the package of that name being callable, and `oomlint.guard(...)`."""
    import importlib

    if name == "estimate":
        return importlib.import_module("oomlint.estimate")
    if name == "guard":
        return importlib.import_module("oomlint.live").guard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

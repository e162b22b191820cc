"""oomlint reads Keras and TensorFlow training scripts and says where they will run out of memory.

>>> import oomlint
>>> for finding in oomlint.check_source(text, filename="train.py"):
...     print(finding.location.row, finding.code, finding.message)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from typing import Any

    from oomlint.findings.diagnostic import Diagnostic
    from oomlint.live import guard
    from oomlint.project.settings import Settings

__all__ = ["__version__", "check_paths", "check_source", "estimate", "guard"]

__version__ = "0.1.0"

# The functions import what they need when they are called: `oomlint --version` loads none of it.


def check_source(
    text: str, *, filename: str = "script.py", settings: Settings | None = None
) -> list[Diagnostic]:
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
    *paths: str | os.PathLike[str], config: str | os.PathLike[str] | None = None, isolated: bool = False
) -> list[Diagnostic]:
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


def __getattr__(name: str) -> Any:
    """`oomlint.estimate(model, ...)`, the package of that name being callable, and `oomlint.guard(...)`."""
    import importlib

    if name == "estimate":
        return importlib.import_module("oomlint.estimate")
    if name == "guard":
        return importlib.import_module("oomlint.live").guard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The engine: checks one document (a pure function), checks a project, applies fixes.

Seams: :func:`oomlint.engine.document.examine` takes and gives plain data for each document, so that a
pool can spread documents over processes and a cache can keep what it gave.
"""

from oomlint.engine.document import check_document
from oomlint.engine.project import ProjectReport, check_paths

__all__ = ["ProjectReport", "check_document", "check_paths"]

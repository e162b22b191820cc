"""A script as the notebook that somebody would make of it."""

from __future__ import annotations

import json

from metamorphic.code import Code, Rewriting, transformation
from twenty_scripts import as_notebook, cells

from oomlint.documents.notebook import Notebook, notebook_from_bytes


def notebook_of(text: str, filename: str) -> Notebook:
    """Of Colab, where each notebook has a machine of its own, as a script has a process of its own."""
    content = json.loads(as_notebook(cells(text)))
    content["metadata"]["colab"] = {}
    return notebook_from_bytes(json.dumps(content).encode(), filename)


@transformation
def notebook(code: Code) -> Rewriting | None:
    """Cells cut at blank rows between statements."""
    # A cell that starts with `%` or ends with `?` is IPython's; a script's is not.
    if len(cells(code.text)) < 2:
        return None
    return Rewriting({"script": code.traced}, notebook=True)

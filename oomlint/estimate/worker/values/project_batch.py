"""The batch of a script whose data says its name and not the number: the project's one value of that name.

`dataset.batch(settings["batch_size"])` in a function that reads the data is not run, and the settings are of a file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from oomlint.estimate.request import Request
from oomlint.estimate.slicing.program import Program
from oomlint.estimate.worker.values.named_values import named_values, spelled
from oomlint.project.configuration import project_root

_PLAIN = re.compile(r"""(?:\w+|\.|\(\)|\[(?:"[\w-]+"|'[\w-]+')\])+""")
_MOST = 65_536  # samples at once: more is a number of something else


def of_project(request: Request) -> int | None:
    """What the project says of the name in `batch_asked`; None where it says nothing, or several things."""
    asked = request.names.get("batch_asked", "")
    path = Path(request.names.get("path", ""))
    if not _PLAIN.fullmatch(asked) or path.suffix != ".py" or not path.is_file():
        return None
    try:
        if "known" in request.names:
            known = json.loads(request.names["known"])
        else:
            program = Program(path, project_root(path.parent))
            program.read_on()
            known = named_values(program)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None
    value = known.get(spelled(re.findall(r"\w[\w-]*", asked)[-1]))
    return value if type(value) is int and 0 < value <= _MOST else None

"""The batch of a script whose data says its name and not the number: the project's one value of that name.

`dataset.batch(settings["batch_size"])` in a function that reads the data is not run, and the settings are of a file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from oomlint.estimate.request import Request
from oomlint.estimate.worker.values.named_values import of_script, spelled

_PLAIN = re.compile(r"""(?:\w+|\.|\(\)|\[(?:"[\w-]+"|'[\w-]+')\])+""")
_MOST = 65_536  # samples at once: more is a number of something else


def of_project(request: Request) -> int | None:
    """What the project says of the name in `batch_asked`; None where it says nothing, or several things."""
    asked = request.names.get("batch_asked", "")
    path = Path(request.names.get("path", ""))
    if not _PLAIN.fullmatch(asked) or path.suffix != ".py" or not path.is_file():
        return None
    known = json.loads(request.names["known"]) if "known" in request.names else of_script(path)
    if known is None:
        return None
    value = known.get(spelled(re.findall(r"\w[\w-]*", asked)[-1]))
    return value if type(value) is int and 0 < value <= _MOST else None

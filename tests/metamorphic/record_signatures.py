"""Write down the parameters of the library calls that fixtures make, as TensorFlow, Keras and NumPy have them.

python tests/metamorphic/record_signatures.py
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DATASET = "tf.data.Dataset"


def _names() -> set[str]:
    found = set()
    for path in [*ROOT.glob("fixtures/OOM*/*.py"), *Path(__file__).parent.glob("programs/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                name = name.removeprefix("tf.") if name.startswith("tf.keras.") else name
                if name.replace(".", "").isidentifier() and name.partition(".")[0] in ("tf", "keras", "np"):
                    found.add(name)
    return found


def _parameters(what: object) -> list[str] | None:
    try:
        parameters = inspect.signature(what).parameters.values()
    except (TypeError, ValueError):
        return None
    names = []
    for one in parameters:
        if one.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            break
        names.append(one.name)
    return names


def main() -> None:
    import keras
    import numpy as np
    import tensorflow as tf

    found = {}
    for name in sorted(_names()):
        what: object = {"tf": tf, "keras": keras, "np": np}[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            what = getattr(what, part, None)
        if callable(what) and (names := _parameters(what)):
            found[name] = names
    for owner, key in ((tf.data.Dataset, DATASET), (keras.Model, "keras.Model")):
        for attribute in ("batch", "cache", "evaluate", "fit", "compile", "filter", "flat_map", "interleave", "map",
                          "padded_batch", "predict", "prefetch", "repeat", "shard", "shuffle", "skip", "take",
                          "unbatch", "window"):  # fmt: skip
            what = getattr(owner, attribute, None)
            if what is not None and (names := _parameters(what)):
                found[f"{key}().{attribute}"] = names[1:]
    found = {name: names for name, names in found.items() if names}
    Path(__file__).with_name("signatures.json").write_text(json.dumps(found, indent=0) + "\n", "utf-8")
    print(f"{len(found)} signatures", file=sys.stderr)


main()

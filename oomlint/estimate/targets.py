"""What the user may name: a script, a function in it or in a module, a saved model, a keras.applications model."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from oomlint.estimate.errors import EstimateError

Form = Literal["script", "function", "module", "saved", "application"]

SAVED = (".keras", ".h5", ".hdf5", ".json")


@dataclass(frozen=True, slots=True)
class Target:
    """A target taken apart. `path` is a file or a saved model's folder, `name` a function, module member or model."""

    text: str
    form: Form
    path: Path | None = None
    name: str = ""


def read_target(text: str) -> Target:
    """What a target names. Raises EstimateError, with the nearest name where something like it is there."""
    if text.startswith("keras:"):
        return Target(text, "application", name=_application(text.partition(":")[2]))
    whole = Path(text)
    # "C:\models\net.keras": a colon may belong to the path.
    if whole.exists():
        return _of_path(text, whole)
    before, colon, name = text.rpartition(":")
    if colon and Path(before).is_file():
        if not before.endswith((".py", ".ipynb")):
            raise EstimateError(f"{before} is no Python file, so it has no {name!r}", "target")
        if not _dotted(name):
            raise EstimateError(f"{name!r} is no function's name", "target")
        return Target(text, "function", Path(before), name)
    if colon and before.endswith((".py", ".ipynb")):
        raise EstimateError(f"there is no file {before}", "target", hint=_near_file(Path(before)))
    if colon and _dotted(before) and _dotted(name):
        return Target(text, "module", name=name)
    if text.endswith((".py", ".ipynb", *SAVED)) or "/" in text or "\\" in text:
        raise EstimateError(f"there is no file {text}", "target", hint=_near_file(whole))
    hint = _near_file(whole) or (
        "A target is train.py, train.py:build_model, package.module:function, model.keras or keras:ResNet50."
    )
    raise EstimateError(f"there is no target {text!r}", "target", hint=hint)


def _dotted(name: str) -> bool:
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def _of_path(text: str, path: Path) -> Target:
    if path.is_dir():
        if (path / "saved_model.pb").is_file() or (path / "keras_metadata.pb").is_file():
            return Target(text, "saved", path)
        if (path / "config.json").is_file() and (path / "metadata.json").is_file():  # an unpacked .keras
            return Target(text, "saved", path)
        raise EstimateError(
            f"{text} is a folder and no saved model", "target", hint="Name the training script in it."
        )
    if path.suffix.lower() in SAVED:
        return Target(text, "saved", path)
    if path.suffix in (".py", ".ipynb"):
        return Target(text, "script", path)
    raise EstimateError(
        f"{text} is neither a Python file nor a saved model",
        "target",
        hint=f"Saved models end in {', '.join(SAVED)}.",
    )


def _near_file(path: Path) -> str:
    try:
        names = [child.name for child in path.parent.iterdir() if child.suffix in (".py", ".ipynb", *SAVED)]
    except OSError:
        return ""
    found = difflib.get_close_matches(path.name, names, n=1)
    return f"Did you mean {path.parent / found[0]}?" if found else ""


# The models of keras.applications, as `keras/api/applications/__init__.py` exports them. Newer ones are left to
# the Keras that is installed.
APPLICATIONS = (
    "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 DenseNet169 DenseNet201 "
    "EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6 "
    "EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L "
    "EfficientNetV2M EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet MobileNetV2 MobileNetV3Large "
    "MobileNetV3Small NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 "
    "VGG16 VGG19 Xception"
).split()


def _application(name: str) -> str:
    plain = {_plain(known): known for known in APPLICATIONS}
    if _plain(name) in plain:
        return plain[_plain(name)]
    found = difflib.get_close_matches(_plain(name), plain, n=3, cutoff=0.5)
    hint = f"Did you mean keras:{plain[found[0]]}?" if found else f"It has {', '.join(APPLICATIONS)}."
    raise EstimateError(f"keras.applications has no model {name!r}", "target", hint=hint)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def read_arguments(texts: Iterable[str]) -> dict[str, Any]:
    """`--arg name=value`, each value a Python literal or else text."""
    arguments: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise EstimateError(f"--arg {text!r}: write NAME=VALUE", "target")
        try:
            arguments[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            arguments[name.strip()] = value.strip()
    return arguments


def read_shape(text: str) -> tuple[int | None, ...]:
    """`--input-shape 224,224,3`: one sample's shape; `x` separates too, brackets may stand around it."""
    parts = [part for part in re.split(r"[\s,x×*]+", text.strip().strip("()[]").strip().lower()) if part]
    shape: list[int | None] = []
    for part in parts:
        if part in ("none", "?"):
            shape.append(None)
        elif part.isdigit() and int(part) > 0:
            shape.append(int(part))
        else:
            raise EstimateError(
                f"--input-shape {text!r}: write one sample's sizes, as in 224,224,3", "target"
            )
    if not shape:
        raise EstimateError(f"--input-shape {text!r}: write one sample's sizes, as in 224,224,3", "target")
    return tuple(shape)

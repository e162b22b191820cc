"""Saved models: the architecture and the compile arguments are read, the weights are left in the file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.script.making import _failed


def load(path: Path, assumptions: list[str]) -> Any:
    """The model of a file or folder."""
    import keras

    if path.is_dir():
        config = path / "config.json"
        if config.is_file():
            return _of_config(config.read_text("utf-8"), path)
        return _of_saved_model(path)
    try:
        if path.suffix == ".keras":
            with zipfile.ZipFile(path) as archive:
                return _of_config(archive.read("config.json").decode("utf-8"), path)
        if path.suffix == ".json":
            return _of_config(path.read_text("utf-8"), path)
        return _of_hdf5(path, assumptions)
    except EstimateError:
        raise
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise EstimateError(f"{path} cannot be read as a saved model: {error}", "target") from error
    finally:
        del keras


def _of_config(text: str, path: Path) -> Any:
    content = json.loads(text)
    if not isinstance(content, dict) or "class_name" not in content:
        raise EstimateError(f"{path} holds no model's architecture", "target")
    import keras

    try:
        if "module" in content or "registered_name" in content:
            return _jit_left_open(keras.saving.deserialize_keras_object(content))
        return keras.models.model_from_json(text)
    except Exception as error:
        raise _own_objects(error, path) from error


def _jit_left_open(model: Any) -> Any:
    """The model as if compiled with `jit_compile="auto"`: a machine without a GPU writes False for that."""
    config = getattr(getattr(model, "_compile_config", None), "config", None)
    if isinstance(config, dict) and config.get("jit_compile") is False:
        config["jit_compile"] = "auto"
    return model


def _of_hdf5(path: Path, assumptions: list[str]) -> Any:
    import h5py  # type: ignore[import-untyped, unused-ignore]
    import keras

    with h5py.File(path, "r") as file:
        config = file.attrs.get("model_config")
        training = file.attrs.get("training_config")
    if config is None:
        hint = "It was written by save_weights: name the function that builds the model, FILE.py:function."
        raise EstimateError(f"{path} holds weights and no architecture", "target", hint=hint)
    content = json.loads(config.decode() if isinstance(config, bytes) else config)
    from keras.src.legacy.saving import saving_utils

    try:
        model = saving_utils.model_from_config(content)
        if training is not None:
            decoded = json.loads(training.decode() if isinstance(training, bytes) else training)
            _compile(model, decoded, assumptions)
    except Exception as error:
        raise _own_objects(error, path) from error
    del keras
    return model


def _compile(model: Any, training: dict[str, Any], assumptions: list[str]) -> None:
    """As the file says. Keras 3 cannot read back a loss or metric that was given as "mse"."""
    import keras
    from keras.src.legacy.saving import saving_utils

    try:
        arguments = saving_utils.compile_args_from_training_config(training)
    except (ValueError, TypeError) as error:
        assumptions.append(f"metrics of the saved model are left out ({str(error).splitlines()[0][:120]})")
        loss = training.get("loss")
        loss = loss.get("config") if isinstance(loss, dict) and "config" in loss else loss
        optimizer = keras.optimizers.deserialize(training["optimizer_config"])
        arguments = {"optimizer": optimizer, "loss": loss if isinstance(loss, str) else None}
    model.compile(**arguments)


def _of_saved_model(path: Path) -> Any:
    import tf_keras

    try:
        return tf_keras.models.load_model(str(path))
    except Exception as error:
        raise _own_objects(error, path) from error


def _own_objects(error: Exception, path: Path) -> EstimateError:
    failed = _failed(error, f"reading {path.name}")
    failed.file = failed.line = None
    text = str(error)
    if "custom_object" in text or "Unknown layer" in text or "Could not locate class" in text:
        failed.hint = "The model has layers of your own: name the function that builds it, FILE.py:function."
    return failed

"""What user code commonly does that an estimate must not wait for: the command line, weights, downloads."""

from __future__ import annotations

import argparse
import builtins
import functools
import io
import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from oomlint.estimate.worker.absent import environments, stand_ins
from oomlint.estimate.worker.absent.attribute_dicts import attribute_dicts
from oomlint.estimate.worker.absent.data_sets import known_data_sets
from oomlint.estimate.worker.absent.hydra import composed_settings
from oomlint.estimate.worker.absent.progress import progress_bars
from oomlint.estimate.worker.absent.stand_ins import Missing
from oomlint.estimate.worker.absent.texts import tokenizers
from oomlint.estimate.worker.absent.trackers import wandb
from oomlint.estimate.worker.absent.waiting import short_waits
from oomlint.estimate.worker.keras import generation
from oomlint.estimate.worker.keras.weightless_tensorflow import zeros
from oomlint.estimate.worker.older.add_ons import add_ons
from oomlint.estimate.worker.older.image_format import image_format
from oomlint.estimate.worker.older.keras_core import keras_core
from oomlint.estimate.worker.older.modules import legacy_keras
from oomlint.estimate.worker.older.optimizer_arguments import renamed_optimizer_arguments
from oomlint.estimate.worker.values import option_files

# Scripts that Python 3 parses and that still say them.
_OF_PYTHON_2 = {"xrange": range, "unicode": str, "basestring": str, "long": int, "unichr": chr}

# The modules of Keras 2 handed on what they import themselves: `np` and `K`.
_STARRED = re.compile(r"(?m)^\s*from (tensorflow\.)?keras(\.\w+)* import \*")

_FEW = 1 << 26  # numbers of an array that is made of zeros: what is calculated with it takes memory

_SETTINGS = frozenset(".json .jsonc .yaml .yml .cfg .ini .toml .conf .config .names .txt".split())


@contextmanager
def harmless(given: dict[str, Any], assumptions: list[str], text: str = "") -> Iterator[None]:
    """Inside, command lines give their defaults, weights are not read, and old names of Keras are found."""
    with ExitStack() as stack:
        if generation.legacy_asked():
            stack.enter_context(renamed_optimizer_arguments(generation.chosen()))
        else:
            stack.enter_context(legacy_keras(assumptions))
            stack.enter_context(keras_core(assumptions))
        stack.enter_context(short_waits())
        stack.enter_context(progress_bars())
        stack.enter_context(environments.replaced_where_they_fail(text))
        stack.enter_context(wandb())
        stack.enter_context(attribute_dicts())
        stack.enter_context(composed_settings(assumptions))
        stack.enter_context(known_data_sets())
        stack.enter_context(tokenizers())
        stack.enter_context(add_ons(generation.chosen(), assumptions))
        opened = _beside_the_script(builtins.open)
        # Python 3.10 keeps the `io.open` that it began with for `Path.open`.
        for owner in (builtins, io, Path):
            stack.enter_context(patch.object(owner, "open", opened))
        if (tensorflow := sys.modules.get("tensorflow")) is not None:
            stack.enter_context(patch.object(tensorflow.io.gfile, "GFile", opened))  # of settings as well
        for place, name in ((os.path, "exists"), (os.path, "isfile"), (Path, "exists"), (Path, "is_file")):
            stack.enter_context(patch.object(place, name, _also_beside(getattr(place, name))))
        stack.enter_context(image_format(generation.chosen(), text, assumptions))
        _data_as_tensors()
        _yaml(stack)
        _hdf5(stack)
        for name, today in _OF_PYTHON_2.items():
            stack.enter_context(patch.object(builtins, name, today, create=True))
        if _STARRED.search(text):
            import numpy

            stack.enter_context(patch.object(builtins, "np", numpy, create=True))
            stack.enter_context(patch.object(builtins, "K", generation.chosen().backend, create=True))
        parse = _Defaults(given, assumptions)
        _flags_have_their_defaults(stack, parse)
        add = argparse._ActionsContainer.add_argument
        stack.enter_context(patch.object(argparse._ActionsContainer, "add_argument", _any_choice(add)))
        stack.enter_context(patch.object(argparse.ArgumentParser, "parse_args", parse.parse_args))
        stack.enter_context(patch.object(argparse.ArgumentParser, "parse_known_args", parse.parse_known_args))
        for module in generation.present():
            stack.enter_context(patch.object(module.Model, "load_weights", _nothing))
            stack.enter_context(patch.object(module.Model, "save_weights", _nothing))
            stack.enter_context(patch.object(module.Model, "save", _nothing))
            stack.enter_context(patch.object(module.Model, "reset_states", _nothing, create=True))
        for name in (
            "keras.src.utils.file_utils",
            "keras.src.applications.imagenet_utils",
            "tf_keras.src.utils.data_utils",
        ):
            if name in sys.modules and hasattr(sys.modules[name], "get_file"):
                stack.enter_context(patch.object(sys.modules[name], "get_file", _no_file))
        yield


def _data_as_tensors() -> None:
    """Data of a known shape inside an operation of TensorFlow is that many zeros: a limit to scale by, a graph's nodes.

    What is calculated with it has a shape all the same; NumPy, which could decide something by it, gets none. A step
    that uses it is given it once, however often it asks, and it is on the GPU while the step runs.
    """
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return

    def converted(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        if None in value.sizes:
            raise stand_ins.NeededError(value.shape[value.sizes.index(None)])
        if math.prod(value.sizes) > _FEW:
            raise stand_ins.NeededError(Missing("the data itself"))
        kind = tensorflow.as_dtype(dtype or str(value.dtype))
        if kind not in value.tensors:
            with tensorflow.init_scope():
                value.tensors[kind] = zeros(value.sizes, kind)
        return value.tensors[kind]

    tensorflow.register_tensor_conversion_function(stand_ins.Data, converted)


def _yaml(stack: ExitStack) -> None:
    """`yaml.load(file)`, which asks for a loader since PyYAML 6."""
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return
    original = yaml.load

    def load(stream: Any, Loader: Any = yaml.FullLoader) -> Any:
        return original(stream, Loader)

    stack.enter_context(patch.object(yaml, "load", load))


def _hdf5(stack: ExitStack) -> None:
    """Models in `.h5` files, which h5py opens by itself: beside the script, too."""
    try:
        import h5py  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return
    original = h5py.File.__init__

    @functools.wraps(original)
    def init(self: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
        if mode == "r" and isinstance(name, str | os.PathLike) and not os.path.lexists(name):
            name = next((one for folder in _folders() if (one := Path(folder, name)).is_file()), name)
        original(self, name, mode, *args, **kwargs)

    stack.enter_context(patch.object(h5py.File, "__init__", init))


def _flags_have_their_defaults(stack: ExitStack, parse: _Defaults) -> None:
    """The flags of absl: as if the command line had been read, with what `--arg` gives on it."""
    try:
        from absl import flags
    except ImportError:
        return
    flags.FLAGS.mark_as_parsed()
    original = flags.FlagValues.__getattr__

    def read(self: Any, name: str) -> Any:
        return parse.of_flag(name, original(self, name), self)

    stack.enter_context(patch.object(flags.FlagValues, "__getattr__", read))


def _folders() -> list[str]:
    return [folder for folder in os.environ.get("OOMLINT_FOLDERS", "").split(os.pathsep) if folder]


def _beside_the_script(original: Any) -> Any:
    """`open` for reading also looks in the script's own folder: the working directory is an empty one."""

    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if isinstance(file, str | os.PathLike) and not set(mode) & set("wax+") and not os.path.lexists(file):
            for folder in _folders():
                for spelled in _spelled(file):
                    if Path(folder, spelled).is_file():
                        return original(Path(folder, spelled), mode, *args, **kwargs)
        return original(file, mode, *args, **kwargs)

    return opened


def _forward(path: str) -> str:
    """A path as it is written on Windows, `configs\\net.yaml`, in the way that is understood everywhere."""
    return path.replace("\\", "/") if os.sep == "/" else path


def _spelled(path: Any) -> list[str]:
    """How a path may be meant: `Path.cwd() / "config.json"` is in the folder where the script would be run."""
    written = os.fspath(path)
    work = os.environ.get("OOMLINT_WORK", "")
    if work and isinstance(written, str) and Path(written).is_relative_to(work):
        written = str(Path(written).relative_to(work))
    return [written, _forward(written)]


def _also_beside(original: Any) -> Any:
    """`os.path.isfile` and the like, which scripts ask before they open their settings; weights are not looked for."""

    def asked(path: Any, **how: Any) -> Any:
        if not isinstance(path, str | os.PathLike) or Path(path).suffix not in _SETTINGS:
            return original(path, **how)
        if original(path, **how):
            return True
        return any(original(Path(folder, one), **how) for folder in _folders() for one in _spelled(path))

    return asked


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Weights are not read: the memory is the same without their values."""


def _no_file(*args: Any, **kwargs: Any) -> str:
    return "not-downloaded"


def _any_choice(add: Any) -> Any:
    """`add_argument`, whose choices may be the files of a folder: argparse lists them at once."""

    @functools.wraps(add)
    def added(self: Any, *names: Any, **how: Any) -> Any:
        if isinstance(how.get("choices"), Missing):
            del how["choices"]
        return add(self, *names, **how)

    return added


def _is_none(default: Any) -> bool:
    """`default="None"`, of a file that has to be given."""
    return isinstance(default, str) and default.strip().lower() in ("", "none", "null")


class _Defaults:
    """`parse_args` with no command line: what is required and not given is not known."""

    def __init__(self, given: dict[str, Any], assumptions: list[str]) -> None:
        self.given = given
        self.assumptions = assumptions
        self._files: dict[str, list[str]] = {}
        self.original = argparse.ArgumentParser.parse_known_args

    def namespace(self, parser: argparse.ArgumentParser) -> argparse.Namespace:
        values = argparse.Namespace()
        for action in parser._actions:
            if action.dest is argparse.SUPPRESS or action.dest == "help":
                continue
            if action.dest in self.given:
                setattr(values, action.dest, self.given[action.dest])
                continue
            file = self._settings(action)
            if file is not None:
                setattr(values, action.dest, file)
                continue
            if (
                action.required
                and action.default is None
                and not isinstance(action, argparse._SubParsersAction)
            ):
                value: Any = Missing(action.dest)
                stand_ins.EXAMPLES[action.dest] = self._examples(action)
            else:
                value = action.default
                if isinstance(value, str) and any(
                    Path(folder, _forward(value)).is_file() for folder in _folders()
                ):
                    value = _forward(value)
                if _is_none(value) and option_files.wanted(action):
                    value = None
                if isinstance(value, str) and action.type is not None:
                    value = parser._get_value(action, value)
            if value is None:
                stand_ins.UNSET.add(action.dest)
                stand_ins.EXAMPLES.setdefault(action.dest, self._examples(action))
            if value is not argparse.SUPPRESS and not hasattr(values, action.dest):
                setattr(values, action.dest, value)
        for name, value in parser._defaults.items():
            if not hasattr(values, name):
                setattr(values, name, value)
        return values

    def of_flag(self, name: str, value: Any, flags: Any) -> Any:
        """The value of a flag of absl, as that of an option of argparse."""
        if name in self.given:
            return self.given[name]
        if value is not None:
            return value
        told = argparse.Action((), name, help=getattr(flags[name], "help", None))
        file = self._settings(told)
        if file is not None:
            return file
        stand_ins.UNSET.add(name)
        stand_ins.EXAMPLES.setdefault(name, self._examples(told))
        return None

    def _examples(self, action: argparse.Action) -> list[Any]:
        return list(action.choices or []) or list(self._files.get(action.dest, []))

    def _settings(self, action: argparse.Action) -> str | None:
        """The file of settings that an option without a default means, where the project has but one."""
        if isinstance(action, argparse._SubParsersAction) or not option_files.wanted(action):
            return None
        if action.default is not None and not _is_none(action.default):
            return None
        names = self._files[action.dest] = option_files.found(_folders())
        file = option_files.taken(names)
        if file is not None:
            said = f"{action.dest} is {file}, the project's own (another: --arg {action.dest}=FILE)"
            self.assumptions.append(said)
        return file

    @property
    def parse_args(self) -> Any:
        outer = self

        def parse_args(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
            if args:
                found, _ = outer.original(self, args, namespace)
                return found
            return outer.namespace(self)

        return parse_args

    @property
    def parse_known_args(self) -> Any:
        outer = self

        def parse_known_args(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
            if args:
                return outer.original(self, args, namespace)
            return outer.namespace(self), []

        return parse_known_args

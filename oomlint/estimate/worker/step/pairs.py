"""Batches of several parts, for a model whose own `train_step` takes them apart: `low, high = data`.

Keras has labels where a loss is compiled. A GAN of two sets of pictures has none, and a second part all the same.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from oomlint.estimate.worker.absent import stand_ins
from oomlint.estimate.worker.keras.generation import keras_of, tree
from oomlint.estimate.worker.script.making import Made
from oomlint.estimate.worker.sources import source_of
from oomlint.estimate.worker.step import data_specs
from oomlint.estimate.worker.step.losses import own_step
from oomlint.estimate.worker.subject import Spec
from oomlint.estimate.worker.values import roles


def second_of(made: Made, x: Any, outputs: Any, batch: int, assumptions: list[str]) -> Any:
    """Shapes of the second part, where the model's step wants one: as data says, else like its output or input."""
    if not own_step(made.model) or not (_in_parts(type(made.model)) or _compares(made.model)):
        return None
    told = roles.labels_of(stand_ins.DESCRIBED)
    if told is not None and None not in told.sizes[1:]:
        return Spec((batch, *told.sizes[1:]), str(told.dtype))
    known = made.second
    leaves = tree().flatten(outputs) if outputs is not None else []
    if data_specs.is_leaf(known) and known[1] != "string":
        return _filled(known, batch, leaves, assumptions)
    like, words = x, "what the model is given"
    if len(leaves) == 1 and all(isinstance(size, int) for size in tuple(leaves[0].shape)[1:]):
        like, words = Spec((batch, *map(int, leaves[0].shape[1:])), "float32"), "its output"
        if _compares_classes(made.model):
            like, words = Spec(like.shape[:-1], "int32"), "its output, a class for each"
    assumptions.append(f"the second part of a batch is like {words} (another: --data 'x=..., y=...')")
    return like


_USUAL = 16  # of a size that neither the data nor the output tells: captions of a picture, boxes in it


def _filled(known: Any, batch: int, outputs: list[Any], assumptions: list[str]) -> Spec:
    """With the sizes that data does not tell as the output has them: boxes are compared with boxes, one by one."""
    sizes, dtype = known
    if None not in sizes[1:]:
        return data_specs.spec_of(known, batch)
    like = tuple(outputs[0].shape) if len(outputs) == 1 else ()
    if len(like) != len(sizes) or not all(isinstance(size, int) for size in like[1:]):
        like = (_USUAL,) * len(sizes)
    sample = [other if size is None else size for size, other in zip(sizes[1:], like[1:], strict=True)]
    words = "x".join(map(str, (batch, *sample)))
    assumptions.append(
        f"the second part of a batch is {words}: data does not tell all of it (another: --data 'x=..., y=...')"
    )
    return data_specs.spec_of(((None, *sample), dtype), batch)


def weights_of(made: Made, batch: int) -> Any:
    """Shapes of the third part, which Keras takes for weights of the samples; None where it is not known."""
    known: Any = made.rest[1] if len(made.rest) > 1 else None
    return data_specs.spec_of(known, batch) if data_specs.is_whole(known) else None


def _compares_classes(model: Any) -> bool:
    """Whether the step calls a loss, by itself or through an attribute, that compares with numbers of classes."""
    step: Any = model.train_step
    function = _train_step(type(model))
    known = {**getattr(step, "__globals__", {}), **vars(model)}
    called = [one.func for one in ast.walk(function) if isinstance(one, ast.Call)] if function else []
    for name in called:
        word = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
        if data_specs.of_classes(word) or data_specs.of_classes(known.get(word)):
            return True
    return False


def takes_one(model: Any) -> bool:
    """Whether the model's own `train_step` works on its data as one array: `tf.random.normal(tf.shape(images))`.

    Keras hands on what a data set gives, which are pictures alone even where a loss is compiled: the step calls it.
    """
    function = _train_step(type(model))
    if function is None:
        return False
    data = function.args.args[1].arg
    return not any(_takes_apart(node, data) for node in ast.walk(function)) and any(
        _works_on(node, data, model) for node in ast.walk(function)
    )


def _takes_apart(node: ast.AST, data: str) -> bool:
    """Whether a part of a batch is asked for: in an assignment, by its number or name, or in a function of Keras."""
    match node:
        case ast.Assign(value=ast.Name(id=name), targets=[ast.Tuple() | ast.List()]):
            return name == data
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant()):
            return name == data
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called), args=[ast.Name(id=name), *_]):
            return name == data and ("unpack" in called or called in ("train_step", "isinstance", "len"))
    return False


def _works_on(node: ast.AST, data: str, model: Any) -> bool:
    """Whether this is possible with an array alone: arithmetic, its shape, a function of TensorFlow's, a layer."""
    match node:
        case ast.BinOp(left=ast.Name(id=name)) | ast.BinOp(right=ast.Name(id=name)):
            return name == data
        case ast.Attribute(value=ast.Name(id=name), attr="shape" | "dtype"):
            return name == data
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tf" | "ops")), args=[ast.Name(id=name), *_]):
            return name == data
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="self"), attr=called), args=[ast.Name(id=name), *_]
        ):
            return name == data and isinstance(getattr(model, called, None), keras_of(model).layers.Layer)
    return False


def _in_parts(model: type) -> bool:
    """Whether a `train_step` takes its data apart into two or three, in a statement of its own."""
    function = _train_step(model)
    if function is None:
        return False
    data = function.args.args[1].arg
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id == data
        and isinstance(node.targets[0], ast.Tuple | ast.List)
        and len(node.targets[0].elts) in (2, 3)
        for node in ast.walk(function)
    )


def _compares(model: Any) -> bool:
    """Whether a loss of the model's own is given labels by Keras' step: `compute_loss(self, x=None, y=None, ...)`."""
    base = keras_of(model).Model
    own: Any = getattr(type(model), "compute_loss", None)
    same_step = getattr(type(model), "train_step", None) is getattr(base, "train_step", None)
    return (
        same_step
        and own is not getattr(base, "compute_loss", None)
        and "y" in inspect.signature(own).parameters
    )


def _train_step(model: type) -> ast.FunctionDef | None:
    """The source of a step of the model's own that takes one batch; None where it has none or nobody has it."""
    step: Any = getattr(model, "train_step", None)
    if str(getattr(step, "__module__", "")).partition(".")[0] in ("keras", "tf_keras"):
        return None
    function = source_of(step)
    return function if isinstance(function, ast.FunctionDef) and len(function.args.args) == 2 else None

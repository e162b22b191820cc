"""Attention layers, and layers that merge several tensors."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import LAYERS, UNSURE, Built, Config, axis_of
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const
from oomlint.dryrun.values.shapes import broadcast, shape_of
from oomlint.dryrun.values.shapes import concatenate as joined

Shapes = tuple[Shape | None, ...]


def _projections(
    query: Dim, key: Dim, value: Dim, heads: tuple[Dim, Dim], widths: tuple[Dim, Dim], bias: bool, out: Dim
) -> dict[str, Shape]:
    """Query, key, value and output projections; `heads` of query and key, `widths` of key and value."""
    weights: dict[str, Shape] = {
        "query/kernel": (query, heads[0], widths[0]),
        "key/kernel": (key, heads[1], widths[0]),
        "value/kernel": (value, heads[1], widths[1]),
        "output/kernel": (heads[0], widths[1], out),
    }
    if bias:
        weights |= {
            "query/bias": (heads[0], widths[0]),
            "key/bias": (heads[1], widths[0]),
            "value/bias": (heads[1], widths[1]),
            "output/bias": (out,),
        }
    return weights


@LAYERS(
    "MultiHeadAttention",
    "num_heads key_dim value_dim dropout use_bias output_shape attention_axes",
    "query value key query_mask value_mask key_mask attention_mask return_attention_scores",
)
def multi_head_attention(config: Config, inputs: Shapes, call: Config) -> Built:
    """Projections to heads x key_dim and back; the output has the query's shape."""
    query = inputs[0]
    value = inputs[1] if len(inputs) > 1 else None
    key = inputs[2] if len(inputs) > 2 and inputs[2] is not None else value
    bias, scores = config.flag("use_bias", True), call.flag("return_attention_scores", False)
    width = config.get("output_shape")
    if query is None or width is UNSURE:
        return Built()
    given = shape_of(config.value("output_shape"))
    if given is not None and len(given) != 1:
        return Built()
    out = query[-1] if given is None else given[0]
    heads, depth = config.dim("num_heads"), config.dim("key_dim")
    deep = depth if config.get("value_dim") is None else config.dim("value_dim")
    weights = None
    if bias is not None and value is not None and key is not None:
        weights = _projections(query[-1], key[-1], value[-1], (heads, heads), (depth, deep), bias, out)
    output: Shape = (*query[:-1], out)
    if scores:
        steps = value[1] if value is not None and len(value) > 1 else None
        plane = (query[0], heads, query[1], steps) if len(query) == 3 else None
        return Built(output, weights, (output, plane))
    return Built(output if scores is not None else None, weights)


@LAYERS(
    "GroupQueryAttention GroupedQueryAttention",
    "head_dim num_query_heads num_key_value_heads dropout use_bias",
    "query value key",
)
def group_query_attention(config: Config, inputs: Shapes, call: Config) -> Built:
    """Fewer heads for keys and values than for queries."""
    query, value = inputs[0], inputs[1] if len(inputs) > 1 else None
    key = inputs[2] if len(inputs) > 2 and inputs[2] is not None else value
    bias, gate = config.flag("use_bias", True), config.flag("use_gate", False)
    if query is None or value is None or key is None or bias is None or gate is not False:
        return Built(query)
    heads = (config.dim("num_query_heads"), config.dim("num_key_value_heads"))
    depth = config.dim("head_dim")
    return Built(query, _projections(query[-1], key[-1], value[-1], heads, (depth, depth), bias, query[-1]))


def _attended(inputs: Shapes) -> Shape | None:
    """The query's steps with the value's width."""
    if len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        return None
    return (*inputs[0][:-1], inputs[1][-1])


@LAYERS("Attention", "use_scale score_mode dropout", "inputs mask")
def attention(config: Config, inputs: Shapes, call: Config) -> Built:
    """Query and value (and key), with at most a scalar or two to learn."""
    scale, mode = config.flag("use_scale", False), config.get("score_mode", "dot")
    weights: dict[str, Shape] | None = None
    if scale is not None and mode is not UNSURE:
        weights = {"scale": ()} if scale else {}
        if mode == "concat":
            weights["concat_score_weight"] = ()
    return Built(_attended(inputs), weights)


@LAYERS("AdditiveAttention", "use_scale dropout", "inputs mask")
def additive_attention(config: Config, inputs: Shapes, call: Config) -> Built:
    """The scale has an entry per feature of the query."""
    scale, query = config.flag("use_scale", True), inputs[0]
    known_weights = scale is not None and query is not None
    weights: dict[str, Shape] = {"scale": (query[-1],)} if scale and query else {}
    return Built(_attended(inputs), weights if known_weights else None)


@LAYERS("Add Subtract Multiply Average Maximum Minimum")
def elementwise(config: Config, inputs: Shapes, call: Config) -> Built:
    """Shapes are broadcast."""
    return Built(broadcast(*inputs), {})


@LAYERS("Concatenate", "axis")
def concatenate(config: Config, inputs: Shapes, call: Config) -> Built:
    """Joined along one axis; the others agree."""
    axis = config.get("axis", -1)
    return Built(joined(list(inputs), axis) if isinstance(axis, int) and None not in inputs else None, {})


@LAYERS("Dot", "axes normalize")
def dot(config: Config, inputs: Shapes, call: Config) -> Built:
    """Batchwise product over one axis of each."""
    axes = config.get("axes")
    if len(inputs) != 2 or inputs[0] is None or inputs[1] is None or axes is UNSURE:
        return Built(None, {})
    left, right = inputs[0], inputs[1]
    pair = axes if isinstance(axes, tuple) else (axes, axes)
    one, two = (axis_of(axis, len(shape)) for axis, shape in zip(pair, (left, right)))
    if one is None or two is None:
        return Built(None, {})
    rest: Shape = (
        *(dim for axis, dim in enumerate(left) if axis != one),
        *(dim for axis, dim in enumerate(right) if axis not in (0, two)),
    )
    return Built(rest if len(rest) > 1 else (*rest, Const(1)), {})

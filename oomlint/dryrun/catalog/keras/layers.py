"""Dense, embedding, reshaping, normalisation, activations and everything that keeps the shape."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import (
    LAYERS,
    UNSURE,
    Built,
    Config,
    axis_of,
    product,
)
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const
from oomlint.dryrun.values.shapes import reshape as reshaped
from oomlint.dryrun.values.shapes import shape_of

Shapes = tuple[Shape | None, ...]

_REGULAR = "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer"


@LAYERS("Dense", f"units activation use_bias {_REGULAR} kernel_constraint bias_constraint lora_rank")
def dense(config: Config, inputs: Shapes, call: Config) -> Built:
    """Acts on the last axis, whatever the rank: the kernel is (last axis, units)."""
    units, shape = config.dim("units"), inputs[0]
    if shape is None or not shape:
        return Built()
    bias = config.flag("use_bias", True)
    rank = config.get("lora_rank")
    weights: dict[str, Shape] | None = None
    if bias is not None and (rank is None or isinstance(rank, int)):
        weights = {"kernel": (shape[-1], units)}
        if bias:
            weights["bias"] = (units,)
        if rank:
            weights |= {"lora_kernel_a": (shape[-1], Const(rank)), "lora_kernel_b": (Const(rank), units)}
    return Built((*shape[:-1], units), weights)


@LAYERS("EinsumDense", f"equation output_shape activation bias_axes {_REGULAR}")
def einsum_dense(config: Config, inputs: Shapes, call: Config) -> Built:
    """A dense layer written as an equation; letters tie the axes of input, kernel and output."""
    equation, shape = config.get("equation"), inputs[0]
    wanted = shape_of(config.value("output_shape"))
    if not isinstance(equation, str) or shape is None or wanted is None:
        return Built()
    left, _, result = equation.replace(" ", "").partition("->")
    source, _, kernel = left.partition(",")
    sizes: dict[str, Dim] = {}
    gap = len(shape) - len(source.replace("...", ""))
    if source.startswith("..."):
        source, result = source[3:], result[3:]
        sizes.update(zip(source, shape[gap:]))
        lead: Shape = shape[:gap]
        tail: Shape = ()
    else:
        tail = shape[len(shape) - gap :] if source.endswith("...") else ()
        source, result, lead = source.removesuffix("..."), result.removesuffix("..."), ()
        sizes.update(zip(source, shape))
    given = wanted[max(0, len(wanted) - len(result)) :]
    for letter, dim in zip(reversed(result), reversed(given)):
        if letter not in sizes or sizes[letter] is None:
            sizes[letter] = dim
    weights = {"kernel": tuple(sizes.get(letter) for letter in kernel)}
    axes = config.get("bias_axes")
    if axes is UNSURE:
        return Built((*lead, *(sizes.get(letter) for letter in result), *tail))
    if axes:
        first = min(result.index(letter) for letter in axes if letter in result)
        weights["bias"] = tuple(
            sizes.get(letter) if letter in axes else Const(1) for letter in result[first:]
        )
    return Built((*lead, *(sizes.get(letter) for letter in result), *tail), weights)


@LAYERS("Embedding", "input_dim output_dim embeddings_initializer embeddings_regularizer")
def embedding(config: Config, inputs: Shapes, call: Config) -> Built:
    """A table of rows; the output has one more axis than the input."""
    width, shape = config.dim("output_dim"), inputs[0]
    weights: dict[str, Shape] = {"embeddings": (config.dim("input_dim"), width)}
    return Built(None if shape is None else (*shape, width), weights)


@LAYERS("ReversibleEmbedding", "input_dim output_dim tie_weights", "inputs reverse")
def reversible_embedding(config: Config, inputs: Shapes, call: Config) -> Built:
    """A table that also turns vectors back into logits, by a table of its own if the weights are not tied."""
    built, rows, width = embedding(config, inputs, call), config.dim("input_dim"), config.dim("output_dim")
    tied, back = config.flag("tie_weights", True), call.flag("reverse", False)
    weights: dict[str, Shape] | None = built.weights
    if not tied:
        weights = {"embeddings": (rows, width), "reverse_embeddings": (width, rows)}
    output = built.output
    if back:
        output = (*inputs[0][:-1], rows) if inputs[0] else None
    return Built(output if back is not None else None, weights if tied is not None else None)


@LAYERS("RandomFourierFeatures", "output_dim kernel_initializer scale trainable")
def random_fourier_features(config: Config, inputs: Shapes, call: Config) -> Built:
    """Random projections (of Keras 2), of which only the scale may be trained."""
    width, shape = config.dim("output_dim"), inputs[0]
    if not shape:
        return Built()
    weights: dict[str, Shape] = {"kernel": (shape[-1], width), "bias": (width,), "kernel_scale": ()}
    return Built((*shape[:-1], width), weights)


@LAYERS("Flatten", "data_format")
def flatten(config: Config, inputs: Shapes, call: Config) -> Built:
    """All axes but the batch become one."""
    shape = inputs[0]
    return Built(None if not shape else (shape[0], product(shape[1:])), {})


@LAYERS("Reshape", "target_shape")
def reshape(config: Config, inputs: Shapes, call: Config) -> Built:
    """The target shape, one -1 worked out from what is left."""
    target, shape = shape_of(config.value("target_shape")), inputs[0]
    if target is None:
        return Built(None, {})
    after = reshaped(shape[1:] if shape else None, target)
    return Built(None if after is None else (shape[0] if shape else None, *after), {})


@LAYERS("Permute", "dims")
def permute(config: Config, inputs: Shapes, call: Config) -> Built:
    """Axes in another order, counted from 1."""
    order, shape = config.get("dims"), inputs[0]
    if not isinstance(order, tuple) or shape is None or sorted(order) != list(range(1, len(shape))):
        return Built(None if shape is None else (shape[0], *(None,) * (len(shape) - 1)), {})
    return Built((shape[0], *(shape[axis] for axis in order)), {})


@LAYERS("RepeatVector", "n")
def repeat_vector(config: Config, inputs: Shapes, call: Config) -> Built:
    """One vector, n times."""
    shape = inputs[0]
    return Built((shape[0], config.dim("n"), shape[1]) if shape and len(shape) == 2 else None, {})


@LAYERS("Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianDropout AlphaDropout", "rate")
@LAYERS("GaussianNoise", "stddev")
@LAYERS("Activation", "activation")
@LAYERS("ReLU", "max_value negative_slope threshold")
@LAYERS("LeakyReLU", "negative_slope")
@LAYERS("ELU", "alpha")
@LAYERS("ThresholdedReLU", "theta")
@LAYERS("Softmax UnitNormalization", "axis")
@LAYERS("ActivityRegularization", "l1 l2")
@LAYERS("Masking", "mask_value")
@LAYERS("Identity InputLayer Input Flip")
def unchanged(config: Config, inputs: Shapes, call: Config) -> Built:
    """The shape that came in, and no weights."""
    return Built(inputs[0], {})


@LAYERS("PReLU", "alpha_initializer alpha_regularizer alpha_constraint shared_axes")
def prelu(config: Config, inputs: Shapes, call: Config) -> Built:
    """A slope for every element, except along shared axes."""
    shape, shared = inputs[0], config.get("shared_axes")
    if shape is None or shared is UNSURE:
        return Built(shape)
    axes = (shared,) if isinstance(shared, int) else shared or ()
    alpha = tuple(Const(1) if axis in axes else dim for axis, dim in enumerate(shape) if axis)
    return Built(shape, {"alpha": alpha})


@LAYERS("BatchNormalization SyncBatchNormalization", "axis momentum epsilon center scale")
def batch_normalization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Scale and offset, and the moving statistics, one number per channel each."""
    shape = inputs[0]
    axis = config.get("axis", -1)
    index = axis_of(axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis, len(shape or ()))
    center, scale = config.flag("center", True), config.flag("scale", True)
    if shape is None or index is None or center is None or scale is None:
        return Built(shape)
    per_channel: Shape = (shape[index],)
    names = ["gamma"] * scale + ["beta"] * center + ["moving_mean", "moving_variance"]
    return Built(shape, dict.fromkeys(names, per_channel))


@LAYERS("LayerNormalization", "axis epsilon center scale rms_scaling")
def layer_normalization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Scale and offset over the normalised axes."""
    shape, axis = inputs[0], config.get("axis", -1)
    center, scale = config.flag("center", True), config.flag("scale", True)
    if shape is None or axis is UNSURE or center is None or scale is None:
        return Built(shape)
    indices = [axis_of(item, len(shape)) for item in (axis if isinstance(axis, tuple) else (axis,))]
    over: Shape = tuple(None if index is None else shape[index] for index in indices)
    names = ["gamma"] * scale + ["beta"] * (center and "rms_scaling" not in config.values)
    return Built(shape, dict.fromkeys(names, over))


@LAYERS("RMSNormalization", "axis epsilon")
def rms_normalization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Like layer normalisation, with a scale only."""
    built = layer_normalization(config, inputs, call)
    return Built(built.output, built.weights and {"scale": built.weights["gamma"]})


@LAYERS("GroupNormalization", "groups axis epsilon center scale")
def group_normalization(config: Config, inputs: Shapes, call: Config) -> Built:
    """Scale and offset per channel."""
    shape = inputs[0]
    index = axis_of(config.get("axis", -1), len(shape or ()))
    center, scale = config.flag("center", True), config.flag("scale", True)
    if shape is None or index is None or center is None or scale is None:
        return Built(shape)
    return Built(shape, dict.fromkeys(["gamma"] * scale + ["beta"] * center, (shape[index],)))

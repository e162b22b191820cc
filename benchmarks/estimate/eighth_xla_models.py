"""An eighth set for the rules for XLA, written before anything of it was compiled: kinds that none of the seven has.

Networks of several resolutions and paths, heads with distances and stages, steps of their own of many sorts, tokens of
columns, fields and variables, sound by statistics, graphs with distances, flows. Named by what each is.
"""

import itertools

import keras
import tensorflow as tf
from fifth_look_models import _stepped
from fourth_look_models import _attended, _yes_no
from keras import layers, ops
from models import Case, Positions, _add
from sixth_look_models import _out
from third_look_models import _bn, _classes, _labelled, _logits, _values

# Pictures


@_add
def network_in_network():
    """Pointwise layers behind each convolution, no dense layer at all."""
    i = x = keras.Input((32, 32, 3))
    for side, widths in ((5, (192, 160, 96)), (5, (192, 192, 192))):
        for place, width in enumerate(widths):
            x = layers.Conv2D(width, 1 if place else side, padding="same", activation="relu")(x)
        x = layers.Dropout(0.5)(layers.MaxPooling2D(3, 2, "same")(x))
    for side, width in ((3, 192), (1, 192), (1, 100)):
        x = layers.Conv2D(width, side, padding="same", activation="relu")(x)
    x = layers.Softmax(dtype="float32")(layers.GlobalAveragePooling2D()(x))
    return _labelled(keras.Model(i, x))


@_add
def scales_within_blocks():
    """Bottlenecks whose middle is four parts, each added to the next before its convolution."""
    i = keras.Input((96, 96, 3))
    x = layers.MaxPooling2D(3, 2, "same")(_bn(i, 48, 7, strides=2))
    for width, step in ((96, 1), (192, 2), (384, 2)):
        for turn in range(2):
            stride = step if turn == 0 else 1
            y = _bn(x, width // 2, 1, strides=stride)
            parts = ops.split(y, 4, axis=-1)
            made = [parts[0]]
            for part in parts[1:]:
                made.append(_bn(part if len(made) == 1 else part + made[-1], width // 8))
            y = _bn(layers.concatenate(made), width, 1, None)
            short = _bn(x, width, 1, None, strides=stride) if x.shape != y.shape else x
            x = layers.ReLU()(y + short)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def gathered_once():
    """Five convolutions one after the other, all of them joined once at the end of the block."""
    i = keras.Input((112, 112, 3))
    x = _bn(_bn(i, 32, strides=2), 64)
    for inner, width in ((48, 112), (64, 192), (80, 256)):
        kept, y = [x], x
        for _ in range(4):
            y = _bn(y, inner)
            kept.append(y)
        y = _bn(layers.concatenate(kept), width, 1)
        gate = layers.Dense(width, activation="hard_sigmoid")(layers.GlobalAveragePooling2D()(y))
        x = layers.MaxPooling2D(3, 2, "same")(y * layers.Reshape((1, 1, width))(gate))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 50)


@_add
def three_ways_summed():
    """Three by three, one by one and nothing, each normalized, summed: a plain network when it is done."""
    i = x = keras.Input((64, 64, 3))
    for width, step in ((48, 1), (48, 1), (96, 2), (96, 1), (192, 2), (192, 1)):
        ways = [_bn(x, width, 3, None, strides=step), _bn(x, width, 1, None, strides=step)]
        if step == 1 and x.shape[-1] == width:
            ways.append(layers.BatchNormalization()(x))
        x = layers.ReLU()(layers.Add()(ways))
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def gates_along_sides():
    """Inverted residuals whose gates are means along the height and the width, by one convolution."""
    i = keras.Input((96, 96, 3))
    x = _bn(i, 24, strides=2, activation="hard_swish")
    for width, step in ((24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        y = _bn(x, 4 * x.shape[-1], 1, "hard_swish")
        y = layers.DepthwiseConv2D(5, step, padding="same", use_bias=False)(y)
        y = layers.Activation("hard_swish")(layers.BatchNormalization()(y))
        side, wide = y.shape[1], y.shape[-1]
        down, right = ops.mean(y, axis=2), ops.mean(y, axis=1)
        z = layers.Conv1D(max(wide // 16, 8), 1, use_bias=False)(ops.concatenate([down, right], axis=1))
        z = layers.Activation("hard_swish")(layers.BatchNormalization()(z))
        down, right = ops.split(z, 2, axis=1)
        down = layers.Reshape((side, 1, wide))(layers.Conv1D(wide, 1, activation="sigmoid")(down))
        right = layers.Reshape((1, side, wide))(layers.Conv1D(wide, 1, activation="sigmoid")(right))
        y = _bn(y * down * right, width, 1, None)
        x = x + y if x.shape == y.shape else y
    x = layers.GlobalAveragePooling2D()(_bn(x, 320, 1, "hard_swish"))
    return _classes(i, layers.Dropout(0.2)(x), 100)


@_add
def convolutions_then_relative():
    """Two stages of inverted convolutions, two of attention with a learned number for each offset."""

    class Relative(layers.Layer):
        def __init__(self, heads, side, **options):
            super().__init__(**options)
            self.heads, self.side = heads, side

        def build(self, shape):
            self.table = self.add_weight(
                shape=((2 * self.side - 1) ** 2, self.heads), initializer="normal", name="table"
            )
            self.made = layers.Dense(3 * shape[-1])
            self.out = layers.Dense(shape[-1])
            self.made.build(shape)
            self.out.build(shape)

        def call(self, x):
            count, wide = self.side**2, x.shape[-1]
            parts = ops.reshape(self.made(x), (-1, count, 3, self.heads, wide // self.heads))
            q, k, v = ops.unstack(ops.transpose(parts, (2, 0, 3, 1, 4)), axis=0)
            at = ops.arange(count)
            row, column = at // self.side, at % self.side
            apart = (row[:, None] - row + self.side - 1) * (2 * self.side - 1)
            apart = apart + column[:, None] - column + self.side - 1
            bias = ops.transpose(ops.take(ops.cast(self.table, x.dtype), apart, axis=0), (2, 0, 1))
            scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) * (wide // self.heads) ** -0.5 + bias
            x = ops.matmul(ops.softmax(scores), v)
            return self.out(ops.reshape(ops.swapaxes(x, 1, 2), (-1, count, wide)))

    i = keras.Input((96, 96, 3))
    x = _bn(i, 32, strides=2, activation="gelu")
    for width, step in ((48, 2), (48, 1), (96, 2)):
        y = layers.BatchNormalization()(x)
        y = _bn(y, 4 * width, 1, "gelu", strides=step)
        y = layers.Activation("gelu")(
            layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y))
        )
        y = layers.Conv2D(width, 1)(y)
        short = layers.MaxPooling2D(2)(x) if step == 2 else x
        x = y + (layers.Conv2D(width, 1)(short) if short.shape[-1] != width else short)
    x = layers.Reshape((144, 96))(x)
    for _ in range(2):
        x = x + Relative(3, 12)(layers.LayerNormalization()(x))
        y = layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(96)(y)
    return _classes(i, layers.GlobalAveragePooling1D()(x), 100)


@_add
def modulated_by_surroundings():
    """Depthwise convolutions of growing size, gated and summed, multiply a query in place of attention."""
    i = keras.Input((64, 64, 3))
    x = layers.LayerNormalization()(layers.Conv2D(64, 4, 4)(i))
    for width in (64, 128):
        if width != x.shape[-1]:
            x = layers.LayerNormalization()(layers.Conv2D(width, 2, 2)(x))
        for _ in range(2):
            y = layers.Dense(2 * width + 4)(layers.LayerNormalization()(x))
            q, y, gates = y[..., :width], y[..., width : 2 * width], y[..., 2 * width :]
            total = 0
            for level in range(3):
                y = layers.Activation("gelu")(
                    layers.DepthwiseConv2D(3 + 2 * level, padding="same", use_bias=False)(y)
                )
                total = total + y * gates[..., level : level + 1]
            far = ops.gelu(ops.mean(y, axis=(1, 2), keepdims=True))
            total = total + far * gates[..., 3:]
            x = x + layers.Dense(width)(q * layers.Conv2D(width, 1)(total))
            z = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
            x = x + layers.Dropout(0.1)(layers.Dense(width)(z))
    return _classes(i, layers.GlobalAveragePooling2D()(layers.LayerNormalization()(x)), 100)


@_add
def affine_perceptrons():
    """Patches mixed by dense layers, scaled and shifted in place of normalization."""

    class Affine(layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
            self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros", name="shift")

        def call(self, x):
            return x * ops.cast(self.scale, x.dtype) + ops.cast(self.shift, x.dtype)

    i = keras.Input((128, 128, 3))
    x = layers.Reshape((256, 192))(layers.Conv2D(192, 8, 8)(i))
    for _ in range(5):
        y = layers.Permute((2, 1))(layers.Dense(256)(layers.Permute((2, 1))(Affine()(x))))
        x = x + Affine()(y)
        y = layers.Dense(192)(layers.Dense(768, activation="gelu")(Affine()(x)))
        x = x + Affine()(y)
    return _classes(i, layers.GlobalAveragePooling1D()(Affine()(x)), 100)


@_add
def smoothed_before_strides():
    """A residual network that smooths with a fixed kernel before it leaves every second pixel out."""

    class Smoothed(layers.Layer):
        def call(self, x):
            line = ops.convert_to_tensor([1.0, 2.0, 1.0], dtype=x.dtype) / 4
            kernel = ops.tile((line[:, None] * line)[:, :, None, None], (1, 1, x.shape[-1], 1))
            return ops.depthwise_conv(x, kernel, strides=2, padding="same")

    i = keras.Input((96, 96, 3))
    x = Smoothed()(layers.MaxPooling2D(2, 1, "same")(_bn(i, 48)))
    for width, step in ((48, 1), (96, 2), (192, 2)):
        y = _bn(x, width)
        y, short = (Smoothed()(y), Smoothed()(x)) if step == 2 else (y, x)
        y = _bn(y, width, 3, None)
        short = short if short.shape == y.shape else _bn(short, width, 1, None)
        x = layers.ReLU()(y + short)
    return _classes(i, layers.GlobalAveragePooling2D()(x), 100)


@_add
def factored_segmentation():
    """Road scenes: kernels of three by one and one by three, dilated, whole channels dropped."""

    def block(x, rate, dilation):
        y, width = x, x.shape[-1]
        for step in (1, dilation):
            y = layers.Conv2D(width, (3, 1), padding="same", dilation_rate=(step, 1), activation="relu")(y)
            y = _bn(y, width, (1, 3), dilation_rate=(1, step))
        return layers.ReLU()(x + layers.SpatialDropout2D(rate)(y))

    def smaller(x, width):
        y = layers.Conv2D(width - x.shape[-1], 3, 2, "same")(x)
        y = layers.concatenate([y, layers.MaxPooling2D()(x)])
        return layers.ReLU()(layers.BatchNormalization()(y))

    i = keras.Input((128, 192, 3))
    x = smaller(smaller(i, 16), 64)
    for _ in range(2):
        x = block(x, 0.03, 1)
    x = smaller(x, 128)
    for dilation in (2, 4, 8):
        x = block(x, 0.3, dilation)
    for width in (64, 16):
        x = layers.Conv2DTranspose(width, 3, 2, "same", activation="relu")(x)
        x = block(x, 0.0, 1)
    out = layers.Conv2DTranspose(20, 2, 2, dtype="float32")(x)
    return _labelled(keras.Model(i, out), (128, 192), _logits())


@_add
def all_resolutions_at_once():
    """Three resolutions side by side that exchange what they have; joints as heat maps."""

    def exchanged(ways):
        made = []
        for at, wanted in enumerate(ways):
            total = wanted
            for there, x in enumerate(ways):
                if there > at:
                    x = layers.UpSampling2D(2 ** (there - at))(_bn(x, wanted.shape[-1], 1, None))
                elif there < at:
                    for _ in range(at - there):
                        x = _bn(x, wanted.shape[-1], 3, None, strides=2)
                else:
                    continue
                total = total + x
            made.append(layers.ReLU()(total))
        return made

    def basic(x):
        return layers.ReLU()(_bn(_bn(x, x.shape[-1]), x.shape[-1], 3, None) + x)

    i = keras.Input((128, 96, 3))
    x = _bn(_bn(i, 48, strides=2), 48, strides=2)
    ways = [_bn(x, 32), _bn(x, 64, strides=2)]
    ways = exchanged([basic(one) for one in ways])
    ways = [*ways, _bn(ways[-1], 128, strides=2)]
    ways = exchanged([basic(one) for one in ways])
    out = layers.Conv2D(17, 1, dtype="float32")(ways[0])
    return _values(keras.Model(i, out))


@_add
def unets_in_a_unet():
    """What stands out in a picture: each level is a small U-Net with a shortcut; answers at each size."""

    def inner(x, middle, width, depth):
        x = first = _bn(x, width)
        kept = []
        for _ in range(depth):
            x = _bn(x, middle)
            kept.append(x)
            x = layers.MaxPooling2D(2, padding="same")(x)
        x = _bn(x, middle, dilation_rate=2)
        for at, short in enumerate(reversed(kept)):
            x = layers.UpSampling2D(interpolation="bilinear")(x)
            x = _bn(layers.concatenate([x, short]), width if at == depth - 1 else middle)
        return x + first

    i = x = keras.Input((128, 128, 3))
    kept = []
    for middle, width, depth in ((16, 32, 3), (16, 48, 2)):
        x = inner(x, middle, width, depth)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = inner(x, 32, 64, 2)
    sides = [layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(1, 3, padding="same")(x))]
    for short, scale in zip(reversed(kept), (2, 1)):
        x = layers.concatenate([layers.UpSampling2D(interpolation="bilinear")(x), short])
        x = inner(x, 16, 32, 2)
        side = layers.Conv2D(1, 3, padding="same")(x)
        sides.append(layers.UpSampling2D(scale, interpolation="bilinear")(side) if scale > 1 else side)
    sides.append(layers.Conv2D(1, 1)(layers.concatenate(sides)))
    out = layers.Activation("sigmoid", dtype="float32")(layers.concatenate(sides))

    def loss(wanted, found):
        return ops.sum(
            ops.mean(ops.binary_crossentropy(ops.tile(wanted, (1, 1, 1, 4)), found), axis=(0, 1, 2))
        )

    return Case(keras.Model(i, out), loss, [((128, 128, 3), "float32")], ((128, 128, 1), "float32"))


@_add
def boxes_by_distances():
    """Each place tells how far its box's sides are and how near it is to the middle; boxes compared as a whole."""

    class Scale(layers.Layer):
        def build(self, shape):
            self.part = self.add_weight(shape=(), initializer="ones", name="part")

        def call(self, x):
            return ops.exp(ops.cast(self.part, x.dtype) * x)

    def tower(x, shared):
        for conv, norm in shared:
            x = layers.ReLU()(norm(conv(x)))
        return x

    i = keras.Input((160, 160, 3))
    x, kept = _bn(i, 32, strides=2), []
    for width in (48, 96, 192):
        x = _bn(_bn(x, width, strides=2), width)
        kept.append(x)
    tops, top = [], None
    for one in reversed(kept):
        side = layers.Conv2D(80, 1)(one)
        top = side if top is None else side + layers.UpSampling2D()(top)
        tops.append(layers.Conv2D(80, 3, padding="same")(top))
    shared = [
        [(layers.Conv2D(80, 3, padding="same"), layers.GroupNormalization(16)) for _ in range(2)]
        for _ in range(2)
    ]
    kind, near, far = (layers.Conv2D(count, 3, padding="same") for count in (20, 1, 4))
    parts = []
    for one in tops:
        a, b = (tower(one, those) for those in shared)
        made = layers.concatenate([kind(a), near(b), Scale()(far(b))])
        parts.append(layers.Reshape((-1, 25))(made))
    out = _out(layers.concatenate(parts, axis=1))

    def loss(wanted, found):
        found_kind, found_near, a = found[..., :20], found[..., 20:21], found[..., 21:]
        kind, near, b = wanted[..., :20], wanted[..., 20:21], wanted[..., 21:]
        there = ops.max(kind, axis=-1)
        part = ops.sigmoid(found_kind)
        hard = kind * 0.25 * ops.square(1 - part) * -ops.log_sigmoid(found_kind)
        hard = hard + (1 - kind) * 0.75 * ops.square(part) * -ops.log_sigmoid(-found_kind)
        low, high = ops.minimum(a, b), ops.maximum(a, b)
        both = (low[..., 0] + low[..., 2]) * (low[..., 1] + low[..., 3])
        area = [(one[..., 0] + one[..., 2]) * (one[..., 1] + one[..., 3]) for one in (a, b, high)]
        union = area[0] + area[1] - both + 1e-6
        overlap = both / union - (area[2] - union) / (area[2] + 1e-6)
        middle = ops.binary_crossentropy(near, found_near, from_logits=True)[..., 0]
        total = ops.sum(hard) + ops.sum((1 - overlap + middle) * there)
        return total / ops.maximum(ops.sum(there), 1.0)

    return _values(keras.Model(i, out), loss)


@_add
def joints_in_stages():
    """Joints and limbs: each stage reads the picture's features and what the one before it found."""
    i = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
    features, outs = layers.Conv2D(64, 3, padding="same", activation="relu")(x), []
    x = features
    for stage in range(3):
        made = []
        for name, count in (("limbs", 26), ("joints", 15)):
            y = x
            for _ in range(3):
                y = layers.Conv2D(64, 7 if stage else 3, padding="same", activation="relu")(y)
            y = layers.Conv2D(128, 1, activation="relu")(y)
            made.append(layers.Conv2D(count, 1)(y))
            outs.append(_out(made[-1], f"{name}_{stage}"))
        x = layers.concatenate([features, *made])
    model = keras.Model(i, outs)
    shapes = [(tuple(one.shape[1:]), "float32") for one in model.outputs]
    return Case(model, ["mse"] * 6, [((128, 128, 3), "float32")], shapes)


@_add
def colours_as_classes():
    """Colours of a grey picture: dilated blocks, for each place one of 313 colours."""
    i = x = keras.Input((128, 128, 1))
    for width, rate in ((32, 1), (64, 1), (128, 1), (128, 2)):
        x = layers.Conv2D(width, 3, padding="same", dilation_rate=rate, activation="relu")(x)
        step = 2 if rate == 1 else 1
        x = layers.Conv2D(width, 3, step, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
    x = layers.Conv2DTranspose(64, 4, 2, "same", activation="relu")(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(313, 1, dtype="float32")(x)
    return _labelled(keras.Model(i, layers.Softmax(dtype="float32")(x)), (32, 32))


@_add
def text_in_scenes():
    """Words in photographs: features merged upward, a score, four distances and an angle for each place."""
    i = x = keras.Input((160, 160, 3))
    kept = []
    for width in (24, 48, 96, 160):
        x = _bn(_bn(x, width, strides=2), width)
        kept.append(x)
    for short, width in zip(reversed(kept[:-1]), (96, 48, 24)):
        x = layers.concatenate([layers.UpSampling2D(interpolation="bilinear")(x), short])
        x = _bn(_bn(x, width, 1), width)
    score = layers.Conv2D(1, 1, activation="sigmoid")(x)
    sides = layers.Conv2D(4, 1, activation="sigmoid")(x) * 160
    angle = (layers.Conv2D(1, 1, activation="sigmoid")(x) - 0.5) * 1.57
    out = _out(layers.concatenate([score, sides, angle]))

    def loss(wanted, found):
        there, part = wanted[..., 0], found[..., 0]
        dice = 1 - 2 * ops.sum(there * part) / (ops.sum(there) + ops.sum(part) + 1e-5)
        a, b = wanted[..., 1:5], found[..., 1:5]
        area = [(one[..., 0] + one[..., 2]) * (one[..., 1] + one[..., 3]) for one in (a, b)]
        low = ops.minimum(a, b)
        both = (low[..., 0] + low[..., 2]) * (low[..., 1] + low[..., 3])
        box = -ops.log((both + 1.0) / (area[0] + area[1] - both + 1.0))
        turned = 1 - ops.cos(found[..., 5] - wanted[..., 5])
        return ops.mean((box + 20 * turned) * there) + 0.01 * dice

    return _values(keras.Model(i, out), loss)


@_add
def flow_refined():
    """Motion between pictures: one convolutional recurrent cell improves it four times."""
    one, two = keras.Input((64, 96, 3)), keras.Input((64, 96, 3))
    i = x = keras.Input((64, 96, 3))
    x = _bn(_bn(x, 32, strides=2), 64, strides=2)
    tower = keras.Model(i, layers.Conv2D(64, 1)(x))
    a, b = tower(one), tower(two)
    flat_a, flat_b = layers.Reshape((384, 64))(a), layers.Reshape((384, 64))(b)
    pairs = layers.Reshape((16, 24, 384))(ops.matmul(flat_a, ops.swapaxes(flat_b, 1, 2)) / 8.0)
    state = layers.Activation("tanh")(layers.Conv2D(48, 3, padding="same")(a))
    motion = layers.Conv2D(48, 1, activation="relu")(pairs)
    read = layers.Conv2D(48, 3, padding="same", activation="relu")
    gates = layers.Conv2D(96, 3, padding="same", activation="sigmoid")
    new = layers.Conv2D(48, 3, padding="same", activation="tanh")
    head = [layers.Conv2D(64, 3, padding="same", activation="relu"), layers.Conv2D(2, 3, padding="same")]
    flow, outs = ops.zeros_like(a[..., :2]), []
    for _ in range(4):
        seen = layers.concatenate([read(layers.concatenate([motion, flow])), motion])
        keep, fresh = ops.split(gates(layers.concatenate([state, seen])), 2, axis=-1)
        made = new(layers.concatenate([fresh * state, seen]))
        state = (1 - keep) * state + keep * made
        flow = flow + head[1](head[0](state))
        outs.append(layers.UpSampling2D(4, interpolation="bilinear")(flow))
    out = _out(ops.stack(outs, axis=1))

    def loss(wanted, found):
        away = ops.mean(ops.abs(found - ops.expand_dims(wanted, 1)), axis=(0, 2, 3, 4))
        return ops.sum(away * ops.convert_to_tensor([0.512, 0.64, 0.8, 1.0]))

    return Case(
        keras.Model([one, two], out), loss,
        [((64, 96, 3), "float32"), ((64, 96, 3), "float32")], ((64, 96, 2), "float32"),
    )  # fmt: skip


@_add
def slices_of_a_volume():
    """Residual convolutions of a scan's volume, to four grades, in three dimensions."""
    i = x = keras.Input((32, 64, 64, 1))
    x = layers.Conv3D(16, 5, (1, 2, 2), "same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for width, step in ((16, 1), (32, 2), (64, 2)):
        y = layers.Conv3D(width, 3, step, "same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv3D(width, 3, padding="same", use_bias=False)(y))
        short = x if step == 1 else layers.Conv3D(width, 1, step, use_bias=False)(x)
        x = layers.ReLU()(y + short)
    return _classes(i, layers.Dropout(0.3)(layers.GlobalAveragePooling3D()(x)), 4)


# Pictures by steps of their own


class Translated(keras.Model):
    """Pictures to pictures with a judge of patches that sees both, and the distance to what was wanted."""

    writer = judge = second = None

    def train_step(self, data):
        x, wanted = data
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        with tf.GradientTape() as ours, tf.GradientTape() as theirs:
            made = self.writer(x, training=True)
            true, false = (self.judge([x, one], training=True) for one in (wanted, made))
            written = tf.reduce_mean(entropy(tf.ones_like(false), false))
            written += 100.0 * tf.reduce_mean(tf.abs(wanted - made))
            judged = tf.reduce_mean(entropy(tf.ones_like(true), true))
            judged += tf.reduce_mean(entropy(tf.zeros_like(false), false))
        for tape, loss, model, optimizer in (
            (ours, written, self.writer, self.optimizer),
            (theirs, judged, self.judge, self.second),
        ):
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return {"g": written, "d": judged}


@_add
def translated_with_a_judge():
    i = x = keras.Input((128, 128, 3))
    kept = []
    for width in (32, 64, 128, 256):
        x = layers.Conv2D(width, 4, 2, "same", use_bias=False)(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
        kept.append(x)
    for short in reversed(kept[:-1]):
        x = layers.Conv2DTranspose(short.shape[-1], 4, 2, "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.concatenate([x, short])
    writer = keras.Model(i, layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh")(x))
    a, b = keras.Input((128, 128, 3)), keras.Input((128, 128, 3))
    x = layers.concatenate([a, b])
    for width in (32, 64, 128):
        x = layers.LeakyReLU(negative_slope=0.2)(layers.Conv2D(width, 4, 2, "same")(x))
    judge = keras.Model([a, b], layers.Conv2D(1, 4)(layers.ZeroPadding2D()(x)))
    model = Translated(i, writer(i))
    model.writer, model.judge, model.second = writer, judge, keras.optimizers.Adam(2e-4, beta_1=0.5)
    model.second.build(judge.trainable_variables)
    return _stepped(model, ((128, 128, 3), "float32"), y=((128, 128, 3), "float32"))


class Perceived(keras.Model):
    """Enlarged pictures, compared by what a frozen network sees in them."""

    seen = None

    def train_step(self, data):
        small, large = data
        wanted = self.seen(large, training=False)
        with tf.GradientTape() as tape:
            made = self(small, training=True)
            loss = tf.reduce_mean(tf.square(self.seen(made, training=False) - wanted))
            loss += 0.01 * tf.reduce_mean(tf.abs(large - made))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def enlarged_as_perceived():
    i = keras.Input((24, 24, 3))
    x = first = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(64, 9, padding="same")(i))
    for _ in range(4):
        y = layers.PReLU(shared_axes=[1, 2])(_bn(x, 64, 3, None))
        x = x + _bn(y, 64, 3, None)
    x = _bn(x, 64, 3, None) + first
    for _ in range(2):
        x = layers.Conv2D(128, 3, padding="same")(x)
        x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2DTranspose(64, 3, 2, "same")(x))
    model = Perceived(i, layers.Conv2D(3, 9, padding="same", activation="tanh")(x))
    i = x = keras.Input((96, 96, 3))
    for width in (64, 128):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    model.seen = keras.Model(i, layers.Conv2D(256, 3, padding="same", activation="relu")(x))
    model.seen.trainable = False
    return _stepped(model, ((24, 24, 3), "float32"), y=((96, 96, 3), "float32"))


class Hinted(keras.Model):
    """A small network follows a large one's features and what it attends to, besides the labels."""

    teacher = fitted = None

    def train_step(self, data):
        x, y = data
        theirs, soft = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            ours, found = self(x, training=True)
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(y, found, from_logits=True)
                + 16.0 * keras.losses.kl_divergence(tf.nn.softmax(soft / 4), tf.nn.softmax(found / 4))
            )
            loss += tf.reduce_mean(tf.square(self.fitted(ours, training=True) - theirs))
            seen = [
                tf.math.l2_normalize(tf.reduce_mean(tf.square(one), axis=3), axis=(1, 2))
                for one in (ours, theirs)
            ]
            loss += tf.reduce_mean(tf.square(seen[0] - seen[1]))
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}


@_add
def followed_features():
    def network(widths):
        i = x = keras.Input((32, 32, 3))
        for width in widths:
            y = _bn(_bn(x, width, strides=1 if x is i else 2), width, 3, None)
            short = _bn(x, width, 1, None, strides=1 if x is i else 2)
            x = layers.ReLU()(y + short)
        return i, [x, layers.Dense(100)(layers.GlobalAveragePooling2D()(x))]

    teacher = keras.Model(*network((64, 128, 256)))
    teacher.trainable = False
    model = Hinted(*network((16, 32, 64)))
    z = keras.Input((8, 8, 64))
    model.teacher, model.fitted = teacher, keras.Model(z, layers.Conv2D(256, 1)(z))
    return _stepped(model, ((32, 32, 3), "float32"), y=((), "int32"))


class Guessed(keras.Model):
    """Few labels: where the network is sure of a picture, its answer is the label of a changed one."""

    def train_step(self, data):
        (labelled, weak, strong), y = data
        with tf.GradientTape() as tape:
            found = self([labelled, weak, strong], training=True)
            sure, label = tf.stop_gradient(tf.nn.softmax(found[1])), tf.argmax(found[1], axis=-1)
            mask = tf.cast(tf.reduce_max(sure, axis=-1) > 0.95, tf.float32)
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
            loss = tf.reduce_mean(entropy(y, found[0])) + tf.reduce_mean(mask * entropy(label, found[2]))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def sure_enough():
    i = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(i)
    for width, step in ((32, 1), (64, 2), (128, 2)):
        for turn in range(2):
            y = layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(x))
            short = y if turn == 0 else x
            y = layers.Conv2D(width, 3, step if turn == 0 else 1, "same", use_bias=False)(y)
            y = layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(y))
            y = layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
            if short.shape != y.shape:
                short = layers.Conv2D(width, 1, step, use_bias=False)(short)
            x = short + y
    x = layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(x))
    tower = keras.Model(i, layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D()(x)))
    three = [keras.Input((32, 32, 3)) for _ in range(3)]
    model = Guessed(three, [tower(one) for one in three])
    return _stepped(model, *[((32, 32, 3), "float32")] * 3, y=((), "int32"))


class Assigned(keras.Model):
    """Two views of a picture, each told to which prototypes the other belongs, equally many to each."""

    def train_step(self, data):
        one, two = data
        with tf.GradientTape() as tape:
            scores = [self(x, training=True) for x in (one, two)]
            loss = 0.0
            for found, other in (scores, scores[::-1]):
                share = tf.transpose(tf.exp(tf.stop_gradient(other) / 0.05))
                share /= tf.reduce_sum(share)
                for _ in range(3):
                    share /= tf.reduce_sum(share, axis=1, keepdims=True) * share.shape[0]
                    share /= tf.reduce_sum(share, axis=0, keepdims=True) * found.shape[0]
                share = tf.transpose(share * found.shape[0])
                loss -= tf.reduce_mean(tf.reduce_sum(share * tf.nn.log_softmax(found / 0.1), axis=1))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def prototypes():
    i = x = keras.Input((64, 64, 3))
    for width in (48, 96, 192):
        x = _bn(_bn(x, width, strides=2), width)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(512)(x)))
    x = layers.UnitNormalization(dtype="float32")(layers.Dense(128)(x))
    model = Assigned(i, layers.Dense(1000, use_bias=False, dtype="float32")(x))
    return _stepped(model, ((64, 64, 3), "float32"), y=((64, 64, 3), "float32"))


class Turned(layers.Layer):
    """The gradient with the other sign."""

    def call(self, x):
        @tf.custom_gradient
        def turned(value):
            return tf.identity(value), lambda gradient: -0.3 * gradient

        return turned(x)

    def compute_output_shape(self, shape):
        return shape


@_add
def two_domains():
    """Digits of two kinds: what tells the kinds apart is unlearned while the classes are learned."""
    i = x = keras.Input((32, 32, 3))
    for width in (64, 64, 128):
        x = layers.Conv2D(width, 5, padding="same")(x)
        x = layers.MaxPooling2D(3, 2, "same")(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.Flatten()(x)
    kind = layers.Dense(10, name="kind", activation="softmax", dtype="float32")(
        layers.Dropout(0.5)(layers.Dense(1024, activation="relu")(x))
    )
    domain = layers.Dense(1, name="domain", activation="sigmoid", dtype="float32")(
        layers.Dense(512, activation="relu")(Turned()(x))
    )
    loss = ["sparse_categorical_crossentropy", "binary_crossentropy"]
    return Case(
        keras.Model(i, [kind, domain]), loss, [((32, 32, 3), "float32")], [((), "int32"), ((1,), "float32")]
    )


class Conditioned(keras.Model):
    """Noise is taken off pictures that words describe; one in ten without the words; an average is kept."""

    average = None

    def train_step(self, data):
        (x, words), _ = data
        count = x.shape[0]
        time = tf.random.uniform((count, 1), 0.0, 1.0)
        level = tf.cos(time * 1.5708)[:, :, None, None]
        noise = tf.random.normal(tf.shape(x))
        dirty = level * x + tf.sqrt(1 - tf.square(level)) * noise
        words = tf.where(tf.random.uniform((count, 1, 1)) < 0.1, 0.0, words)
        with tf.GradientTape() as tape:
            found = tf.cast(self([dirty, words, time], training=True), tf.float32)
            loss = tf.reduce_mean(tf.square(found - noise))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        for ours, kept in zip(self.trainable_variables, self.average.trainable_variables):
            kept.assign(0.999 * kept + 0.001 * ours)
        return {"loss": loss}


@_add
def pictures_from_words():
    def network():
        i, words, time = keras.Input((32, 32, 4)), keras.Input((24, 128)), keras.Input((1,))
        t = layers.Dense(128, activation="silu")(ops.sin(time * ops.exp(ops.arange(64, dtype="float32") / 8)))

        def block(x, width):
            y = layers.Conv2D(width, 3, padding="same")(ops.silu(layers.GroupNormalization(8)(x)))
            y = y + layers.Reshape((1, 1, width))(layers.Dense(width)(t))
            y = layers.Conv2D(width, 3, padding="same")(ops.silu(layers.GroupNormalization(8)(y)))
            return y + (x if x.shape[-1] == width else layers.Conv2D(width, 1)(x))

        def look(x):
            side, width = x.shape[1], x.shape[-1]
            y = layers.Reshape((side * side, width))(layers.GroupNormalization(8)(x))
            y = y + layers.MultiHeadAttention(4, width // 4)(*[layers.LayerNormalization()(y)] * 2)
            y = y + layers.MultiHeadAttention(4, width // 4)(layers.LayerNormalization()(y), words)
            a, b = ops.split(layers.Dense(4 * width)(layers.LayerNormalization()(y)), 2, axis=-1)
            y = y + layers.Dense(width)(a * ops.gelu(b))
            return x + layers.Conv2D(width, 1)(layers.Reshape((side, side, width))(y))

        x = layers.Conv2D(64, 3, padding="same")(i)
        a = block(x, 64)
        b = look(block(layers.Conv2D(64, 3, 2, "same")(a), 128))
        c = look(block(layers.Conv2D(128, 3, 2, "same")(b), 128))
        x = look(block(layers.concatenate([layers.UpSampling2D()(c), b]), 128))
        x = block(layers.concatenate([layers.UpSampling2D()(x), a]), 64)
        x = ops.silu(layers.GroupNormalization(8)(x))
        return [i, words, time], layers.Conv2D(4, 3, padding="same", dtype="float32")(x)

    model = Conditioned(*network())
    model.average = keras.Model(*network())
    model.average.trainable = False
    return _stepped(model, ((32, 32, 4), "float32"), ((24, 128), "float32"), y=((1,), "float32"))


class Episodes(keras.Model):
    """Few samples of each class: their mean is the class, and others are told by their distance to it."""

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            z = tf.reshape(self(x, training=True), (20, 10, -1))
            middle, asked = tf.reduce_mean(z[:, :5], axis=1), tf.reshape(z[:, 5:], (100, -1))
            far = tf.reduce_sum(tf.square(asked[:, None] - middle), axis=-1)
            label = tf.repeat(tf.range(20), 5)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(label, -far))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def few_of_each():
    i = x = keras.Input((84, 84, 3))
    for _ in range(4):
        x = layers.MaxPooling2D()(_bn(x, 64))
    return _stepped(
        Episodes(i, layers.Flatten(dtype="float32")(x)), ((84, 84, 3), "float32"), y=((), "int32")
    )


@_add
def invertible_steps():
    """Pictures to noise: channels mixed by a square matrix, halves shifted and scaled by the other halves."""

    class Step(layers.Layer):
        def __init__(self, width, **options):
            super().__init__(**options)
            self.net = [
                layers.Conv2D(128, 3, padding="same", activation="relu"),
                layers.Conv2D(128, 1, activation="relu"),
                layers.Conv2D(2 * width, 3, padding="same", kernel_initializer="zeros"),
            ]
            self.width = width

        def build(self, shape):
            wide = shape[-1]
            self.scale = self.add_weight(shape=(wide,), initializer="ones", name="scale")
            self.shift = self.add_weight(shape=(wide,), initializer="zeros", name="shift")
            self.low = self.add_weight(shape=(wide, wide), initializer="normal", name="low")
            self.high = self.add_weight(shape=(wide, wide), initializer="normal", name="high")
            inner = (*shape[:-1], wide // 2)
            for one in self.net:
                one.build(inner)
                inner = one.compute_output_shape(inner)

        def call(self, x):
            wide, side = x.shape[-1], x.shape[1]
            x = (x + self.shift) * self.scale
            mixed = ops.matmul(ops.tril(self.low, -1) + ops.eye(wide), ops.triu(self.high))
            x = ops.conv(x, mixed[None, None], padding="valid")
            a, b = ops.split(x, 2, axis=-1)
            y = a
            for one in self.net:
                y = one(y)
            shift, scale = ops.split(y, 2, axis=-1)
            scale = ops.sigmoid(scale + 2.0)
            diagonal = ops.sum(ops.log(ops.abs(ops.diagonal(self.high)) + 1e-6))
            fixed = ops.sum(ops.log(ops.abs(self.scale) + 1e-6))
            self.add_loss(
                -ops.mean(ops.sum(ops.log(scale), axis=(1, 2, 3))) - side * side * (diagonal + fixed)
            )
            return ops.concatenate([a, (b + shift) * scale], axis=-1)

    i = x = keras.Input((32, 32, 3))
    outs = []
    for level in range(2):
        side, wide = x.shape[1] // 2, x.shape[-1]
        x = ops.transpose(ops.reshape(x, (-1, side, 2, side, 2, wide)), (0, 1, 3, 2, 4, 5))
        x = ops.reshape(x, (-1, side, side, 4 * wide))
        for _ in range(3):
            x = Step(2 * wide)(x)
        if level == 0:
            x, left = ops.split(x, 2, axis=-1)
            outs.append(layers.Flatten()(left))
    out = _out(layers.concatenate([*outs, layers.Flatten()(x)]))

    def loss(wanted, found):
        return 0.5 * ops.mean(ops.sum(ops.square(found), axis=-1))

    return Case(keras.Model(i, out), loss, [((32, 32, 3), "float32")], ((1,), "float32"))


@_add
def kernels_between_codes():
    """An autoencoder whose codes are compared with drawn ones by a kernel: all pairs of a batch."""

    class Compared(layers.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.seeds = keras.random.SeedGenerator(3)

        def call(self, z):
            drawn = keras.random.normal(ops.shape(z), seed=self.seeds)

            def near(a, b):
                far = ops.sum(ops.square(ops.expand_dims(a, 1) - b), axis=-1)
                return sum(ops.mean(scale / (scale + far)) for scale in (2.0, 16.0, 128.0))

            self.add_loss(10.0 * (near(z, z) + near(drawn, drawn) - 2 * near(z, drawn)))
            return z

    i = x = keras.Input((64, 64, 3))
    for width in (32, 64, 128, 256):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(width, 4, 2, "same")(x)))
    z = Compared(dtype="float32")(layers.Dense(64)(layers.Flatten()(x)))
    x = layers.Reshape((8, 8, 256))(layers.Dense(16384, activation="relu")(z))
    for width in (128, 64):
        x = layers.Conv2DTranspose(width, 4, 2, "same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    out = layers.Conv2DTranspose(3, 4, 2, "same", activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, out))


# Text


@_add
def side_by_side():
    """A decoder whose attention and perceptron read the same norm and are added at once; half of each head turns."""

    class Turning(layers.Layer):
        def __init__(self, heads, **options):
            super().__init__(**options)
            self.heads = heads

        def build(self, shape):
            self.made = layers.Dense(3 * shape[-1], use_bias=False)
            self.out = layers.Dense(shape[-1], use_bias=False)
            self.made.build(shape)
            self.out.build(shape)

        def call(self, x):
            count, wide = x.shape[1], x.shape[-1]
            size = wide // self.heads
            parts = ops.reshape(self.made(x), (-1, count, 3, self.heads, size))
            q, k, v = (parts[:, :, at] for at in range(3))
            speed = ops.exp(-9.2 * ops.arange(0, size // 2, 2, dtype="float32") / (size // 2))
            angle = ops.arange(count, dtype="float32")[:, None] * speed
            sin, cos = (ops.cast(one(angle), x.dtype)[:, None] for one in (ops.sin, ops.cos))

            def turn(one):
                turned, left = one[..., : size // 2], one[..., size // 2 :]
                a, b = ops.split(turned, 2, axis=-1)
                return ops.concatenate([a * cos - b * sin, b * cos + a * sin, left], axis=-1)

            scores = ops.einsum("bihd,bjhd->bhij", turn(q), turn(k)) * size**-0.5
            mask = ops.arange(count)[:, None] >= ops.arange(count)
            scores = ops.where(mask, ops.cast(scores, "float32"), -1e9)
            x = ops.einsum("bhij,bjhd->bihd", ops.cast(ops.softmax(scores), v.dtype), v)
            return self.out(ops.reshape(x, (-1, count, wide)))

    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(8000, 256)(i)
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        x = x + Turning(4)(y) + layers.Dense(256)(layers.Dense(1024, activation="gelu")(y))
    out = layers.Dense(8000, dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, out), (256,), _logits())


@_add
def fading_memory():
    """Retention: no softmax, scores fade with distance at a rate for each head, groups normalized, gated."""

    class Retained(layers.Layer):
        def call(self, q, k, v):
            count, heads = q.shape[1], q.shape[2]
            far = ops.arange(count, dtype="float32")
            far = far[:, None] - far
            rate = ops.log(1 - 2.0 ** (-5.0 - ops.arange(heads, dtype="float32")))
            fade = ops.where(far >= 0, ops.exp(ops.maximum(far, 0.0) * rate[:, None, None]), 0.0)
            scores = ops.einsum("bihd,bjhd->bhij", q, k) * ops.cast(fade, q.dtype)
            size = ops.maximum(ops.abs(ops.sum(scores, axis=-1, keepdims=True)), 1.0)
            return ops.einsum("bhij,bjhd->bihd", scores / ops.stop_gradient(size), v)

    i = keras.Input((192,), dtype="int32")
    x = layers.Embedding(6000, 192)(i)
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        q, k = (layers.Reshape((192, 4, 48))(layers.Dense(192, use_bias=False)(y)) for _ in range(2))
        v = layers.Reshape((192, 4, 96))(layers.Dense(384, use_bias=False)(y))
        z = layers.GroupNormalization(4)(layers.Reshape((192, 384))(Retained()(q, k, v)))
        x = x + layers.Dense(192)(z * layers.Dense(384, activation="silu")(y))
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(192)(layers.Dense(384, activation="gelu")(y))
    out = layers.Dense(6000, dtype="float32")(layers.LayerNormalization()(x))
    return _labelled(keras.Model(i, out), (192,), _logits())


@_add
def narrow_keys_and_values():
    """A decoder that keeps keys and values as one narrow vector for all heads, made wide when they are read."""
    i = keras.Input((256,), dtype="int32")
    x = layers.Embedding(8000, 256)(i)

    class Causal(layers.Layer):
        def call(self, q, k, v):
            scores = ops.einsum("bihd,bjhd->bhij", q, k) * q.shape[-1] ** -0.5
            at = ops.arange(q.shape[1])
            scores = ops.where(at[:, None] >= at, scores, ops.cast(-1e4, scores.dtype))
            return ops.einsum("bhij,bjhd->bihd", ops.softmax(scores), v)

    for _ in range(3):
        y = layers.RMSNormalization()(x)
        narrow = layers.RMSNormalization()(layers.Dense(64, use_bias=False)(y))
        q = layers.Dense(96, use_bias=False)(y)
        q = layers.Reshape((256, 8, 48))(layers.Dense(384, use_bias=False)(layers.RMSNormalization()(q)))
        k = layers.Reshape((256, 8, 32))(layers.Dense(256, use_bias=False)(narrow))
        v = layers.Reshape((256, 8, 32))(layers.Dense(256, use_bias=False)(narrow))
        one = layers.Reshape((256, 1, 16))(layers.Dense(16, use_bias=False)(y))
        k = layers.concatenate([k, ops.tile(one, (1, 1, 8, 1))])
        z = layers.Reshape((256, 256))(Causal()(q, k, v))
        x = x + layers.Dense(256, use_bias=False)(z)
        y = layers.RMSNormalization()(x)
        y = layers.Dense(688, activation="silu", use_bias=False)(y) * layers.Dense(688, use_bias=False)(y)
        x = x + layers.Dense(256, use_bias=False)(y)
    out = layers.Dense(8000, use_bias=False, dtype="float32")(layers.RMSNormalization()(x))
    return _labelled(keras.Model(i, out), (256,), _logits())


@_add
def content_and_position():
    """An encoder whose scores add content to position and position to content; words that were hidden are told."""

    class Both(layers.Layer):
        def __init__(self, heads, **options):
            super().__init__(**options)
            self.heads = heads

        def build(self, shape):
            self.places = self.add_weight(shape=(128, shape[-1]), initializer="normal", name="places")
            self.parts = [layers.Dense(shape[-1]) for _ in range(3)]
            for one in self.parts:
                one.build(shape)

        def call(self, x):
            count, wide = x.shape[1], x.shape[-1]
            size = wide // self.heads

            def heads(one):
                one = ops.reshape(one, (-1, one.shape[-2], self.heads, size))
                return ops.transpose(one, (0, 2, 1, 3))

            q, k, v = (heads(one(x)) for one in self.parts)
            table = ops.cast(self.places, x.dtype)
            far_q, far_k = (heads(one(table))[0] for one in self.parts[:2])
            at = ops.arange(count)
            apart = ops.clip(at[:, None] - at + 64, 0, 127)
            scores = ops.matmul(q, ops.swapaxes(k, -1, -2))
            shape = (ops.shape(x)[0], self.heads, count, count)
            there = ops.matmul(q, ops.swapaxes(far_k, -1, -2))
            scores = scores + ops.take_along_axis(there, ops.broadcast_to(apart, shape), axis=-1)
            back = ops.matmul(k, ops.swapaxes(far_q, -1, -2))
            found = ops.take_along_axis(back, ops.broadcast_to(ops.transpose(apart), shape), axis=-1)
            scores = scores + ops.swapaxes(found, -1, -2)
            x = ops.matmul(ops.softmax(scores * (3 * size) ** -0.5), v)
            return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, count, wide))

    i = keras.Input((128,), dtype="int32")
    x = layers.Dropout(0.1)(layers.LayerNormalization()(layers.Embedding(8000, 192)(i)))
    for _ in range(3):
        y = layers.Dropout(0.1)(layers.Dense(192)(Both(4)(x)))
        x = layers.LayerNormalization()(x + y)
        y = layers.Dense(192)(layers.Dense(768, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    x = layers.LayerNormalization()(layers.Dense(192, activation="gelu")(x))
    return _labelled(keras.Model(i, layers.Dense(8000, dtype="float32")(x)), (128,), _logits())


@_add
def very_deep_characters():
    """Texts by their characters: many small convolutions with normalization, halved three times, the largest eight."""

    class Largest(layers.Layer):
        def call(self, x):
            return ops.top_k(ops.swapaxes(x, 1, 2), 8)[0]

    i = keras.Input((512,), dtype="int32")
    x = layers.Conv1D(64, 3, padding="same")(layers.Embedding(72, 16)(i))
    for width in (64, 128, 256):
        for _ in range(2):
            x = layers.Conv1D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling1D(3, 2, "same")(x)
    x = layers.Flatten()(Largest()(x))
    x = layers.Dense(512, activation="relu")(layers.Dense(512, activation="relu")(x))
    return _classes(i, x, 14)


@_add
def tags_in_a_chain():
    """Tags of words whose neighbours count: the sum over all ways through, step by step, is in the loss."""

    class Ways(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(18, 18), initializer="normal", name="table")

        def call(self, scores):
            total = scores[:, 0]
            for at in range(1, scores.shape[1]):
                total = ops.logsumexp(ops.expand_dims(total, 2) + self.table, axis=1) + scores[:, at]
            return ops.concatenate([scores, ops.tile(total[:, None] / 40.0, (1, 1, 1))], axis=1)

    i = keras.Input((40,), dtype="int32")
    x = layers.Dropout(0.3)(layers.Embedding(12000, 100)(i))
    for width in (128, 128):
        y = layers.Conv1D(width, 3, padding="same", activation="relu")(x)
        x = layers.Dropout(0.3)(layers.concatenate([x, y]))
    out = Ways(dtype="float32")(layers.Dense(18, dtype="float32")(x))

    def loss(wanted, found):
        told = ops.sum(ops.one_hot(wanted, 18) * found[:, :40], axis=(1, 2))
        return ops.mean(40 * ops.logsumexp(found[:, 40], axis=-1) - told)

    return Case(keras.Model(i, out), loss, [((40,), "int32")], ((40,), "int32"))


@_add
def words_then_sentences():
    """Documents: a recurrent layer over words, attention, another over sentences, attention."""

    def pooled(x, width):
        y = layers.Dense(width, activation="tanh")(x)
        part = layers.Softmax(axis=1)(layers.Dense(1, use_bias=False)(y))
        return ops.sum(part * x, axis=1)

    i = keras.Input((12, 24), dtype="int32")
    x = ops.reshape(layers.Embedding(10000, 100)(i), (-1, 24, 100))
    x = pooled(layers.Bidirectional(layers.GRU(50, return_sequences=True))(x), 100)
    x = ops.reshape(x, (-1, 12, 100))
    x = pooled(layers.Bidirectional(layers.GRU(50, return_sequences=True))(x), 100)
    return _classes(i, x, 5)


class Meant(keras.Model):
    """Questions and answers by one encoder, means of what is not padding; others of the batch are wrong."""

    def train_step(self, data):
        one, two = data
        with tf.GradientTape() as tape:
            a, b = (tf.math.l2_normalize(self(x, training=True), axis=1) for x in (one, two))
            scores = 20.0 * tf.matmul(a, b, transpose_b=True)
            label = tf.range(one.shape[0])
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
            loss = tf.reduce_mean(entropy(label, scores) + entropy(label, tf.transpose(scores)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def questions_and_answers():
    i = keras.Input((48,), dtype="int32")
    there = ops.not_equal(i, 0)
    x = Positions()(layers.Embedding(10000, 192)(i))
    for _ in range(3):
        x = _attended(x, 6, attention_mask=ops.expand_dims(there, 1))
    part = ops.expand_dims(ops.cast(there, "float32"), -1)
    mean = ops.sum(ops.cast(x, "float32") * part, axis=1) / ops.maximum(ops.sum(part, axis=1), 1.0)
    return _stepped(Meant(i, mean), ((48,), "int32"), y=((48,), "int32"))


@_add
def intent_and_slots():
    """A sentence to an assistant: what it asks for, and what each word is; two losses."""
    i = keras.Input((32,), dtype="int32")
    x = layers.Dropout(0.1)(layers.LayerNormalization()(Positions()(layers.Embedding(8000, 256)(i))))
    for _ in range(3):
        y = layers.MultiHeadAttention(8, 32, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
        y = layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    first = layers.Dropout(0.1)(layers.Dense(256, activation="tanh")(x[:, 0]))
    intent = layers.Dense(26, name="intent", dtype="float32")(first)
    slots = layers.Dense(120, name="slots", dtype="float32")(layers.Dropout(0.1)(x))
    options = {"loss_weights": [1.0, 2.0], "metrics": [["accuracy"], ["accuracy"]]}
    return Case(
        keras.Model(i, [intent, slots]), [_logits(), _logits()],
        [((32,), "int32")], [((), "int32"), ((32,), "int32")], options,
    )  # fmt: skip


# Sound


@_add
def letters_of_speech():
    """Spectrograms to letters: two strided convolutions, recurrent layers both ways, alignment as loss."""
    i = keras.Input((128, 64))
    x = layers.Reshape((128, 64, 1))(i)
    x = _bn(x, 32, (11, 21), strides=(2, 2))
    x = _bn(x, 32, (7, 11), strides=(1, 2))
    x = layers.Reshape((64, 512))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(128, return_sequences=True))(x)
        x = layers.Dropout(0.5)(x)
    out = layers.Dense(32, dtype="float32")(layers.Dense(256, activation="relu")(x))
    loss = keras.losses.CTC()
    return Case(keras.Model(i, out), loss, [((128, 64), "float32")], ((20,), "int32"))


@_add
def tags_of_sounds():
    """Events in recordings: pairs of convolutions, means pooled, the largest and the mean over time, many labels."""
    i = keras.Input((160, 64))
    x = layers.BatchNormalization(axis=2)(i)
    x = layers.Reshape((160, 64, 1))(x)
    for width in (32, 64, 128, 256):
        x = layers.AveragePooling2D(2)(_bn(_bn(x, width), width))
        x = layers.Dropout(0.2)(x)
    x = ops.mean(x, axis=2)
    x = ops.max(x, axis=1) + ops.mean(x, axis=1)
    x = layers.Dropout(0.5)(layers.Dense(512, activation="relu")(x))
    out = layers.Dense(527, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(i, out), "binary_crossentropy")


@_add
def speakers_by_statistics():
    """Who speaks: dilated layers over frames, mean and spread over time weighed by attention."""
    i = keras.Input((200, 40))
    x = layers.BatchNormalization()(layers.ReLU()(layers.Conv1D(256, 5, padding="same")(i)))
    kept = []
    for rate in (2, 3, 4):
        y = layers.BatchNormalization()(layers.Conv1D(256, 1, activation="relu")(x))
        y = layers.Conv1D(256, 3, padding="same", dilation_rate=rate, activation="relu")(y)
        y = layers.Conv1D(256, 1, activation="relu")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(y)
        z = layers.Dense(64, activation="relu")(layers.GlobalAveragePooling1D()(y))
        z = layers.Reshape((1, 256))(layers.Dense(256, activation="sigmoid")(z))
        x = x + y * z
        kept.append(x)
    x = layers.Conv1D(512, 1, activation="relu")(layers.concatenate(kept))
    part = layers.Softmax(axis=1)(layers.Conv1D(512, 1)(layers.Conv1D(64, 1, activation="tanh")(x)))
    mean = ops.sum(part * x, axis=1)
    spread = ops.sqrt(ops.maximum(ops.sum(part * ops.square(x), axis=1) - ops.square(mean), 1e-6))
    x = layers.BatchNormalization()(layers.concatenate([mean, spread]))
    return _classes(i, layers.BatchNormalization()(layers.Dense(192)(x)), 1200)


@_add
def learned_bands():
    """Filters of the wave that are made of two frequencies each, then convolutions with leaky units."""

    class Bands(layers.Layer):
        def build(self, shape):
            self.low = self.add_weight(shape=(64,), initializer="uniform", name="low")
            self.wide = self.add_weight(shape=(64,), initializer="uniform", name="wide")

        def call(self, x):
            at = (ops.arange(129, dtype="float32") - 64.0) / 64.0 * 3.1416

            def sinc(edge):
                edge = ops.abs(edge) * 64.0 + 0.1
                inner = at[:, None] * edge
                return 2 * edge * ops.where(ops.abs(inner) < 1e-6, 1.0, ops.sin(inner) / (inner + 1e-9))

            kernel = sinc(ops.abs(self.low) + ops.abs(self.wide)) - sinc(ops.abs(self.low))
            window = 0.54 + 0.46 * ops.cos(at)
            kernel = kernel * window[:, None] / ops.max(ops.abs(kernel), axis=0, keepdims=True)
            return ops.conv(x, kernel[:, None], strides=1, padding="valid")

    i = keras.Input((3200, 1))
    x = ops.abs(Bands()(layers.LayerNormalization(axis=1)(i)))
    x = layers.LeakyReLU(negative_slope=0.2)(layers.LayerNormalization()(layers.MaxPooling1D(3)(x)))
    for width in (60, 60):
        x = layers.MaxPooling1D(3)(layers.Conv1D(width, 5)(x))
        x = layers.LeakyReLU(negative_slope=0.2)(layers.LayerNormalization()(x))
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(512, use_bias=False)(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    return _classes(i, x, 460)


@_add
def spectrogram_tokens():
    """Patches of a spectrogram that overlap, an encoder, several labels."""
    i = keras.Input((128, 64))
    x = layers.Conv2D(192, 16, 10, "valid")(layers.Reshape((128, 64, 1))(i))
    x = layers.Dropout(0.1)(Positions()(layers.Reshape((60, 192))(x)))
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.Dropout(0.1)(layers.MultiHeadAttention(3, 64, dropout=0.1)(y, y))
        y = layers.Dense(768, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = x + layers.Dropout(0.1)(layers.Dense(192)(y))
    x = layers.LayerNormalization()(ops.mean(x, axis=1))
    return _values(
        keras.Model(i, layers.Dense(200, activation="sigmoid", dtype="float32")(x)), "binary_crossentropy"
    )


# Series


@_add
def variables_as_tokens():
    """Each series as a whole is a token; an encoder among the series, a forecast from each."""
    i = keras.Input((96, 64))
    mean = ops.mean(i, axis=1, keepdims=True)
    spread = ops.sqrt(ops.var(i, axis=1, keepdims=True) + 1e-5)
    x = layers.Dense(256)(layers.Permute((2, 1))((i - mean) / spread))
    for _ in range(3):
        y = layers.MultiHeadAttention(8, 32, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
        y = layers.Dense(256)(layers.Dropout(0.1)(layers.Dense(512, activation="gelu")(x)))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(y))
    out = layers.Permute((2, 1))(layers.Dense(96)(x)) * spread + mean
    return _values(keras.Model(i, _out(out)))


@_add
def seasons_and_trend():
    """Means over time are taken off again and again; what repeats is found among the frequencies."""

    class Repeats(layers.Layer):
        def call(self, q, k, v):
            real, imaginary = (ops.rfft(ops.swapaxes(ops.cast(one, "float32"), 1, 2)) for one in (q, k))
            a, b = real
            c, d = imaginary
            together = ops.irfft((a * c + b * d, b * c - a * d), 96)
            part = ops.softmax(ops.mean(together, axis=1))
            value = ops.swapaxes(v, 1, 2)
            moved = [ops.roll(value, -lag, axis=2) * part[:, None, lag : lag + 1] for lag in (0, 12, 24, 48)]
            return ops.swapaxes(sum(moved), 1, 2)

    def apart(x):
        trend = layers.AveragePooling1D(25, 1, "same")(x)
        return x - trend, trend

    i = keras.Input((96, 12))
    x, trend = layers.Conv1D(128, 3, padding="same")(i), 0
    for _ in range(2):
        made = Repeats()(layers.Dense(128)(x), layers.Dense(128)(x), layers.Dense(128)(x))
        x, one = apart(x + layers.Dense(128)(made))
        x, two = apart(x + layers.Dense(128)(layers.Dropout(0.1)(layers.Dense(512, activation="gelu")(x))))
        trend = trend + one + two
    x = layers.Dense(12)(layers.LayerNormalization()(x)) + layers.Dense(12)(trend)
    return _values(keras.Model(i, _out(x)))


@_add
def recurrent_beside_convolved():
    """Series to classes: a recurrent layer over the variables beside convolutions with gates."""
    i = keras.Input((160, 9))
    a = layers.Dropout(0.8)(layers.LSTM(64)(layers.Permute((2, 1))(layers.Masking()(i))))
    b = i
    for width, side in ((128, 8), (256, 5), (128, 3)):
        b = layers.Conv1D(width, side, padding="same", kernel_initializer="he_uniform")(b)
        b = layers.ReLU()(layers.BatchNormalization()(b))
        if side > 3:
            z = layers.Dense(width // 16, activation="relu", use_bias=False)(
                layers.GlobalAveragePooling1D()(b)
            )
            b = b * layers.Reshape((1, width))(layers.Dense(width, activation="sigmoid", use_bias=False)(z))
    return _classes(i, layers.concatenate([a, layers.GlobalAveragePooling1D()(b)]), 6)


@_add
def stages_of_sleep():
    """A U-Net over a night's signals, averaged to an answer for each half minute."""
    i = x = keras.Input((2048, 2))
    kept = []
    for width, pool in ((16, 8), (32, 4), (64, 4)):
        for _ in range(2):
            x = layers.Conv1D(width, 5, padding="same", dilation_rate=2, activation="elu")(x)
            x = layers.BatchNormalization()(x)
        kept.append((x, pool))
        x = layers.MaxPooling1D(pool)(x)
    x = layers.BatchNormalization()(layers.Conv1D(128, 5, padding="same", activation="elu")(x))
    for short, pool in reversed(kept):
        x = layers.Conv1D(short.shape[-1], pool, padding="same", activation="elu")(
            layers.UpSampling1D(pool)(x)
        )
        x = layers.concatenate([short, layers.BatchNormalization()(x)])
        x = layers.BatchNormalization()(
            layers.Conv1D(short.shape[-1], 5, padding="same", activation="elu")(x)
        )
    x = layers.AveragePooling1D(128)(layers.Conv1D(5, 1, activation="tanh")(x))
    return _labelled(keras.Model(i, layers.Conv1D(5, 1, activation="softmax", dtype="float32")(x)), (16,))


# Tables and recommendations


@_add
def fields_that_attend():
    """Clicks: every field a vector, attention among the fields with residuals, all of them flat to one number."""
    i = keras.Input((39,), dtype="int32")
    x = layers.Embedding(39000, 16)(i + ops.arange(39, dtype="int32") * 1000)
    for _ in range(3):
        y = layers.MultiHeadAttention(2, 16)(x, x)
        x = layers.ReLU()(layers.Dense(32)(y) + layers.Dense(32, use_bias=False)(x))
    return _yes_no(i, layers.Dropout(0.2)(layers.Flatten()(x)))


@_add
def weighed_fields_in_pairs():
    """Clicks: gates for the fields, each pair multiplied by a matrix, twice, and a perceptron."""

    class Pairs(layers.Layer):
        def build(self, shape):
            self.table = self.add_weight(shape=(shape[-1], shape[-1]), initializer="normal", name="table")

        def call(self, x):
            left = ops.matmul(x, self.table)
            count = x.shape[1]
            made = [left[:, a] * x[:, b] for a in range(count) for b in range(a + 1, count)]
            return ops.concatenate(made, axis=1)

    i = keras.Input((20,), dtype="int32")
    x = layers.Embedding(40000, 12)(i + ops.arange(20, dtype="int32") * 2000)
    z = layers.Dense(20, activation="relu")(layers.Dense(8, activation="relu")(ops.mean(x, axis=-1)))
    x = layers.concatenate([Pairs()(x), Pairs()(x * ops.expand_dims(z, -1))])
    for width in (400, 400):
        x = layers.Dropout(0.3)(layers.ReLU()(layers.BatchNormalization()(layers.Dense(width)(x))))
    return _yes_no(i, x)


@_add
def shared_and_own_experts():
    """Three tasks, experts that all share and experts of each, two levels, gates between them."""
    i = keras.Input((128,))
    x = [i] * 4
    for level in range(2):
        experts = [[layers.Dense(128, activation="relu")(one) for _ in range(3)] for one in x]
        made = []
        for task in range(4 if level == 0 else 3):
            inputs = [*experts[task], *experts[3]] if task < 3 else list(itertools.chain(*experts))
            gate = layers.Softmax()(layers.Dense(len(inputs), use_bias=False)(x[task]))
            made.append(ops.sum(ops.stack(inputs, axis=1) * ops.expand_dims(gate, -1), axis=1))
        x = made
    outs = [
        layers.Dense(1, activation="sigmoid", name=f"task_{at}", dtype="float32")(
            layers.Dropout(0.1)(layers.Dense(64, activation="relu")(one))
        )
        for at, one in enumerate(x)
    ]
    loss = ["binary_crossentropy"] * 3
    return Case(keras.Model(i, outs), loss, [((128,), "float32")], [((1,), "float32")] * 3)


class Sessions(keras.Model):
    """What is bought next in a session: what was is scored above what others of the batch bought."""

    things = None

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            scores = tf.matmul(self(x, training=True), self.things(y), transpose_b=True)
            good = tf.linalg.diag_part(scores)[:, None]
            part = tf.nn.softmax(scores - 1e9 * tf.eye(x.shape[0]))
            above = tf.reduce_sum(part * tf.sigmoid(good - scores), axis=1)
            loss = tf.reduce_mean(-tf.math.log(above + 1e-8))
            loss += tf.reduce_mean(tf.reduce_sum(part * tf.square(scores), axis=1))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


@_add
def sessions():
    i = keras.Input((20,), dtype="int32")
    things = layers.Embedding(30000, 96)
    x = layers.GRU(96, dropout=0.2, recurrent_dropout=0.1)(things(i))
    model = Sessions(i, layers.Dense(96, activation="tanh")(x))
    model.things = things
    return _stepped(model, ((20,), "int32"), y=((), "int32"))


@_add
def noise_in_tables():
    """Rows of a table with columns exchanged, put right by three wide layers."""
    i = x = keras.Input((221,))
    for _ in range(3):
        x = layers.Dense(1500, activation="relu")(x)
    return _values(keras.Model(i, layers.Dense(221, dtype="float32")(x)))


@_add
def rows_that_attend():
    """A table's columns attend to one another, then the batch's rows to one another."""
    i = keras.Input((24,))
    x = ops.expand_dims(i, -1)
    x = layers.Dense(32)(layers.Dense(64, activation="relu")(x))
    x = Positions()(x)
    for _ in range(2):
        x = _attended(x, 4)
        y = ops.reshape(x, (1, -1, 768))
        y = y + layers.MultiHeadAttention(4, 32)(
            layers.LayerNormalization()(y), layers.LayerNormalization()(y)
        )
        y = y + layers.Dense(768)(layers.Dense(768, activation="gelu")(layers.LayerNormalization()(y)))
        x = ops.reshape(y, (-1, 24, 32))
    return _yes_no(i, layers.Dense(256, activation="relu")(x[:, 0]))


@_add
def shops_by_categories():
    """Sales of shops: twelve categories as vectors of their own sizes, numbers beside, two wide layers."""
    counts = (1115, 7, 4, 12, 31, 12, 23, 8, 26, 25, 53, 22)
    inputs = [keras.Input((), dtype="int32") for _ in counts]
    numbers = keras.Input((16,))
    parts = [layers.Embedding(count, min(50, count // 2 + 1))(i) for i, count in zip(inputs, counts)]
    x = layers.concatenate(
        [layers.Dropout(0.04)(layers.concatenate(parts)), layers.BatchNormalization()(numbers)]
    )
    for width in (1000, 500):
        x = layers.BatchNormalization()(layers.Dense(width, activation="relu")(x))
        x = layers.Dropout(0.1)(x)
    return _values(keras.Model([*inputs, numbers], layers.Dense(1, dtype="float32")(x)), "mae")


# Graphs


@_add
def continuous_filters():
    """Molecules: filters made of distances, multiplied with the neighbours' features, summed; one energy."""
    kinds, places = keras.Input((20,), dtype="int32"), keras.Input((20, 3))
    far = ops.expand_dims(places, 2) - ops.expand_dims(places, 1)
    far = ops.sqrt(ops.sum(ops.square(far), axis=-1) + 1e-6)
    bumps = ops.exp(-10.0 * ops.square(ops.expand_dims(far, -1) - ops.arange(48, dtype="float32") / 8))

    def shifted(x):
        return ops.softplus(x) - 0.6931

    x = layers.Embedding(100, 64)(kinds)
    for _ in range(3):
        filters = layers.Dense(64)(shifted(layers.Dense(64)(bumps)))
        y = ops.sum(filters * ops.expand_dims(layers.Dense(64, use_bias=False)(x), 1), axis=2)
        x = x + layers.Dense(64)(shifted(layers.Dense(64)(y)))
    x = layers.Dense(1)(shifted(layers.Dense(32)(x)))
    return _values(keras.Model([kinds, places], _out(ops.sum(x, axis=1))), "mae")


@_add
def pooled_graphs():
    """Proteins: which nodes belong together is learned; graphs of sixteen and four nodes remain."""

    def layer(x, adjacency, width):
        x = ops.matmul(adjacency, layers.Dense(width)(x))
        return layers.ReLU()(layers.BatchNormalization()(x))

    nodes, edges = keras.Input((64, 32)), keras.Input((64, 64))
    x, adjacency, kept = nodes, edges + ops.eye(64), []
    for count in (16, 4):
        for _ in range(2):
            x = layer(x, adjacency, 128)
        kept.append(ops.max(x, axis=1))
        part = ops.softmax(ops.matmul(adjacency, layers.Dense(count)(x)))
        turned = ops.swapaxes(part, 1, 2)
        x, adjacency = ops.matmul(turned, x), ops.matmul(ops.matmul(turned, adjacency), part)
    kept.append(ops.max(layer(x, adjacency, 128), axis=1))
    x = layers.Dense(128, activation="relu")(layers.concatenate(kept))
    out = layers.Dense(6, activation="softmax", dtype="float32")(x)
    return _labelled(keras.Model([nodes, edges], out))


@_add
def edges_bias_attention():
    """Molecules as graphs: attention among atoms, biased by their distance in bonds; one node for the whole."""

    class Biased(layers.Layer):
        def __init__(self, heads, **options):
            super().__init__(**options)
            self.heads = heads

        def build(self, x_shape, bias_shape):
            self.parts = [layers.Dense(x_shape[-1]) for _ in range(4)]
            for one in self.parts:
                one.build(x_shape)

        def call(self, x, bias):
            count, wide = x.shape[1], x.shape[-1]
            q, k, v = (
                ops.transpose(ops.reshape(one(x), (-1, count, self.heads, wide // self.heads)), (0, 2, 1, 3))
                for one in self.parts[:3]
            )
            scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) * (wide // self.heads) ** -0.5
            scores = scores + ops.transpose(bias, (0, 3, 1, 2))
            x = ops.transpose(ops.matmul(ops.softmax(scores), v), (0, 2, 1, 3))
            return self.parts[3](ops.reshape(x, (-1, count, wide)))

    atoms, bonds = keras.Input((32,), dtype="int32"), keras.Input((32, 32), dtype="int32")
    degree = keras.Input((32,), dtype="int32")
    x = layers.Embedding(120, 160)(atoms) + layers.Embedding(12, 160)(degree)
    bias = layers.Embedding(16, 8)(bonds)
    for _ in range(4):
        x = x + Biased(8)(layers.LayerNormalization()(x), bias)
        y = layers.Dense(320, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dropout(0.1)(layers.Dense(160)(y))
    out = layers.Dense(1, dtype="float32")(layers.LayerNormalization()(x)[:, 0])
    return _values(keras.Model([atoms, bonds, degree], out), "mae")


# Acting


class Twins(keras.Model):
    """Continuous control: two critics, the smaller of their slow copies counts, the actor follows one."""

    critics = slow = slow_actor = others = None

    def train_step(self, data):
        (seen, acted, then), gain = data
        noise = tf.clip_by_value(0.2 * tf.random.normal(tf.shape(acted)), -0.5, 0.5)
        next_act = tf.clip_by_value(self.slow_actor(then) + noise, -1.0, 1.0)
        ahead = tf.concat([then, next_act], axis=1)
        wanted = gain + 0.99 * tf.minimum(self.slow[0](ahead), self.slow[1](ahead))
        for critic, optimizer in zip(self.critics, self.others):
            with tf.GradientTape() as tape:
                worth = critic(tf.concat([seen, acted], axis=1), training=True)
                loss = tf.reduce_mean(tf.square(worth - wanted))
            gradients = tape.gradient(loss, critic.trainable_variables)
            optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
        with tf.GradientTape() as tape:
            made = self(seen, training=True)
            ours = -tf.reduce_mean(self.critics[0](tf.concat([seen, made], axis=1)))
        gradients = tape.gradient(ours, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        pairs = [(self, self.slow_actor), *zip(self.critics, self.slow)]
        for fast, slow in pairs:
            for a, b in zip(fast.trainable_variables, slow.weights):
                b.assign(0.995 * b + 0.005 * a)
        return {"loss": ours}


@_add
def twin_critics():
    def network(size, count, activation=None):
        i = x = keras.Input((size,))
        for _ in range(2):
            x = layers.Dense(256, activation="relu")(x)
        return i, layers.Dense(count, activation=activation)(x)

    model = Twins(*network(44, 8, "tanh"))
    model.slow_actor = keras.Model(*network(44, 8, "tanh"))
    model.critics = [keras.Model(*network(52, 1)) for _ in range(2)]
    model.slow = [keras.Model(*network(52, 1)) for _ in range(2)]
    model.slow_actor.trainable = False
    for one in (*model.critics, *model.slow):
        one.trainable = one in model.critics
    model.others = [keras.optimizers.Adam(3e-4) for _ in range(2)]
    for one, critic in zip(model.others, model.critics):
        one.build(critic.trainable_variables)
    return _stepped(model, ((44,), "float32"), ((8,), "float32"), ((44,), "float32"), y=((1,), "float32"))


@_add
def acts_as_words():
    """What was gained, seen and done in turn as one sequence; a decoder tells what to do next."""
    gain, seen, done = keras.Input((32, 1)), keras.Input((32, 17)), keras.Input((32, 6))
    parts = [layers.Dense(128)(one) for one in (gain, seen, done)]
    x = layers.Reshape((96, 128))(ops.stack(parts, axis=2))
    x = layers.Dropout(0.1)(layers.LayerNormalization()(Positions()(x)))
    for _ in range(3):
        x = _attended(x, 4, use_causal_mask=True)
    x = layers.Reshape((32, 3, 128))(layers.LayerNormalization()(x))[:, :, 1]
    out = layers.Dense(6, activation="tanh", dtype="float32")(x)
    return _values(keras.Model([gain, seen, done], out))


@_add
def worth_as_distribution():
    """A game's frames to fifty-one chances of worth for each move, with noise in the last layers."""

    class Noisy(layers.Layer):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.units = units
            self.seeds = keras.random.SeedGenerator(5)

        def build(self, shape):
            for name, size in (("kernel", (shape[-1], self.units)), ("bias", (self.units,))):
                setattr(self, name, self.add_weight(shape=size, initializer="normal", name=name))
                setattr(
                    self, f"{name}_noise", self.add_weight(shape=size, initializer="normal", name=f"{name}_n")
                )

        def call(self, x):
            def drawn(size):
                noise = keras.random.normal((size,), seed=self.seeds)
                return ops.sign(noise) * ops.sqrt(ops.abs(noise))

            there, back = drawn(x.shape[-1]), drawn(self.units)
            kernel = self.kernel + self.kernel_noise * there[:, None] * back
            return ops.matmul(x, kernel) + self.bias + self.bias_noise * back

    i = keras.Input((84, 84, 4))
    x = layers.Conv2D(32, 8, 4, activation="relu")(layers.Rescaling(1 / 255)(i))
    x = layers.Conv2D(64, 4, 2, activation="relu")(x)
    x = layers.Flatten()(layers.Conv2D(64, 3, activation="relu")(x))
    value = layers.Reshape((1, 51))(Noisy(51)(layers.ReLU()(Noisy(512)(x))))
    gain = layers.Reshape((9, 51))(Noisy(459)(layers.ReLU()(Noisy(512)(x))))
    out = layers.Softmax(dtype="float32")(value + gain - ops.mean(gain, axis=1, keepdims=True))

    def loss(wanted, found):
        move = ops.one_hot(ops.cast(wanted[:, 0], "int32"), 9)
        part = ops.sum(found * ops.expand_dims(move, -1), axis=1)
        return -ops.mean(ops.sum(wanted[:, 1:] * ops.log(part + 1e-6), axis=-1))

    return Case(keras.Model(i, out), loss, [((84, 84, 4), "float32")], ((52,), "float32"))

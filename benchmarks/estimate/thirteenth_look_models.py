"""A thirteenth set for the rules for XLA, written and compiled before anything of it was compared: what people really
train, each written as the one who has that data would write it. Named by what each is.

This half has pictures and what is made of noise; thirteenth_other_models.py has the rest.
"""

import keras
import tensorflow as tf
from keras import layers, ops, regularizers
from models import Case, _add
from ninth_look_models import _apply, _stepped
from third_look_models import _classes, _labelled, _logits, _values

# Pictures to classes and numbers


@_add
def tulips_and_roses():
    """Pictures turned, lit otherwise and partly hidden at random in front of a plain network with norms."""
    model = keras.Sequential(
        [
            keras.Input((160, 160, 3)),
            layers.RandomFlip("horizontal_and_vertical"),
            layers.RandomBrightness(0.2),
            layers.RandomContrast(0.2),
            layers.RandomErasing(),
            layers.Rescaling(1.0 / 255),
        ]
    )
    for width in (32, 64, 128, 128):
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
        model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D())
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dropout(0.4))
    model.add(layers.Dense(17, dtype="float32"))
    return _labelled(model, (), _logits())


@_add
def garments():
    """Two pairs of convolutions with norms and dropout on small grey pictures, one-hot labels."""
    model = keras.Sequential([keras.Input((28, 28, 1))])
    for width in (32, 64):
        for _ in range(2):
            model.add(layers.Conv2D(width, 3, activation="relu", padding="same"))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D(2))
        model.add(layers.Dropout(0.25))
    model.add(layers.Flatten())
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(10, activation="softmax", dtype="float32"))
    return Case(model, "categorical_crossentropy", [((28, 28, 1), "float32")], ((10,), "float32"))


class ConvBlock(layers.Layer):
    """Convolution, norm, units and, where asked for, a pooling."""

    def __init__(self, width, pool=False):
        super().__init__()
        self.conv = layers.Conv2D(width, 3, padding="same", use_bias=False)
        self.norm, self.act = layers.BatchNormalization(), layers.Activation("celu")
        self.pool = layers.MaxPooling2D() if pool else None

    def build(self, shape):
        self.conv.build(shape)
        self.norm.build((*shape[:-1], self.conv.filters))

    def call(self, x, training=False):
        x = self.act(self.norm(self.conv(x), training=training))
        return x if self.pool is None else self.pool(x)


class NineLayers(keras.Model):
    """The quick network of the CIFAR races."""

    def __init__(self, classes=100):
        super().__init__()
        self.first, self.second = ConvBlock(64), ConvBlock(128, True)
        self.around = [ConvBlock(128), ConvBlock(128)]
        self.third, self.fourth = ConvBlock(256, True), ConvBlock(512, True)
        self.again = [ConvBlock(512), ConvBlock(512)]
        self.pool, self.drop = layers.GlobalMaxPooling2D(), layers.Dropout(0.2)
        self.out = layers.Dense(classes, dtype="float32")

    def call(self, x, training=False):
        x = self.second(self.first(x, training=training), training=training)
        y = x
        for block in self.around:
            y = block(y, training=training)
        x = self.fourth(self.third(x + y, training=training), training=training)
        y = x
        for block in self.again:
            y = block(y, training=training)
        return self.out(self.drop(self.pool(x + y), training=training))


@_add
def nine_layers():
    model = NineLayers()
    model(keras.Input((32, 32, 3)))
    return Case(model, _logits(), [((32, 32, 3), "float32")], ((), "int32"))


@_add
def lungs_ill_or_well():
    """The oldest application, frozen, flattened into a wide layer; one answer."""
    base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(224, 224, 3))
    base.trainable = False
    model = keras.Sequential([keras.Input((224, 224, 3)), base])
    model.add(layers.Flatten())
    model.add(layers.Dense(256, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(1, activation="sigmoid", dtype="float32"))
    case = _values(model, "binary_crossentropy")
    case.options["metrics"] = ["accuracy", keras.metrics.Precision(), keras.metrics.Recall()]
    return case


@_add
def garbage_sorted():
    """The last thirty layers of a small application are tuned, what it wants is computed in front."""
    base = keras.applications.MobileNetV2(
        include_top=False, weights=None, alpha=0.75, input_shape=(192, 192, 3)
    )
    for layer in base.layers[:-30]:
        layer.trainable = False
    inputs = keras.Input((192, 192, 3))
    x = layers.RandomFlip()(inputs)
    x = layers.RandomBrightness(0.1)(x)
    x = keras.applications.mobilenet_v2.preprocess_input(x)
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    x = layers.Dense(128, activation="relu")(layers.Dropout(0.3)(x))
    return _classes(inputs, x, 6)


@_add
def models_of_cars():
    """A residual application, its last stage tuned with norms as they are."""
    base = keras.applications.ResNet50(include_top=False, weights=None, input_shape=(224, 224, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("conv5")
    inputs = keras.Input((224, 224, 3))
    x = layers.RandomContrast(0.2)(layers.RandomFlip("horizontal")(inputs))
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    x = layers.Dense(512, activation="relu", kernel_regularizer=regularizers.l2(1e-4))(x)
    return _classes(inputs, layers.Dropout(0.5)(x), 196)


@_add
def cassava():
    """All of an application is trained, sides and colours are changed at random."""
    base = keras.applications.EfficientNetB0(include_top=False, weights=None, pooling="avg")
    inputs = keras.Input((176, 176, 3))
    x = layers.RandomFlip("horizontal_and_vertical")(inputs)
    x = layers.Resizing(160, 160)(layers.RandomSaturation(0.5)(x))
    x = layers.Dropout(0.4)(base(x))
    return _classes(inputs, x, 5)


@_add
def signs_of_hands():
    """The first of the small applications from nothing, with a squeezed head."""
    base = keras.applications.MobileNet(include_top=False, weights=None, input_shape=(128, 128, 3))
    x = layers.GlobalMaxPooling2D()(base.output)
    x = layers.Dense(256, use_bias=False)(x)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    return _classes(base.input, x, 29)


class SmallViT(keras.Model):
    """Squares of small pictures, blocks with scales of their own and a mean at the end."""

    def __init__(self, width=192, depth=8, heads=6, classes=100):
        super().__init__()
        self.cut = layers.Conv2D(width, 4, 4)
        self.places = self.add_weight(shape=(1, 64, width), initializer="random_normal", name="places")
        self.blocks = []
        for _ in range(depth):
            self.blocks.append(
                (
                    layers.LayerNormalization(epsilon=1e-6),
                    layers.MultiHeadAttention(heads, width // heads, dropout=0.1),
                    layers.LayerNormalization(epsilon=1e-6),
                    keras.Sequential([layers.Dense(4 * width, "gelu"), layers.Dense(width)]),
                )
            )
        self.width, self.drop = width, layers.Dropout(0.1)
        self.scales = [
            self.add_weight(shape=(width,), initializer=keras.initializers.Constant(0.1), name=f"scale{i}")
            for i in range(2 * depth)
        ]
        self.norm, self.out = layers.LayerNormalization(), layers.Dense(classes, dtype="float32")

    def call(self, x, training=False):
        x = ops.reshape(self.cut(x), (-1, 64, self.width))
        x = self.drop(x + ops.cast(self.places, x.dtype), training=training)
        for number, (first, attention, second, inner) in enumerate(self.blocks):
            y = first(x)
            a, b = (ops.cast(self.scales[2 * number + one], x.dtype) for one in (0, 1))
            x = x + a * attention(y, y, training=training)
            x = x + b * self.drop(inner(second(x)), training=training)
        return self.out(ops.mean(self.norm(x), axis=1))


@_add
def small_vit():
    model = SmallViT()
    model(keras.Input((32, 32, 3)))
    return Case(model, _logits(), [((32, 32, 3), "float32")], ((), "int32"))


class BasicBlock(keras.Model):
    def __init__(self, width, strides=1):
        super().__init__()
        options = {"padding": "same", "use_bias": False, "kernel_initializer": "he_normal"}
        self.conv1 = layers.Conv2D(width, 3, strides, **options)
        self.conv2 = layers.Conv2D(width, 3, **options)
        self.bn1, self.bn2 = layers.BatchNormalization(), layers.BatchNormalization()
        self.short = None
        if strides > 1:
            self.short = keras.Sequential(
                [layers.Conv2D(width, 1, strides, **options), layers.BatchNormalization()]
            )

    def call(self, x, training=False):
        y = ops.relu(self.bn1(self.conv1(x), training=training))
        y = self.bn2(self.conv2(y), training=training)
        return ops.relu(y + (x if self.short is None else self.short(x, training=training)))


@_add
def thirty_four():
    """The network of thirty-four layers, its blocks models of their own, on pictures of 128."""
    inputs = keras.Input((128, 128, 3))
    x = layers.Conv2D(64, 7, 2, "same", use_bias=False)(inputs)
    x = layers.MaxPooling2D(3, 2, "same")(layers.ReLU()(layers.BatchNormalization()(x)))
    for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(count):
            x = BasicBlock(width, 2 if number == 0 and width > 64 else 1)(x)
    return _classes(inputs, layers.GlobalAveragePooling2D()(x), 200)


class CutAndPasted(keras.Model):
    """A part of each picture comes from another one, and so much of its label."""

    def train_step(self, data):
        x, y = data
        share = tf.random.uniform([])
        side = tf.cast(64.0 * tf.sqrt(1.0 - share), tf.int32)
        left = tf.random.uniform([], 0, 64, tf.int32)
        top = tf.random.uniform([], 0, 64, tf.int32)
        rows, columns = tf.range(64)[:, None], tf.range(64)[None, :]
        inside = (rows >= top) & (rows < top + side) & (columns >= left) & (columns < left + side)
        inside = tf.cast(inside, x.dtype)[None, :, :, None]
        mixed = x * (1.0 - inside) + tf.reverse(x, [0]) * inside
        share = 1.0 - tf.reduce_mean(inside)
        labels = share * y + (1.0 - share) * tf.reverse(y, [0])
        with tf.GradientTape() as tape:
            found = self(mixed, training=True)
            loss = self.compute_loss(y=labels, y_pred=found)
        return _apply(self, tape, loss)


@_add
def cut_and_pasted():
    inputs = x = keras.Input((64, 64, 3))
    for width, count in ((64, 2), (128, 2), (256, 3)):
        for _ in range(count):
            x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    out = layers.Dense(200, activation="softmax", dtype="float32")(x)
    return Case(CutAndPasted(inputs, out), "categorical_crossentropy", [((64, 64, 3), "float32")],
                ((200,), "float32"))  # fmt: skip


@_add
def age_of_bones():
    """A picture and who it is of tell a number; the application's channels are weighed before the mean."""
    base = keras.applications.Xception(include_top=False, weights=None, input_shape=(160, 160, 3))
    for layer in base.layers[:100]:
        layer.trainable = False
    kind = keras.Input((1,))
    x = layers.BatchNormalization()(base.output)
    weights = layers.Conv2D(64, 1, activation="relu")(layers.Dropout(0.3)(x))
    weights = layers.Conv2D(1, 1, activation="sigmoid")(weights)
    x = layers.GlobalAveragePooling2D()(layers.Multiply()([x, weights]))
    x = layers.Concatenate()([x, layers.Dense(32, activation="relu")(kind)])
    x = layers.Dense(512, activation="elu")(layers.Dropout(0.25)(x))
    return _values(keras.Model([base.input, kind], layers.Dense(1, dtype="float32")(x)), "mae")


@_add
def five_letters():
    """Five answers to one distorted word, each with a layer of its own."""
    inputs = x = keras.Input((50, 200, 1))
    for width in (32, 48, 64):
        x = layers.Conv2D(width, 5, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(layers.BatchNormalization()(x))
    outs = []
    for place in range(5):
        y = layers.Dropout(0.5)(layers.Dense(64, activation="relu")(x))
        outs.append(layers.Dense(36, activation="softmax", dtype="float32", name=f"letter{place}")(y))
    return Case(keras.Model(inputs, outs), ["sparse_categorical_crossentropy"] * 5,
                [((50, 200, 1), "float32")], [((), "int32")] * 5,
                {"metrics": [["accuracy"]] * 5})  # fmt: skip


def _contrastive(wanted, found):
    """Near where they are the same, at least one apart where not."""
    return ops.mean((1 - wanted) * ops.square(found) + wanted * ops.square(ops.maximum(1.0 - found, 0.0)))


@_add
def same_person():
    """Two faces through one network, how far apart their vectors are."""
    inputs = x = keras.Input((96, 96, 3))
    for width in (32, 64, 128, 256):
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Conv2D(width, 3, strides=2, padding="same", activation="relu")(x)
        x = layers.Dropout(0.1)(x)
    x = layers.Dense(128)(layers.GlobalAveragePooling2D()(x))
    reader = keras.Model(inputs, layers.UnitNormalization()(x))
    first, second = keras.Input((96, 96, 3)), keras.Input((96, 96, 3))
    a, b = reader(first), reader(second)
    apart = ops.sqrt(ops.maximum(ops.sum(ops.square(a - b), axis=1, keepdims=True), 1e-7))
    out = layers.Activation("linear", dtype="float32")(apart)
    return _values(keras.Model([first, second], out), _contrastive)


# Pictures to pictures


def _overlap(wanted, found):
    both = ops.sum(wanted * found, axis=(1, 2, 3))
    whole = ops.sum(wanted, axis=(1, 2, 3)) + ops.sum(found, axis=(1, 2, 3))
    dice = 1.0 - ops.mean((2.0 * both + 1.0) / (whole + 1.0))
    return dice + ops.mean(keras.losses.binary_crossentropy(wanted, found))


@_add
def lungs_outlined():
    """The U with norms and dropout that most segmentations start from, a loss of two parts."""

    def block(x, width):
        for _ in range(2):
            x = layers.Conv2D(width, 3, padding="same", kernel_initializer="he_normal")(x)
            x = layers.Activation("relu")(layers.BatchNormalization()(x))
        return x

    inputs = x = keras.Input((256, 256, 1))
    skips = []
    for width in (16, 32, 64, 128):
        x = block(x, width)
        skips.append(x)
        x = layers.Dropout(0.1)(layers.MaxPooling2D()(x))
    x = block(x, 256)
    for width, skip in zip((128, 64, 32, 16), reversed(skips)):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same")(x)
        x = block(layers.Dropout(0.1)(layers.concatenate([x, skip])), width)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), _overlap)


@_add
def cracks():
    """A frozen small application goes down, plain blocks go up."""
    base = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(224, 224, 3))
    names = ["block_1_expand_relu", "block_3_expand_relu", "block_6_expand_relu", "block_13_expand_relu"]
    down = keras.Model(base.input, [base.get_layer(n).output for n in [*names, "block_16_project"]])
    down.trainable = False
    inputs = keras.Input((224, 224, 3))
    *skips, x = down(layers.Rescaling(1 / 127.5, offset=-1)(inputs), training=False)
    for width, skip in zip((256, 128, 64, 32), reversed(skips)):
        x = layers.Conv2DTranspose(width, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Concatenate()([x, skip])
    out = layers.Conv2DTranspose(2, 3, strides=2, padding="same", dtype="float32")(x)
    return _labelled(keras.Model(inputs, out), (224, 224), _logits())


@_add
def polyps():
    """Residual blocks whose channels are weighed, three rates in the middle, up by neighbours."""

    def weigh(x):
        y = layers.GlobalAveragePooling2D(keepdims=True)(x)
        y = layers.Dense(x.shape[-1] // 8, activation="relu")(y)
        return layers.Multiply()([x, layers.Dense(x.shape[-1], activation="sigmoid")(y)])

    def block(x, width, strides=1):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        y = layers.Conv2D(width, 3, strides, "same")(y)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(width, 3, padding="same")(y)
        return weigh(layers.Add()([y, layers.Conv2D(width, 1, strides, "same")(x)]))

    inputs = keras.Input((192, 192, 3))
    x = layers.Conv2D(32, 3, padding="same")(inputs)
    skips = []
    for width in (64, 128, 256):
        skips.append(x)
        x = block(x, width, 2)
    ways = [layers.Conv2D(256, 3, padding="same", dilation_rate=rate)(x) for rate in (1, 3, 6)]
    x = layers.Conv2D(256, 1)(layers.Add()([layers.BatchNormalization()(one) for one in ways]))
    for width, skip in zip((128, 64, 32), reversed(skips)):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = block(layers.Concatenate()([x, skip]), width)
    out = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return _values(keras.Model(inputs, out), _overlap)


@_add
def cleaned_pages():
    """Spots and folds are taken off grey pages."""
    model = keras.Sequential([keras.Input((256, 512, 1))])
    for width in (64, 32):
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.MaxPooling2D(padding="same"))
    model.add(layers.Dropout(0.5))
    for width in (32, 64):
        model.add(layers.Conv2D(width, 3, padding="same", activation="relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.UpSampling2D())
    model.add(layers.Conv2D(1, 3, padding="same", activation="sigmoid", dtype="float32"))
    return _values(model)


@_add
def parts_without_fault():
    """Parts as they should be are written back from a narrow middle; leaky units, norms."""
    inputs = x = keras.Input((128, 128, 3))
    for width in (32, 64, 128, 256):
        x = layers.Conv2D(width, 4, strides=2, padding="same")(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    x = layers.Dense(100)(layers.Flatten()(x))
    x = layers.Reshape((8, 8, 256))(layers.Dense(8 * 8 * 256, activation="relu")(x))
    for width in (128, 64, 32):
        x = layers.Conv2DTranspose(width, 4, strides=2, padding="same")(x)
        x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh", dtype="float32")(x)
    return _values(keras.Model(inputs, x), "mse")


@_add
def sharper_photographs():
    """Three convolutions behind a picture enlarged by cubic neighbours, as the first such network has them."""
    inputs = keras.Input((40, 40, 3))
    x = layers.Resizing(120, 120, interpolation="bicubic")(inputs)
    x = layers.Conv2D(128, 9, padding="same", activation="relu")(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    return _values(keras.Model(inputs, layers.Conv2D(3, 5, padding="same", dtype="float32")(x)))


@_add
def helmets():
    """Leaky convolutions to two grids of boxes, the finer from what the coarser has seen."""

    def leaky(x, width, size=3):
        x = layers.Conv2D(width, size, padding="same", use_bias=False)(x)
        return layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization()(x))

    inputs = x = keras.Input((256, 256, 3))
    for width in (16, 32, 64, 128):
        x = layers.MaxPooling2D(2)(leaky(x, width))
    fine = leaky(x, 256)
    x = leaky(layers.MaxPooling2D(2)(fine), 512)
    x = leaky(leaky(layers.MaxPooling2D(2, 1, padding="same")(x), 1024), 256, 1)
    coarse = layers.Conv2D(3 * 7, 1, dtype="float32")(leaky(x, 512))
    y = layers.Concatenate()([layers.UpSampling2D()(leaky(x, 128, 1)), fine])
    fine = layers.Conv2D(3 * 7, 1, dtype="float32")(leaky(y, 256))

    def loss(wanted, found):
        there = wanted[..., 4:5]
        boxes = ops.sum(there * ops.square(wanted[..., :4] - found[..., :4]), axis=(1, 2))
        sure = ops.binary_crossentropy(there, found[..., 4:5], from_logits=True)
        kinds = there * ops.binary_crossentropy(wanted[..., 5:], found[..., 5:], from_logits=True)
        return ops.mean(5.0 * ops.sum(boxes, -1) + ops.sum(sure, (1, 2, 3)) + ops.sum(kinds, (1, 2, 3)))

    outs = [layers.Reshape((-1, 1, 7), dtype="float32")(one) for one in (coarse, fine)]
    return Case(keras.Model(inputs, outs), [loss, loss], [((256, 256, 3), "float32")],
                [((192, 1, 7), "float32"), ((768, 1, 7), "float32")])  # fmt: skip


# Made of noise


class PlainVae(keras.Model):
    """Dense layers only; the step is written out, with trackers, as the guides have it."""

    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="total")
        self.seed = keras.random.SeedGenerator(11)

    @property
    def metrics(self):
        return [self.total]

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            mean, log = self.encoder(x)
            z = mean + tf.exp(0.5 * log) * keras.random.normal(tf.shape(mean), seed=self.seed)
            back = self.decoder(z)
            near = tf.reduce_mean(tf.reduce_sum(keras.losses.binary_crossentropy(x, back), axis=1))
            apart = -0.5 * (1 + log - tf.square(mean) - tf.exp(log))
            loss = near + 4.0 * tf.reduce_mean(tf.reduce_sum(apart, axis=1))
        found = _apply(self, tape, loss)
        self.total.update_state(loss)
        return found | {"total": self.total.result()}


@_add
def clothes_from_few_numbers():
    inputs = keras.Input((28, 28))
    x = layers.Flatten()(inputs)
    for width in (512, 256):
        x = layers.Dense(width, activation="relu")(x)
    encoder = keras.Model(inputs, [layers.Dense(16)(x), layers.Dense(16)(x)])
    inputs = x = keras.Input((16,))
    for width in (256, 512):
        x = layers.Dense(width, activation="relu")(x)
    x = layers.Reshape((28, 28))(layers.Dense(784, activation="sigmoid")(x))
    return _stepped(PlainVae(encoder, keras.Model(inputs, x)), ((28, 28), "float32"))


class ClippedCritic(keras.Model):
    """A critic whose weights are clipped after each step, and what makes pictures for it."""

    def __init__(self, critic, maker):
        super().__init__()
        self.critic, self.maker = critic, maker

    def compile(self, optimizer, loss=None, **options):
        super().compile(optimizer=optimizer, loss=loss, **options)
        self.other = keras.optimizers.RMSprop(5e-5)
        self.other.build(self.maker.trainable_variables)

    def train_step(self, data):
        real = data[0] if isinstance(data, tuple) else data
        noise = tf.random.normal((tf.shape(real)[0], 100))
        with tf.GradientTape() as tape:
            made = self.maker(noise, training=True)
            cost = tf.reduce_mean(self.critic(made, training=True)) - tf.reduce_mean(
                self.critic(real, training=True)
            )
        weights = self.critic.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(cost, weights), weights))
        for weight in weights:
            weight.assign(tf.clip_by_value(weight, -0.01, 0.01))
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.maker(noise, training=True), training=True))
        weights = self.maker.trainable_variables
        self.other.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"critic": cost, "maker": loss}


@_add
def rooms_of_noise():
    x = inputs = keras.Input((64, 64, 3))
    for width in (64, 128, 256):
        x = layers.Conv2D(width, 4, 2, "same", use_bias=False)(x)
        x = layers.BatchNormalization()(x) if width > 64 else x
        x = layers.LeakyReLU(negative_slope=0.2)(x)
    critic = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
    x = inputs = keras.Input((100,))
    x = layers.Reshape((8, 8, 256))(layers.Dense(8 * 8 * 256, use_bias=False)(x))
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for width in (128, 64):
        x = layers.Conv2DTranspose(width, 4, 2, "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Conv2DTranspose(3, 4, 2, "same", activation="tanh")(x)
    return _stepped(ClippedCritic(critic, keras.Model(inputs, x)), ((64, 64, 3), "float32"))


class ByLabels(keras.Model):
    """What a picture is of is laid beside it as channels, and beside the noise."""

    def __init__(self, judge, maker):
        super().__init__()
        self.judge, self.maker = judge, maker
        self.entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, data):
        real, labels = data
        count = tf.shape(real)[0]
        planes = tf.repeat(tf.repeat(labels[:, None, None, :], 32, axis=1), 32, axis=2)
        noise = tf.concat([tf.random.normal((count, 64)), labels], axis=1)
        made = tf.concat([self.maker(noise), planes], -1)
        both = tf.concat([made, tf.concat([real, planes], -1)], axis=0)
        truth = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
        with tf.GradientTape() as tape:
            first = self.entropy(truth, self.judge(both))
        weights = self.judge.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(first, weights), weights))
        noise = tf.concat([tf.random.normal((count, 64)), labels], axis=1)
        with tf.GradientTape() as tape:
            said = self.judge(tf.concat([self.maker(noise), planes], -1))
            second = self.entropy(tf.zeros((count, 1)), said)
        weights = self.maker.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(second, weights), weights))
        return {"judge": first, "maker": second}


@_add
def objects_by_label():
    judge = keras.Sequential([keras.Input((32, 32, 13))])
    for width in (64, 128, 128):
        judge.add(layers.Conv2D(width, 3, 2, "same"))
        judge.add(layers.LeakyReLU(negative_slope=0.2))
    judge.add(layers.GlobalMaxPooling2D())
    judge.add(layers.Dense(1))
    maker = keras.Sequential([keras.Input((74,)), layers.Dense(8 * 8 * 74)])
    maker.add(layers.LeakyReLU(negative_slope=0.2))
    maker.add(layers.Reshape((8, 8, 74)))
    for _ in range(2):
        maker.add(layers.Conv2DTranspose(128, 4, 2, "same"))
        maker.add(layers.LeakyReLU(negative_slope=0.2))
    maker.add(layers.Conv2D(3, 7, padding="same", activation="sigmoid"))
    return _stepped(ByLabels(judge, maker), ((32, 32, 3), "float32"), y=((10,), "float32"))

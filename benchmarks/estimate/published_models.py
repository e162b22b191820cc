"""The models of the published facts that keras.applications does not have, as their sources describe them.

`tf.keras` is Keras 2 under TF_USE_LEGACY_KERAS=1: the facts before 2020 were measured with fused batch normalization,
which Keras 3 takes apart.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

layers = keras.layers


def _compiled(model, optimizer, loss="sparse_categorical_crossentropy"):
    model.compile(optimizer=optimizer, loss=loss)
    return model


def _momentum():
    return keras.optimizers.SGD(0.01, momentum=0.9)


# NVIDIA DeepLearningExamples, TensorFlow2/LanguageModeling/BERT: BERT-Large, in a loop written by hand whose pieces
# TensorFlow gives to XLA by auto-clustering, not `jit_compile`.


class TiedLogits(keras.layers.Layer):
    """Scores of all words by the transposed embedding table, with a bias."""

    def __init__(self, embedding, words, **options):
        super().__init__(**options)
        self.embedding, self.words = embedding, words

    def build(self, shape):
        self.bias = self.add_weight(shape=(self.words,), initializer="zeros", name="bias")

    def call(self, x):
        table = tf.cast(self.embedding.embeddings, x.dtype)
        return tf.einsum("bpw,vw->bpv", x, table) + tf.cast(self.bias, x.dtype)


class Positions(keras.layers.Layer):
    """Adds a vector for each position."""

    def __init__(self, width, **options):
        super().__init__(**options)
        self.width = width

    def build(self, shape):
        self.table = self.add_weight(shape=(512, self.width), name="table")

    def call(self, x):
        return x + tf.cast(self.table[: x.shape[1]], x.dtype)


class Accumulating(keras.Model):
    """Sums up the gradients of several batches in variables before they are applied."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = whole = self.compute_loss(x, y, self(x, training=True))
            scaled = hasattr(self.optimizer, "get_scaled_loss")
            if scaled:
                loss = self.optimizer.get_scaled_loss(whole)
        gradients = tape.gradient(loss, self.trainable_variables)
        if scaled:
            gradients = self.optimizer.get_unscaled_gradients(gradients)
        for total, gradient in zip(self.totals, gradients, strict=True):
            total.assign_add(tf.convert_to_tensor(gradient))
        self.optimizer.apply_gradients(zip(self.totals, self.trainable_variables, strict=True))
        return {"loss": whole}


class Attended(keras.layers.Layer):
    """Probabilities from queries and keys with their heads in front, dropped out, times the values."""

    def __init__(self, dropout, **options):
        super().__init__(**options)
        self.dropout = layers.Dropout(dropout)

    def call(self, tensors, training=None):
        query, key, value = tensors
        query, key = (tf.transpose(one, [0, 2, 1, 3]) for one in (query, key))
        scores = tf.matmul(query, key, transpose_b=True) * (1 / query.shape[-1] ** 0.5)
        return tf.einsum("bnft,btnh->bfnh", self.dropout(tf.nn.softmax(scores), training=training), value)


def _gelu(x):
    """With tanh, and in float32 whatever the policy."""
    return tf.cast(tf.nn.gelu(tf.cast(x, "float32"), approximate=True), x.dtype)


def _bert(length, words=30_522, width=1_024, depth=24, heads=16, dropout=0.1):
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    segments = keras.Input((length,), dtype="int32", name="segments")
    embedding = layers.Embedding(words, width, name="word_embeddings")
    x = embedding(tokens) + layers.Embedding(2, width)(segments)
    x = Positions(width)(x)
    x = layers.Dropout(dropout)(layers.LayerNormalization(epsilon=1e-12)(x))

    def normalized(*parts):
        return layers.LayerNormalization(epsilon=1e-12, dtype="float32")(layers.Add(dtype="float32")(parts))

    for _ in range(depth):
        shape = (length, heads, width // heads)
        split = [layers.EinsumDense("abc,cde->abde", shape, bias_axes="de")(x) for _ in range(3)]
        attended = layers.EinsumDense("abcd,cde->abe", (length, width), bias_axes="e")(
            Attended(dropout)(split)
        )
        x = normalized(x, layers.Dropout(dropout)(attended))
        wide = layers.Lambda(_gelu)(layers.Dense(4 * width)(x))
        x = normalized(x, layers.Dropout(dropout)(layers.Dense(width)(wide)))
    return [tokens, segments], x, embedding


def bert_large_pretraining(length=128):
    """Masked words (20 of 128, 80 of 512) and next sentence; two slots (LAMB has Adam's) and accumulated gradients."""
    inputs, x, embedding = _bert(length)
    positions = keras.Input((80 if length == 512 else 20,), dtype="int32", name="masked")
    masked = layers.Lambda(lambda both: tf.gather(both[0], both[1], batch_dims=1))([x, positions])
    masked = layers.LayerNormalization(epsilon=1e-12)(layers.Dense(1_024, activation="gelu")(masked))
    words = layers.Activation("linear", dtype="float32", name="words")(TiedLogits(embedding, 30_522)(masked))
    pooled = layers.Dense(1_024, activation="tanh")(x[:, 0])
    following = layers.Dense(2, dtype="float32", name="next")(pooled)
    model = Accumulating([*inputs, positions], {"words": words, "next": following})
    model.totals = [tf.Variable(tf.zeros(one.shape), trainable=False) for one in model.trainable_variables]
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _compiled(
        model, keras.optimizers.Adam(1e-3, global_clipnorm=1.0), {"words": sparse, "next": sparse}
    )


def bert_large_squad(length=384):
    """Start and end of the answer; AdamW."""
    inputs, x, _ = _bert(length)
    both = layers.Dense(2, dtype="float32")(x)
    model = keras.Model(inputs, {"start": both[:, :, 0], "end": both[:, :, 1]})
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.AdamW(1e-5, global_clipnorm=1.0)
    return _compiled(model, optimizer, {"start": sparse, "end": sparse})


# NVIDIA DeepLearningExamples, TensorFlow2/Segmentation/UNet_Medical: valid convolutions, crops on the skips.


def unet_medical(side=572):
    """Two classes, 64 to 1,024 channels; Adam."""
    image = x = keras.Input((side, side, 1))
    skips = []
    for channels in (64, 128, 256, 512):
        for _ in range(2):
            x = layers.Conv2D(channels, 3, activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    for _ in range(2):
        x = layers.Conv2D(1_024, 3, activation="relu")(x)
    for channels in (512, 256, 128, 64):
        x = layers.Conv2DTranspose(channels, 2, strides=2)(x)
        skip = skips.pop()
        cut = skip.shape[1] - x.shape[1]
        low = cut // 2
        skip = layers.Cropping2D(((low, cut - low), (low, cut - low)))(skip)
        x = layers.Concatenate()([skip, x])
        for _ in range(2):
            x = layers.Conv2D(channels, 3, activation="relu")(x)
    x = layers.Conv2D(2, 1, dtype="float32")(x)
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    return _compiled(keras.Model(image, x), keras.optimizers.Adam(1e-4), loss)


# tf_cnn_benchmarks and tensorflow/models' slim: what keras.applications lacks.


def _conv(x, channels, size, strides=1, padding="same"):
    x = layers.Conv2D(channels, size, strides=strides, padding=padding, use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization(scale=False)(x))


def _joined(*branches):
    return layers.Concatenate()(list(branches))


def inception_v4(optimizer="momentum"):
    """Szegedy et al. 2016, figures 3 to 9."""
    image = keras.Input((299, 299, 3))
    x = _conv(image, 32, 3, 2, "valid")
    x = _conv(_conv(x, 32, 3, 1, "valid"), 64, 3)
    x = _joined(layers.MaxPooling2D(3, 2)(x), _conv(x, 96, 3, 2, "valid"))
    left = _conv(_conv(x, 64, 1), 96, 3, 1, "valid")
    right = _conv(_conv(_conv(_conv(x, 64, 1), 64, (7, 1)), 64, (1, 7)), 96, 3, 1, "valid")
    x = _joined(left, right)
    x = _joined(_conv(x, 192, 3, 2, "valid"), layers.MaxPooling2D(3, 2)(x))

    def pooled(x, channels):
        return _conv(layers.AveragePooling2D(3, 1, padding="same")(x), channels, 1)

    for _ in range(4):
        x = _joined(
            pooled(x, 96),
            _conv(x, 96, 1),
            _conv(_conv(x, 64, 1), 96, 3),
            _conv(_conv(_conv(x, 64, 1), 96, 3), 96, 3),
        )
    x = _joined(
        layers.MaxPooling2D(3, 2)(x),
        _conv(x, 384, 3, 2, "valid"),
        _conv(_conv(_conv(x, 192, 1), 224, 3), 256, 3, 2, "valid"),
    )
    for _ in range(7):
        y = _conv(_conv(_conv(x, 192, 1), 192, (1, 7)), 224, (7, 1))
        x = _joined(
            pooled(x, 128),
            _conv(x, 384, 1),
            _conv(_conv(_conv(x, 192, 1), 224, (1, 7)), 256, (7, 1)),
            _conv(_conv(y, 224, (1, 7)), 256, (7, 1)),
        )
    x = _joined(
        layers.MaxPooling2D(3, 2)(x),
        _conv(_conv(x, 192, 1), 192, 3, 2, "valid"),
        _conv(_conv(_conv(_conv(x, 256, 1), 256, (1, 7)), 320, (7, 1)), 320, 3, 2, "valid"),
    )
    for _ in range(3):
        y = _conv(x, 384, 1)
        z = _conv(_conv(_conv(x, 384, 1), 448, (1, 3)), 512, (3, 1))
        x = _joined(
            pooled(x, 256),
            _conv(x, 256, 1),
            _conv(y, 256, (1, 3)),
            _conv(y, 256, (3, 1)),
            _conv(z, 256, (1, 3)),
            _conv(z, 256, (3, 1)),
        )
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    x = layers.Dense(1_000, activation="softmax")(x)
    return _compiled(keras.Model(image, x), _momentum() if optimizer == "momentum" else "sgd")


def _bottleneck(x, channels, strides, shortcut):
    skip = x
    if shortcut:
        skip = layers.Conv2D(4 * channels, 1, strides=strides, use_bias=False)(x)
        skip = layers.BatchNormalization()(skip)
    y = layers.Conv2D(channels, 1, strides=strides, use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.Conv2D(channels, 3, padding="same", use_bias=False)(y)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(4 * channels, 1, use_bias=False)(y))
    return layers.ReLU()(layers.Add()([skip, y]))


def resnet(depth=50, optimizer="sgd"):
    """ResNet v1 as tf_cnn_benchmarks builds it: no biases."""
    blocks = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}[depth]
    image = keras.Input((224, 224, 3))
    x = layers.Conv2D(64, 7, strides=2, padding="same", use_bias=False)(image)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.MaxPooling2D(3, 2, padding="same")(x)
    for stage, count in enumerate(blocks):
        for index in range(count):
            x = _bottleneck(x, 64 << stage, 2 if stage and not index else 1, not index)
    x = layers.Dense(1_000, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return _compiled(keras.Model(image, x), _momentum() if optimizer == "momentum" else "sgd")


def application(name="VGG16", side=224, optimizer="sgd"):
    """One of keras.applications, of the Keras in use."""
    model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))
    return _compiled(model, _momentum() if optimizer == "momentum" else optimizer)


# github.com/theqihao/tfmodels.


def alexnet():
    """Krizhevsky 2012 in one column."""
    image = keras.Input((224, 224, 3))
    x = layers.Conv2D(96, 11, strides=4, activation="relu")(image)
    x = layers.MaxPooling2D(3, 2)(x)
    x = layers.Conv2D(256, 5, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, 2)(x)
    for channels in (384, 384, 256):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
    x = layers.Flatten()(layers.MaxPooling2D(3, 2)(x))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(4_096, activation="relu")(x))
    x = layers.Dense(1_000, activation="softmax")(x)
    return _compiled(keras.Model(image, x), _momentum())


def googlenet():
    """Szegedy et al. 2014, table 1, without the auxiliary heads."""

    def conv(x, channels, size, strides=1):
        return layers.Conv2D(channels, size, strides=strides, padding="same", activation="relu")(x)

    image = keras.Input((224, 224, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(conv(image, 64, 7, 2))
    x = layers.MaxPooling2D(3, 2, padding="same")(conv(conv(x, 64, 1), 192, 3))
    table = (
        (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
        (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None,
        (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128),
    )  # fmt: skip
    for row in table:
        if row is None:
            x = layers.MaxPooling2D(3, 2, padding="same")(x)
            continue
        one, three_in, three, five_in, five, pool = row
        x = _joined(
            conv(x, one, 1),
            conv(conv(x, three_in, 1), three, 3),
            conv(conv(x, five_in, 1), five, 5),
            conv(layers.MaxPooling2D(3, 1, padding="same")(x), pool, 1),
        )
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    x = layers.Dense(1_000, activation="softmax")(x)
    return _compiled(keras.Model(image, x), _momentum())


def wide_resnet(depth=28, width=10):
    """WRN-28-10 for CIFAR (Zagoruyko 2016)."""
    image = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(image)
    for stage in range(3):
        channels = (16 << stage) * width
        for index in range((depth - 4) // 6):
            strides = 2 if stage and not index else 1
            y = layers.ReLU()(layers.BatchNormalization()(x))
            skip = x
            if not index:
                skip = layers.Conv2D(channels, 1, strides=strides, use_bias=False)(y)
            y = layers.Conv2D(channels, 3, strides=strides, padding="same", use_bias=False)(y)
            y = layers.ReLU()(layers.BatchNormalization()(y))
            y = layers.Conv2D(channels, 3, padding="same", use_bias=False)(y)
            x = layers.Add()([skip, y])
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return _compiled(keras.Model(image, x), _momentum())


def efficientnet(name="EfficientNetB0", side=224):
    """NVIDIA DeepLearningExamples, TensorFlow2/Classification/ConvNets: RMSprop with momentum, EMA of the weights."""
    model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))
    return _compiled(model, keras.optimizers.RMSprop(0.1, momentum=0.9, use_ema=True))

"""Small models, as source text: Keras builds them in the test, the dry run only reads them.

Each text binds `model`, a built model. `BOTH` holds in Keras 3 and Keras 2, `KERAS3` in Keras 3 only. Sizes are odd on
purpose wherever rounding could go wrong.
"""

from __future__ import annotations

BOTH = {
    "dense stack": """
model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(64, use_bias=False),
    keras.layers.Dropout(0.5),
    keras.layers.Dense(10, "softmax"),
])
""",
    "dense on three axes": """
model = keras.Sequential([keras.Input((7, 8)), keras.layers.Dense(16), keras.layers.Dense(units=3)])
""",
    "add and input_shape": """
model = keras.Sequential()
model.add(keras.layers.Conv2D(32, (3, 3), activation="relu", input_shape=(29, 31, 3)))
model.add(keras.layers.MaxPooling2D((2, 2)))
model.add(keras.layers.Conv2D(filters=64, kernel_size=3, strides=2, padding="same"))
model.add(keras.layers.Flatten())
model.add(keras.layers.Dense(128))
""",
    "built by hand": """
model = keras.Sequential([keras.layers.Dense(5), keras.layers.Dense(6)])
model.build((None, 11))
""",
    "built by a call": """
model = keras.Sequential([keras.layers.Conv1D(4, 3), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)])
model(np.zeros((2, 17, 3), dtype="float32"))
""",
    "conv valid": """
model = keras.Sequential([
    keras.Input((33, 47, 3)),
    keras.layers.Conv2D(8, 5),
    keras.layers.Conv2D(8, (3, 5), strides=(2, 3)),
    keras.layers.Conv2D(8, 3, dilation_rate=2),
])
""",
    "conv same": """
model = keras.Sequential([
    keras.Input((33, 47, 3)),
    keras.layers.Conv2D(8, 5, padding="same"),
    keras.layers.Conv2D(8, 3, 2, "same"),
    keras.layers.Conv2D(12, 3, padding="SAME", strides=(3, 2)),
])
""",
    "conv 1d": """
model = keras.Sequential([
    keras.Input((101, 4)),
    keras.layers.Conv1D(16, 7, strides=3),
    keras.layers.Conv1D(16, 3, padding="causal", dilation_rate=4),
    keras.layers.MaxPooling1D(3),
    keras.layers.AveragePooling1D(2, strides=1, padding="same"),
    keras.layers.GlobalMaxPooling1D(),
])
""",
    "conv 3d": """
model = keras.Sequential([
    keras.Input((17, 19, 21, 1)),
    keras.layers.Conv3D(4, 3, strides=(1, 2, 2)),
    keras.layers.MaxPooling3D((2, 1, 2)),
    keras.layers.AveragePooling3D(pool_size=2, padding="same"),
    keras.layers.GlobalAveragePooling3D(),
])
""",
    "channels first": """
model = keras.Sequential([
    keras.Input((3, 24, 30)),
    keras.layers.MaxPooling2D(2, data_format="channels_first"),
    keras.layers.UpSampling2D((2, 3), data_format="channels_first"),
    keras.layers.ZeroPadding2D(1, data_format="channels_first"),
    keras.layers.GlobalAveragePooling2D(data_format="channels_first"),
])
""",
    "grouped conv": """
model = keras.Sequential([keras.Input((8, 8, 12)), keras.layers.Conv2D(24, 3, groups=4, use_bias=False)])
""",
    "depthwise and separable": """
model = keras.Sequential([
    keras.Input((21, 21, 6)),
    keras.layers.DepthwiseConv2D(3, depth_multiplier=2),
    keras.layers.SeparableConv2D(10, 3, strides=2, padding="same", depth_multiplier=2),
    keras.layers.DepthwiseConv2D((5, 3), padding="same", use_bias=False),
])
""",
    "separable 1d": """
model = keras.Sequential([
    keras.Input((40, 6)), keras.layers.SeparableConv1D(10, 5, strides=2), keras.layers.DepthwiseConv1D(3)])
""",
    "transposed same": """
model = keras.Sequential([
    keras.Input((7, 9, 16)),
    keras.layers.Conv2DTranspose(8, 3, strides=2, padding="same"),
    keras.layers.Conv2DTranspose(4, (5, 4), strides=(2, 3), padding="same", use_bias=False),
])
""",
    "transposed valid": """
model = keras.Sequential([
    keras.Input((7, 9, 16)),
    keras.layers.Conv2DTranspose(8, 3, strides=2),
    keras.layers.Conv2DTranspose(8, 2, strides=3),
    keras.layers.Conv2DTranspose(8, (4, 5)),
])
""",
    "transposed 1d and 3d": """
a = keras.Input((10, 3))
b = keras.Input((4, 5, 6, 2))
model = keras.Model([a, b], [
    keras.layers.Conv1DTranspose(6, 4, strides=2)(a),
    keras.layers.Conv3DTranspose(2, 3, strides=2, padding="same")(b),
])
""",
    "output padding": """
model = keras.Sequential([
    keras.Input((7, 7, 4)), keras.layers.Conv2DTranspose(4, 3, strides=2, padding="valid", output_padding=1)])
""",
    "pooling": """
model = keras.Sequential([
    keras.Input((35, 37, 3)),
    keras.layers.MaxPooling2D(),
    keras.layers.AveragePooling2D((3, 3), strides=2),
    keras.layers.MaxPool2D(pool_size=3, strides=2, padding="same"),
    keras.layers.AvgPool2D(2, 1),
])
""",
    "global pooling keeps": """
model = keras.Sequential([
    keras.Input((9, 9, 5)), keras.layers.GlobalMaxPooling2D(keepdims=True), keras.layers.Flatten()])
""",
    "padding and cropping": """
model = keras.Sequential([
    keras.Input((20, 30, 3)),
    keras.layers.ZeroPadding2D(),
    keras.layers.ZeroPadding2D((1, 2)),
    keras.layers.ZeroPadding2D(((0, 1), (2, 3))),
    keras.layers.Cropping2D(((2, 1), (4, 3))),
    keras.layers.Cropping2D(2),
])
""",
    "padding and cropping 1d 3d": """
a = keras.Input((20, 3))
b = keras.Input((8, 9, 10, 2))
x = keras.layers.Cropping1D((2, 3))(keras.layers.ZeroPadding1D(4)(a))
y = keras.layers.Cropping3D()(keras.layers.ZeroPadding3D((1, 2, 3))(b))
model = keras.Model([a, b], [x, y])
""",
    "up sampling": """
a = keras.Input((6, 3))
b = keras.Input((5, 6, 3))
c = keras.Input((3, 4, 5, 1))
model = keras.Model([a, b, c], [
    keras.layers.UpSampling1D(3)(a),
    keras.layers.UpSampling2D((2, 4), interpolation="bilinear")(b),
    keras.layers.UpSampling3D()(c),
])
""",
    "normalisation": """
model = keras.Sequential([
    keras.Input((6, 6, 8)),
    keras.layers.BatchNormalization(),
    keras.layers.BatchNormalization(axis=1, scale=False),
    keras.layers.BatchNormalization(center=False, momentum=0.9),
    keras.layers.LayerNormalization(),
    keras.layers.LayerNormalization(axis=[1, 2, 3], center=False),
    keras.layers.GroupNormalization(4),
    keras.layers.UnitNormalization(),
])
""",
    "activations": """
model = keras.Sequential([
    keras.Input((6, 6, 8)),
    keras.layers.Activation("relu"),
    keras.layers.LeakyReLU(),
    keras.layers.ELU(),
    keras.layers.PReLU(),
    keras.layers.PReLU(shared_axes=[1, 2]),
    keras.layers.ReLU(max_value=6),
    keras.layers.Softmax(),
])
""",
    "noise": """
model = keras.Sequential([
    keras.Input((6, 8)),
    keras.layers.GaussianNoise(0.1),
    keras.layers.GaussianDropout(0.1),
    keras.layers.SpatialDropout1D(0.2),
    keras.layers.ActivityRegularization(l2=0.1),
    keras.layers.Dense(2),
])
""",
    "reshaping": """
model = keras.Sequential([
    keras.Input((12, 10)),
    keras.layers.Reshape((6, 20)),
    keras.layers.Reshape((-1, 4)),
    keras.layers.Permute((2, 1)),
    keras.layers.Flatten(),
    keras.layers.RepeatVector(3),
    keras.layers.Reshape((3, 2, -1, 5)),
])
""",
    "flatten of a vector": """
model = keras.Sequential([keras.Input((9,)), keras.layers.Flatten(), keras.layers.Dense(2)])
""",
    "embedding": """
model = keras.Sequential([
    keras.Input((25,)), keras.layers.Embedding(1000, 16), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
""",
    "embedding of unknown length": """
model = keras.Sequential([
    keras.Input((None,)), keras.layers.Embedding(input_dim=500, output_dim=12), keras.layers.LSTM(7)])
""",
    "lstm": """
model = keras.Sequential([
    keras.Input((20, 5)),
    keras.layers.LSTM(32, return_sequences=True),
    keras.layers.LSTM(16, return_sequences=True, use_bias=False),
    keras.layers.LSTM(8),
])
""",
    "gru": """
model = keras.Sequential([
    keras.Input((20, 5)),
    keras.layers.GRU(32, return_sequences=True),
    keras.layers.GRU(16, reset_after=False, return_sequences=True),
    keras.layers.SimpleRNN(4),
])
""",
    "bidirectional": """
model = keras.Sequential([
    keras.Input((20, 5)),
    keras.layers.Bidirectional(keras.layers.LSTM(6, return_sequences=True)),
    keras.layers.Bidirectional(keras.layers.GRU(7, return_sequences=True), merge_mode="sum"),
    keras.layers.Bidirectional(keras.layers.SimpleRNN(3)),
])
""",
    "encoder and decoder": """
source = keras.Input((None,))
embedded = keras.layers.Embedding(400, 16)(source)
_, state_h, state_c = keras.layers.LSTM(24, return_state=True)(embedded)
target = keras.Input((None,))
steps = keras.layers.Embedding(300, 16)(target)
outputs, _, _ = keras.layers.LSTM(24, return_sequences=True, return_state=True)(
    steps, initial_state=[state_h, state_c])
model = keras.Model([source, target], keras.layers.Dense(300, activation="softmax")(outputs))
""",
    "recurrent cells": """
inputs = keras.Input((12, 4))
x = keras.layers.RNN(keras.layers.LSTMCell(9), return_sequences=True)(inputs)
x = keras.layers.RNN([keras.layers.GRUCell(8), keras.layers.GRUCell(5)])(x)
model = keras.Model(inputs, x)
""",
    "conv lstm": """
model = keras.Sequential([
    keras.Input((5, 16, 18, 3)),
    keras.layers.ConvLSTM2D(8, (3, 3), padding="same", return_sequences=True),
    keras.layers.ConvLSTM2D(4, 3, strides=2),
])
""",
    "time distributed": """
model = keras.Sequential([
    keras.Input((6, 20, 22, 3)),
    keras.layers.TimeDistributed(keras.layers.Conv2D(8, 3, activation="relu")),
    keras.layers.TimeDistributed(keras.layers.MaxPooling2D(2)),
    keras.layers.TimeDistributed(keras.layers.Flatten()),
    keras.layers.LSTM(10),
])
""",
    "time distributed model": """
frame = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(5)])
clip = keras.Input((4, 8, 8, 1))
model = keras.Model(clip, keras.layers.GRU(3)(keras.layers.TimeDistributed(frame)(clip)))
""",
    "self attention": """
x = inputs = keras.Input((50, 32))
attended = keras.layers.MultiHeadAttention(num_heads=4, key_dim=8)(x, x)
x = keras.layers.LayerNormalization(epsilon=1e-6)(x + attended)
model = keras.Model(inputs, x)
""",
    "cross attention": """
query = keras.Input((10, 24))
memory = keras.Input((40, 36))
out = keras.layers.MultiHeadAttention(3, 7, value_dim=5, use_bias=False)(query=query, value=memory, key=memory)
model = keras.Model([query, memory], out)
""",
    "attention with scores": """
x = keras.Input((10, 24))
out, scores = keras.layers.MultiHeadAttention(2, 6, output_shape=11)(x, x, return_attention_scores=True)
model = keras.Model(x, [out, scores])
""",
    "luong attention": """
query = keras.Input((10, 24))
memory = keras.Input((40, 24))
plain = keras.layers.Attention()([query, memory])
scaled = keras.layers.Attention(use_scale=True)([query, memory])
additive = keras.layers.AdditiveAttention()([query, memory])
model = keras.Model([query, memory], keras.layers.Concatenate()([plain, scaled, additive]))
""",
    "merging": """
a = keras.Input((8, 3))
b = keras.Input((8, 3))
c = keras.Input((8, 5))
x = keras.layers.Add()([a, b])
x = keras.layers.Multiply()([x, b])
x = keras.layers.Maximum()([x, a])
x = keras.layers.Average()([x, a, b])
x = keras.layers.Concatenate()([x, c])
x = keras.layers.Concatenate(axis=1)([x, x])
model = keras.Model([a, b, c], x)
""",
    "merging by functions": """
a = keras.Input((8, 3))
b = keras.Input((8, 3))
x = keras.layers.concatenate([keras.layers.add([a, b]), keras.layers.subtract([a, b])], axis=-1)
model = keras.Model(inputs=[a, b], outputs=keras.layers.multiply([x, x]))
""",
    "dot": """
a = keras.Input((8, 3))
b = keras.Input((5, 3))
x = keras.layers.Dot(axes=2)([a, b])
u = keras.Input((16,))
v = keras.Input((16,))
y = keras.layers.dot([u, v], axes=1)
model = keras.Model([a, b, u, v], [x, y])
""",
    "broadcast": """
a = keras.Input((8, 8, 16))
gate = keras.layers.GlobalAveragePooling2D()(a)
gate = keras.layers.Dense(4, activation="relu")(gate)
gate = keras.layers.Dense(16, activation="sigmoid")(gate)
gate = keras.layers.Reshape((1, 1, 16))(gate)
model = keras.Model(a, keras.layers.Multiply()([a, gate]))
""",
    "preprocessing": """
model = keras.Sequential([
    keras.Input((100, 120, 3)),
    keras.layers.Rescaling(1 / 255),
    keras.layers.RandomFlip("horizontal"),
    keras.layers.RandomRotation(0.1),
    keras.layers.RandomZoom(0.2),
    keras.layers.Resizing(64, 48),
    keras.layers.RandomCrop(60, 40),
    keras.layers.CenterCrop(height=32, width=24),
    keras.layers.Normalization(),
])
""",
    "u-net": """
def block(x, filters):
    x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = keras.layers.BatchNormalization()(x)
    return keras.layers.ReLU()(x)


inputs = keras.Input((64, 96, 3))
x, skips = inputs, []
for filters in (8, 16, 32):
    x = block(x, filters)
    skips.append(x)
    x = keras.layers.MaxPooling2D(2)(x)
x = block(x, 64)
for filters, skip in zip((32, 16, 8), reversed(skips)):
    x = keras.layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
    x = keras.layers.concatenate([x, skip])
    x = block(x, filters)
model = keras.Model(inputs, keras.layers.Conv2D(1, 1, activation="sigmoid")(x))
""",
    "residual": """
def residual(x, filters, stride=1):
    shortcut = x
    if stride != 1 or x.shape[-1] != filters:
        shortcut = keras.layers.Conv2D(filters, 1, strides=stride)(x)
    x = keras.layers.Conv2D(filters, 3, strides=stride, padding="same")(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Conv2D(filters, 3, padding="same")(x)
    return keras.layers.Activation("relu")(keras.layers.add([x, shortcut]))


inputs = keras.layers.Input(shape=(31, 31, 3))
x = residual(inputs, 8)
x = residual(x, 16, stride=2)
x = residual(x, 16)
x = keras.layers.GlobalAveragePooling2D()(x)
model = keras.models.Model(inputs=inputs, outputs=keras.layers.Dense(10)(x))
""",
    "nested models": """
encoder = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(32)], name="encoder")
decoder = keras.Sequential(
    [keras.Input((32,)), keras.layers.Dense(784), keras.layers.Reshape((28, 28, 1))], name="decoder")
model = keras.Sequential([keras.Input((28, 28, 1)), encoder, decoder])
""",
    "shared layers": """
left, right = keras.Input((30,)), keras.Input((30,))
shared = keras.layers.Dense(16)
model = keras.Model([left, right], keras.layers.Concatenate()([shared(left), shared(right)]))
""",
    "siamese towers": """
def tower():
    inputs = keras.Input((20, 20, 1))
    x = keras.layers.Conv2D(4, 3)(inputs)
    return keras.Model(inputs, keras.layers.Flatten()(x))


net = tower()
a, b = keras.Input((20, 20, 1)), keras.Input((20, 20, 1))
difference = keras.layers.Subtract()([net(a), net(b)])
model = keras.Model([a, b], keras.layers.Dense(1)(difference))
""",
    "cut out of a model": """
whole = keras.Sequential([
    keras.Input((16, 16, 3)),
    keras.layers.Conv2D(4, 3, name="first"),
    keras.layers.Conv2D(6, 3),
    keras.layers.Flatten(),
    keras.layers.Dense(10),
])
model = keras.Model(whole.inputs, whole.layers[-3].output)
""",
    "new head": """
base = keras.applications.MobileNetV2(include_top=False, weights=None, input_shape=(96, 96, 3))
x = keras.layers.GlobalAveragePooling2D()(base.output)
model = keras.Model(base.input, keras.layers.Dense(5, activation="softmax")(x))
""",
    "backbone as a layer": """
base = keras.applications.VGG16(include_top=False, weights=None, input_shape=(70, 90, 3))
base.trainable = False
model = keras.Sequential([
    keras.Input((70, 90, 3)), base, keras.layers.Flatten(), keras.layers.Dense(32), keras.layers.Dense(2)])
""",
    "lambda": """
model = keras.Sequential([
    keras.Input((12, 4)),
    keras.layers.Lambda(lambda x: x * 2.0),
    keras.layers.Dense(3),
])
""",
    "pixels shuffled": """
x = inputs = keras.Input((12, 10, 3))
x = keras.layers.Conv2D(8 * 2 ** 2, 3, padding="same")(x)
x = keras.layers.Lambda(lambda t: tf.nn.depth_to_space(t, 2))(x)
x = keras.layers.Conv2D(3, 3)(x)
x = keras.layers.Lambda(lambda t: tf.nn.space_to_depth(t, block_size=2))(x)
model = keras.Model(inputs, x)
""",
    "skips popped from a stack": """
x = inputs = keras.Input((32, 48, 1))
stack = []
for width in [4, 8]:
    x = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    stack.append(x)
    x = keras.layers.MaxPooling2D()(x)
for width in [8, 4]:
    x = keras.layers.UpSampling2D()(x)
    x = keras.layers.Concatenate()([x, stack.pop()])
    x = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
model = keras.Model(inputs, x)
""",
    "skips reversed in place": """
x = inputs = keras.Input((16, 3))
skips = []
for width in (4, 6):
    x = keras.layers.Conv1D(width, 3, strides=2, padding="same")(x)
    skips.append(x)
skips.reverse()
x = keras.layers.UpSampling1D(2)(skips[0])
model = keras.Model(inputs, keras.layers.concatenate([x, skips[1]]))
""",
    "stages from a generator": """
import copy
import re

STAGES = ["r2_f8", "r1_f12"]
OPTIONS = [{"kernel_size": 3, "times": 1}, {"kernel_size": 5, "times": 2}]


def stages():
    for text, options in zip(STAGES, copy.deepcopy(OPTIONS)):
        found = dict(re.findall(r"([a-z])([0-9]+)", text))
        times = options.pop("times")
        for _ in range(int(found["r"]) * times):
            yield int(found["f"]), options


x = inputs = keras.Input((20, 20, 3))
for filters, options in stages():
    x = keras.layers.Conv2D(filters, padding="same", **options)(x)
model = keras.Model(inputs, x)
""",
    "settings from a dataclass": """
import dataclasses


@dataclasses.dataclass
class Settings:
    size: int = 48
    filters: tuple = (8, 16, 24)
    units: int = 40


settings = Settings(units=50)
model = keras.Sequential([keras.Input((settings.size, settings.size, 1))])
for filters in settings.filters:
    model.add(keras.layers.Conv2D(filters, 3, activation="relu"))
    model.add(keras.layers.MaxPooling2D())
model.add(keras.layers.Flatten())
model.add(keras.layers.Dense(settings.units))
""",
    "a subclassed model": """
class Net(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.conv = keras.layers.Conv2D(width, 3, activation="relu")
        self.pool = keras.layers.MaxPooling2D()
        self.flat = keras.layers.Flatten()
        self.out = keras.layers.Dense(10)

    def call(self, inputs, training=False):
        x = self.pool(self.conv(inputs))
        return self.out(self.flat(x))


model = Net(6)
model(np.zeros((1, 29, 29, 1), dtype="float32"))
""",
    "a custom layer": """
class Scale(keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.inner = keras.layers.Dense(units)

    def call(self, inputs):
        return self.inner(inputs) * 2.0


inputs = keras.Input((14,))
x = Scale(9)(inputs)
model = keras.Model(inputs, keras.layers.Dense(4)(x))
""",
    "tied words": """
class Tied(keras.layers.Layer):
    def __init__(self, words):
        super().__init__()
        self.words = words

    def call(self, inputs):
        return tf.matmul(inputs, self.words.embeddings, transpose_b=True)


words = keras.layers.Embedding(50, 8)
ids = keras.Input((7,), dtype="int32")
model = keras.Model(ids, Tied(words)(keras.layers.GRU(8, return_sequences=True)(words(ids))))
""",
    "a head by letters": """
class Head(keras.layers.Layer):
    def __init__(self, words):
        super().__init__()
        self.words = words

    def build(self, input_shape):
        self.table = self.add_weight(shape=(input_shape[-1], self.words))

    def call(self, inputs):
        return tf.einsum("btw,wv->btv", inputs, self.table)


hidden = keras.Input((7, 8))
model = keras.Model(hidden, Head(50)(hidden))
""",
    "a custom layer with weights of its own": """
class Linear(keras.layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        return tf.matmul(inputs, self.w) + self.b


inputs = keras.Input((14,))
model = keras.Model(inputs, Linear(6)(inputs))
""",
    "a transformer block": """
class Block(keras.layers.Layer):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(num_heads=heads, key_dim=width // heads)
        self.feed = keras.Sequential([keras.layers.Dense(hidden, activation="gelu"), keras.layers.Dense(width)])
        self.first = keras.layers.LayerNormalization()
        self.second = keras.layers.LayerNormalization()

    def call(self, inputs):
        x = self.first(inputs + self.attention(inputs, inputs))
        return self.second(x + self.feed(x))


inputs = keras.Input((30,))
x = keras.layers.Embedding(200, 16)(inputs)
for _ in range(3):
    x = Block(16, 4, 40)(x)
model = keras.Model(inputs, keras.layers.Dense(200)(keras.layers.GlobalAveragePooling1D()(x)))
""",
    "einsum dense": """
inputs = keras.Input((12, 24))
x = keras.layers.EinsumDense("abc,cde->abde", output_shape=(12, 4, 6), bias_axes="de")(inputs)
x = keras.layers.EinsumDense("abde,def->abf", output_shape=(12, 18), bias_axes="f")(x)
x = keras.layers.EinsumDense("...x,xy->...y", output_shape=7)(x)
model = keras.Model(inputs, x)
""",
    "cloned": """
first = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(4)])
model = keras.models.clone_model(first)
""",
    "from a config": """
first = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(4)])
model = keras.Sequential.from_config(first.get_config())
""",
    "layers of a dictionary": """
LAYERS = {"first": keras.layers.Dense(8), "second": keras.layers.Dense(4)}
x = inputs = keras.Input(shape=[10])
for name in ("first", "second"):
    x = LAYERS[name](x)
model = keras.Model(inputs, x)
""",
    "popped": """
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(5), keras.layers.Dense(4)])
model.pop()
model.add(keras.layers.Dense(3))
""",
    "input with a batch": """
inputs = keras.Input((10, 4), batch_size=8)
model = keras.Model(inputs, keras.layers.GRU(5, stateful=True)(inputs))
""",
    "vectors of several heads": """
inputs = keras.Input((48,))
trunk = keras.layers.Dense(32, activation="relu")(inputs)
heads = [keras.layers.Dense(size, name=f"head{size}")(trunk) for size in (2, 5, 9)]
model = keras.Model(inputs, heads)
""",
}

KERAS3 = {
    "identity and rms": """
model = keras.Sequential([
    keras.Input((12, 16)), keras.layers.Identity(), keras.layers.RMSNormalization(), keras.layers.Dense(4)])
""",
    "grouped queries": """
x = keras.Input((9, 24))
model = keras.Model(x, keras.layers.GroupQueryAttention(head_dim=4, num_query_heads=6, num_key_value_heads=2)(x, x))
""",
    "spectral": """
model = keras.Sequential([
    keras.Input((8, 8, 3)), keras.layers.SpectralNormalization(keras.layers.Conv2D(5, 3))])
""",
    "operations of keras": """
inputs = keras.Input((6, 8, 4))
x = keras.ops.reshape(inputs, (-1, 48, 4))
x = keras.ops.transpose(x, (0, 2, 1))
x = keras.ops.mean(x, axis=1)
model = keras.Model(inputs, keras.layers.Dense(3)(x))
""",
    "input layer": """
model = keras.Sequential([keras.layers.InputLayer(shape=(9, 3)), keras.layers.GRU(4)])
""",
}

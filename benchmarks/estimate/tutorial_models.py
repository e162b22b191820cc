"""Models in the style of tutorials, for a second look at the rules for XLA: nobody tuned on them before.

The names are of what each is trained for. Those of keras.applications stand at another size than its own and have ten
classes; those of published_models.py are as the publications have them.
"""

import keras
import published_models
from keras import layers
from models import BUILDERS, Case, _add


def _of(name, make):
    def case():
        model = make()
        inputs = [(tuple(one.shape[1:]), one.dtype) for one in model.inputs]
        return Case(model, "sparse_categorical_crossentropy", inputs, ((), "int32"))

    BUILDERS[name] = case


def _application(name, side):
    def make():
        return getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3), classes=10)

    _of(f"{name}_{side}", make)


for _name, _side in (
    ("MobileNet", 224),
    ("VGG19", 64),
    ("ResNet50V2", 160),
    ("EfficientNetV2B0", 160),
    ("DenseNet169", 96),
    ("InceptionV3", 150),
    ("ConvNeXtSmall", 96),
    ("EfficientNetB1", 120),
    ("ResNet101", 96),
):
    _application(_name, _side)
_of("published_alexnet", published_models.alexnet)
_of("published_googlenet", published_models.googlenet)
_of("published_resnet50", published_models.resnet)
_of("wide_resnet_16_4", lambda: published_models.wide_resnet(16, 4))


def _classes(i, x, count=10):
    x = layers.Dense(count, activation="softmax", dtype="float32")(x)
    return Case(
        keras.Model(i, x), "sparse_categorical_crossentropy", [(tuple(i.shape[1:]), i.dtype)], ((), "int32")
    )


@_add
def mnist_conv():
    i = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu")(i)
    x = layers.Conv2D(64, 3, activation="relu")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.25)(x)
    x = layers.Flatten()(x)
    x = layers.Dense(128, activation="relu")(x)
    return _classes(i, layers.Dropout(0.5)(x))


@_add
def cats_dogs():
    i = keras.Input((180, 180, 3))
    x = layers.Rescaling(1 / 255)(i)
    for w in (32, 64, 128, 256, 256):
        x = layers.Conv2D(w, 3, activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    return _classes(i, layers.Dropout(0.5)(layers.Flatten()(x)), 2)


@_add
def xception_small():
    i = keras.Input((128, 128, 3))
    x = layers.Conv2D(128, 3, strides=2, padding="same")(layers.Rescaling(1 / 255)(i))
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    p = x
    for w in (256, 512, 728):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.SeparableConv2D(w, 3, padding="same")(x)
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, 2, padding="same")(x)
        r = layers.Conv2D(w, 1, strides=2, padding="same")(p)
        x = layers.add([x, r])
        p = x
    return _classes(i, layers.Dropout(0.25)(layers.GlobalAveragePooling2D()(x)), 2)


@_add
def pets_unet():
    i = keras.Input((160, 160, 3))
    x = layers.Conv2D(32, 3, strides=2, padding="same")(i)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    p = x
    for w in (64, 128, 256):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.SeparableConv2D(w, 3, padding="same")(x)
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, 2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(w, 1, strides=2, padding="same")(p)])
        p = x
    for w in (256, 128, 64, 32):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.Conv2DTranspose(w, 3, padding="same")(x)
            x = layers.BatchNormalization()(x)
        x = layers.UpSampling2D(2)(x)
        r = layers.Conv2D(w, 1, padding="same")(layers.UpSampling2D(2)(p))
        x = layers.add([x, r])
        p = x
    return Case(
        keras.Model(i, layers.Conv2D(3, 3, activation="softmax", padding="same", dtype="float32")(x)),
        "sparse_categorical_crossentropy",
        [((160, 160, 3), "float32")],
        ((160, 160), "int32"),
    )


@_add
def text_transformer():
    i = keras.Input((200,), dtype="int32")
    x = layers.Embedding(20000, 64)(i)
    p = layers.Embedding(200, 64)(keras.ops.arange(200))
    x = x + p
    a = layers.MultiHeadAttention(4, 16)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(a))
    f = layers.Dense(64)(layers.Dense(128, activation="relu")(x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(f))
    x = layers.GlobalAveragePooling1D()(x)
    return _classes(i, layers.Dense(20, activation="relu")(layers.Dropout(0.1)(x)), 2)


@_add
def mini_gpt():
    i = keras.Input((80,), dtype="int32")
    x = layers.Embedding(20000, 256)(i) + layers.Embedding(80, 256)(keras.ops.arange(80))
    for _ in range(3):
        a = layers.MultiHeadAttention(8, 32)(x, x, use_causal_mask=True)
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(a))
        f = layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(f))
    return Case(
        keras.Model(i, layers.Dense(20000, dtype="float32")(x)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        [((80,), "int32")],
        ((80,), "int32"),
    )


@_add
def timeseries_fcn():
    i = x = keras.Input((500, 1))
    for _ in range(3):
        x = layers.Conv1D(64, 3, padding="same")(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return _classes(i, layers.GlobalAveragePooling1D()(x), 2)


@_add
def timeseries_transformer():
    i = x = keras.Input((500, 1))
    for _ in range(4):
        r = x
        x = layers.MultiHeadAttention(4, 64, dropout=0.25)(x, x)
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Dropout(0.25)(x))
        r = x = x + r
        x = layers.Conv1D(4, 1, activation="relu")(x)
        x = layers.Conv1D(1, 1)(layers.Dropout(0.25)(x))
        x = layers.LayerNormalization(epsilon=1e-6)(x) + r
    x = layers.GlobalAveragePooling1D(data_format="channels_first")(x)
    return _classes(i, layers.Dropout(0.4)(layers.Dense(128, activation="relu")(x)), 2)


@_add
def anomaly_autoencoder():
    i = keras.Input((288, 1))
    x = layers.Conv1D(32, 7, padding="same", strides=2, activation="relu")(i)
    x = layers.Dropout(0.2)(x)
    x = layers.Conv1D(16, 7, padding="same", strides=2, activation="relu")(x)
    x = layers.Conv1DTranspose(16, 7, padding="same", strides=2, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    x = layers.Conv1DTranspose(32, 7, padding="same", strides=2, activation="relu")(x)
    return Case(
        keras.Model(i, layers.Conv1DTranspose(1, 7, padding="same", dtype="float32")(x)),
        "mse",
        [((288, 1), "float32")],
        ((288, 1), "float32"),
    )


@_add
def ct_3d():
    i = keras.Input((64, 64, 32, 1))
    x = i
    for w in (32, 32, 64):
        x = layers.Conv3D(w, 3, activation="relu")(x)
        x = layers.MaxPool3D(2)(x)
        x = layers.BatchNormalization()(x)
    x = layers.Dense(256, activation="relu")(layers.GlobalAveragePooling3D()(x))
    return _classes(i, layers.Dropout(0.3)(x), 2)


@_add
def deep_and_cross():
    ins = [keras.Input((), dtype="int32", name=f"c{k}") for k in range(8)]
    e = [layers.Embedding(50000, 32)(a) for a in ins]
    x0 = x = layers.Concatenate()(e)
    for _ in range(3):
        x = x0 * layers.Dense(256)(x) + x
    d = x0
    for _ in range(3):
        d = layers.ReLU()(layers.BatchNormalization()(layers.Dense(512)(d)))
        d = layers.Dropout(0.1)(d)
    m = keras.Model(ins, layers.Dense(1, activation="sigmoid", dtype="float32")(layers.concatenate([x, d])))
    return Case(m, "binary_crossentropy", [((), "int32")] * 8, ((1,), "float32"))


@_add
def mlp_mixer_cifar():
    i = keras.Input((64, 64, 3))
    x = layers.Conv2D(256, 8, strides=8)(i)
    x = layers.Reshape((64, 256))(x)
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(64)(layers.Dense(256, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        y = layers.LayerNormalization()(x)
        x = x + layers.Dense(256)(layers.Dropout(0.2)(layers.Dense(256, activation="gelu")(y)))
    return _classes(i, layers.GlobalAveragePooling1D()(x), 100)


@_add
def pixelcnn_like():
    i = x = keras.Input((28, 28, 1))
    x = layers.Conv2D(128, 7, padding="same", activation="relu")(x)
    for _ in range(4):
        y = layers.Conv2D(64, 1, activation="relu")(x)
        y = layers.Conv2D(64, 3, padding="same", activation="relu")(y)
        x = x + layers.Conv2D(128, 1, activation="relu")(y)
    return Case(
        keras.Model(i, layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)),
        "binary_crossentropy",
        [((28, 28, 1), "float32")],
        ((28, 28, 1), "float32"),
    )


@_add
def conv_lstm():
    i = keras.Input((10, 32, 32, 1))
    x = layers.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(i)
    x = layers.BatchNormalization()(x)
    x = layers.Conv3D(1, 3, padding="same", activation="sigmoid", dtype="float32")(x)
    return Case(
        keras.Model(i, x), "binary_crossentropy", [((10, 32, 32, 1), "float32")], ((10, 32, 32, 1), "float32")
    )


@_add
def swin_like():
    i = keras.Input((64, 64, 3))
    x = layers.Conv2D(96, 4, strides=4)(i)
    x = layers.Reshape((256, 96))(x)
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        y = layers.Reshape((16, 16, 96))(layers.MultiHeadAttention(3, 32)(y, y))
        x = x + layers.Reshape((256, 96))(y)
        x = x + layers.Dense(96)(layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x)))
    return _classes(i, layers.GlobalAveragePooling1D()(x), 100)


@_add
def bigram_speech():
    i = keras.Input((16000, 1))
    x = i
    for w in (16, 32, 64, 128):
        x = layers.Conv1D(w, 9, strides=4, padding="same")(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    return _classes(i, layers.GlobalMaxPooling1D()(x), 35)

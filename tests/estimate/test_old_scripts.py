"""Scripts for older Keras, TensorFlow and Python: the same layers under other names."""

from __future__ import annotations

import numpy as np
import pytest
from estimate.scripts import build

from oomlint.estimate.errors import EstimateError
from oomlint.estimate.worker.subject import Spec

pytest.importorskip("keras")


def test_names_of_older_keras_are_translated(tmp_path, monkeypatch):
    text = """
        from keras.models import Sequential
        from keras.layers.core import Dense, Dropout
        from keras.layers.convolutional import Convolution2D
        from keras.layers.normalization import BatchNormalization
        from keras.utils.np_utils import to_categorical
        from keras.optimizers import Adam
        model = Sequential()
        model.add(Dense(output_dim=6, input_dim=4, init="uniform"))
        model.add(BatchNormalization())
        model.add(Dropout(p=0.5))
        model.add(Dense(2, W_regularizer="l2"))
        model.compile(loss="mse", optimizer=Adam(lr=0.1, decay=1e-6))
        model.fit(x, y, nb_epoch=3, batch_size=5)
        """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 4 * 6 + 6 + 4 * 6 + 6 * 2 + 2
    assert subject.data == (Spec((5, 4), "float32"), Spec((5, 2), "float32"))
    assert any("older Keras" in text for text in subject.assumptions)


def test_helpers_that_are_gone(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        from keras.layers import Dense, Input, Merge, SeparableConv2D, merge
        from keras.models import Model
        from keras.utils import multi_gpu_model
        inputs = Input((8, 8, 3))
        left = SeparableConv2D(4, 3, kernel_regularizer="l2")(inputs)
        both = Merge(mode="concat", concat_axis=-1)([left, left])
        both = merge([both, both], mode="sum")
        net = multi_gpu_model(Model(inputs, Dense(2)(both)), gpus=2)
        net.compile(tf.train.MomentumOptimizer(0.1, 0.9), "mse")
        net.fit(images, labels, batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.output_shape == (None, 6, 6, 2)
    assert subject.model.count_params() == 27 + 3 * 4 + 4 + 8 * 2 + 2  # eight wide after the concatenation
    assert subject.model.optimizer.momentum == 0.9
    assert any("multi_gpu_model" in one and "1/2" in one for one in subject.assumptions)


def test_operations_as_keras_2_took_them(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        from keras import backend as K
        from keras.layers import BatchNormalization, Dense, Input
        from keras.models import Model

        class Head(Model):
            def __init__(self):
                super().__init__()
                self.norm = BatchNormalization()
                self.out = Dense(3)
            def call(self, x, training=False):
                return self.out(self.norm(x, training))

        axis = 1 if K.image_dim_ordering() == "th" else -1
        inputs = Input((8, 4))
        x = tf.nn.relu(tf.reshape(inputs, (-1, 16, 2)))
        x = K.concatenate([x, K.sqrt(tf.abs(x))], axis=axis)
        x = tf.nn.softmax(tf.log(x), dim=2) + tf.reduce_sum(x, reduction_indices=1, keep_dims=True)
        x = K.sum(x, axis=1)
        model = Model(inputs, Head()(x))
        model.compile("sgd", lambda y, p: K.mean(K.square(y - p), axis=-1))
        model.fit(images, labels, batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.output_shape == (None, 3)
    assert (
        subject.model.count_params() == 4 * 4 + 4 * 3 + 3
    )  # four wide after the sum; gamma, beta, two moments
    assert any("keras.backend." in one for one in subject.assumptions)
    assert subject.model.loss(np.ones((2, 3)), np.zeros((2, 3))).numpy().tolist() == [
        1.0,
        1.0,
    ]  # traced later


def test_scripts_for_keras_1_and_python_2(tmp_path, monkeypatch):
    text = """
        import numpy as np
        from keras.layers.convolutional import Conv2D
        from keras.layers import CuDNNLSTM, Dense, Flatten, Input, NoSuchLayer
        from keras.models import Model
        x = inputs = Input((16, 16, 3))
        for i in xrange(2):
            x = Conv2D(4, 3, 3)(x)
        x = Dense(np.int64(6))(Flatten()(x))
        model = Model(inputs, x)
        model.compile("sgd", "mse")
        model.fit(x=images, y=labels, nb_epoch=3)
    """
    shapes = [layer.output.shape for layer in build(tmp_path, text, monkeypatch).model.layers]
    assert shapes == [(None, 16, 16, 3), (None, 14, 14, 4), (None, 12, 12, 4), (None, 576), (None, 6)]
    text = text.replace("keras.layers.convolutional", "keras.layers")
    text = text.replace("from keras.", "from tensorflow.keras.").replace("16, 16", "27, 27")
    shapes = [layer.output.shape for layer in build(tmp_path, text, monkeypatch).model.layers]
    assert shapes[1:3] == [(None, 9, 9, 4), (None, 3, 3, 4)]  # there, the third number was the strides
    text = """
        from tensorflow.keras.layers import CuDNNGRU, Input
        from tensorflow.keras.models import Model
        from tensorflow.keras.utils import multi_gpu_model
        inputs = Input((5, 3))
        model = multi_gpu_model(Model(inputs, CuDNNGRU(2)(inputs)), 2)
        model.compile("sgd", "mse")
        model.fit(images, labels)
    """
    assert build(tmp_path, text, monkeypatch).model.output_shape == (None, 2)


def test_layers_of_add_on_libraries_that_keras_has_by_now(tmp_path, monkeypatch):
    text = """
        import tensorflow as tf
        import tensorflow_addons as tfa
        from keras_contrib.layers.normalization.instancenormalization import InstanceNormalization
        inputs = tf.keras.Input((8, 8, 6))
        x = InstanceNormalization(axis=-1)(inputs)
        x = tfa.layers.GroupNormalization(groups=3)(x)
        model = tf.keras.Model(inputs, x)
        model.compile(tfa.optimizers.SGDW(learning_rate=0.1, weight_decay=0.1, momentum=0.9), "mse")
        model.fit(images, labels, batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 2 * 6 + 2 * 6  # a scale and an offset for each channel
    assert subject.model.optimizer.momentum == 0.9
    assert any("add-on" in one for one in subject.assumptions)
    with pytest.raises(EstimateError, match="SpectralNormalization"):
        build(tmp_path, text.replace("GroupNormalization(groups=3)", "SpectralNormalization()"), monkeypatch)


def test_modules_that_nobody_should_import_and_names_with_slashes(tmp_path, monkeypatch):
    text = """
        from keras import layers
        from keras.models import Input
        from keras.optimizers import adam_v2
        from tensorflow.python import keras
        from tensorflow.python.keras.layers import Dense, LSTM
        inputs = Input((4, 3))
        x = LSTM(2, U_regularizer="l2", forget_bias_init="one", name="block1/lstm")(inputs)
        x = layers.AveragePooling1D(2, 1, "SAME")(layers.Reshape((2, 1))(x))
        x = Dense(x.get_shape().as_list()[-1] + x._keras_shape[-1])(x)
        model = keras.models.Model(input=inputs, output=x)
        model.compile(adam_v2.Adam(learning_rate=0.1), "mse", metrics="mae")
        model.fit(x, y, batch_size=5)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 4 * (3 + 2 + 1) * 2 + 2 * 2


def test_a_model_that_is_built_by_a_sample(tmp_path, monkeypatch):
    text = """
        import numpy as np
        import tensorflow as tf
        class Biased(tf.keras.layers.Layer):
            def build(self, shape):
                self.table = tf.Variable(tf.convert_to_tensor(np.zeros((shape[-1],), "float32")))
                self.dense = tf.keras.layers.Dense(2)
            def call(self, x, training):
                return self.dense(x + self.table)
            def compute_output_shape(self, shape):
                return (shape[0], shape)
        class Net(tf.keras.Model):
            def __init__(self, shape, width):
                super().__init__(shape)
                self.heads = [Biased(), Biased()]
            def call(self, x):
                found = []
                for value, head in zip([x, x], self.heads):
                    found.append(head(value))
                return tf.concat(found, -1)
        model = Net((3,), 2)
        model.compile("sgd", "mse")
        model.fit(tf.zeros((8, 3)), tf.zeros((8, 4)), batch_size=4)
    """
    subject = build(tmp_path, text, monkeypatch)
    assert subject.model.count_params() == 2 * (3 * 2 + 2)  # Keras 3 counts no variable that is not its own
    assert subject.data[1] == Spec((4, 4), "float32")


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 2, 1), (4, 1, 2), (5, 3, 1)])
def test_lengths_as_keras_has_them(padding, kernel, stride, dilation):
    from keras import layers

    from oomlint.estimate.worker.older.convolutions import CONVOLUTIONS

    layer = layers.Conv1D(1, kernel, stride, padding, dilation_rate=dilation if stride == 1 else 1)
    found = CONVOLUTIONS["conv_output_length"](29, kernel, padding, stride, layer.dilation_rate[0])
    assert found == layer.compute_output_shape((1, 29, 1))[1]
    back = layers.Conv1DTranspose(1, kernel, stride, padding)
    found = CONVOLUTIONS["deconv_output_length"](29, kernel, padding, None, stride)
    assert found == back.compute_output_shape((1, 29, 1))[1]

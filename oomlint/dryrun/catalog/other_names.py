"""Parameters that libraries call otherwise than the catalog, which has one name for what many functions take.

Said for those that have more than one name in use: `tf.nn.softmax(logits=x)`, `np.clip(a=x, ...)`, and
`to_categorical(x=labels)` in Keras 3, where Keras 2 had `y`.
"""

from __future__ import annotations

from oomlint.dryrun.catalog.registry import CATALOG

_OTHERS = {
    "numpy.around numpy.round numpy.clip numpy.require numpy.roll numpy.sort": "a=x",
    "numpy.asarray numpy.asanyarray numpy.ascontiguousarray numpy.asfortranarray numpy.copy": "a=object",
    "numpy.array_split numpy.split numpy.hsplit numpy.vsplit": "indices_or_sections=indices",
    "numpy.corrcoef": "x=m",
    "numpy.empty_like": "prototype=a",
    "numpy.flip numpy.fliplr numpy.flipud numpy.tril numpy.triu": "m=x",
    "numpy.isclose": "a=x1 b=x2",
    "numpy.isin": "element=x",
    "numpy.matmul": "x1=a x2=b",
    "numpy.real": "val=x",
    "numpy.rollaxis": "axis=source start=destination",
    "numpy.unwrap": "p=x",
    "keras.backend.variable": "value=initial_value",
    "keras.layers.InputLayer": "input_shape=shape",
    "keras.models.model_from_config": "config=json_string",
    "keras.utils.to_categorical": "x=y",
    "tf.clip_by_norm": "t=x",
    "tf.image.adjust_contrast tf.image.draw_bounding_boxes tf.image.hsv_to_rgb tf.image.rgb_to_hsv": "images=image",
    "tf.image.rgb_to_yiq tf.image.rgb_to_yuv tf.image.yiq_to_rgb tf.image.yuv_to_rgb": "images=image",
    "tf.nn.elu tf.nn.gelu tf.nn.leaky_relu tf.nn.relu tf.nn.relu6 tf.nn.selu tf.nn.silu tf.nn.swish": "features=x",
    "tf.nn.softplus tf.nn.softsign tf.math.softplus tf.math.softsign": "features=x",
    "tf.nn.softmax tf.nn.log_softmax": "logits=x",
    "tf.saved_model.load": "export_dir=filepath",
}

for _names, _pairs in _OTHERS.items():
    for _name in _names.split():
        CATALOG.other_names[_name] = dict(pair.split("=") for pair in _pairs.split())

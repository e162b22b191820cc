"""What the dry run says of a pipeline's elements is what TensorFlow says of them.

Every snippet is run twice: by TensorFlow, on tiny files made here, and by the dry run, which sees only the text.
Shapes, data types, structure and cardinality must agree exactly. Where the number of elements is a
matter of what lies on the disk, the dry run must say that it does not know (`disk`). What TensorFlow leaves
open because a last batch may be smaller, the dry run keeps as a soft constant: an upper bound, open too.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.syntax.parse import parse

PRELUDE = """
import glob
import os
import numpy as np
import tensorflow as tf
from tensorflow import keras
"""

INFINITE, UNKNOWN = -1, -2


class Case(NamedTuple):
    """A snippet that leaves its pipeline in `ds`."""

    name: str
    code: str
    disk: bool = False


CASES = [
    # --- sources
    Case(
        "slices_of_pair",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((7, 4, 3), dtype='float32'), np.arange(7)))",
    ),
    Case(
        "slices_of_dict",
        "ds = tf.data.Dataset.from_tensor_slices({'a': np.ones((5, 2)), 'b': [1, 2, 3, 4, 5]})",
    ),
    Case("slices_of_floats", "ds = tf.data.Dataset.from_tensor_slices([0.5, 1.5, 2.5])"),
    Case("slices_of_strings", "ds = tf.data.Dataset.from_tensor_slices(['a.png', 'b.png'])"),
    Case("slices_of_nested_lists", "ds = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]])"),
    Case("slices_of_list_pair", "ds = tf.data.Dataset.from_tensor_slices((['a', 'b', 'c'], [0, 1, 0]))"),
    Case("slices_of_tensor", "ds = tf.data.Dataset.from_tensor_slices(tf.zeros([9, 2, 2], tf.float16))"),
    Case(
        "slices_of_joined_columns",
        "ds = tf.data.Dataset.from_tensor_slices((dict(x=np.zeros((4, 3)), z=np.zeros(4, np.uint8)), np.zeros((4, 1))))",
    ),
    Case("tensors", "ds = tf.data.Dataset.from_tensors(np.zeros((7, 4), dtype=np.int32))"),
    Case("tensors_scalar_repeated", "ds = tf.data.Dataset.from_tensors(3.5).repeat(10)"),
    Case("range", "ds = tf.data.Dataset.range(12)"),
    Case("range_start_step", "ds = tf.data.Dataset.range(3, 20, 4)"),
    Case("range_typed", "ds = tf.data.Dataset.range(5, output_type=tf.int32)"),
    Case("random", "ds = tf.data.Dataset.random(seed=4).take(3)"),
    Case("list_files", "ds = tf.data.Dataset.list_files('images/*/*.png', shuffle=False)", disk=True),
    Case("records", "ds = tf.data.TFRecordDataset(['one.tfrecord'])"),
    Case("lines", "ds = tf.data.TextLineDataset('lines.txt').skip(1)"),
    Case(
        "generator_signature",
        """
def rows():
    for i in range(3):
        yield np.zeros((8, 8, 1), np.float32), i

ds = tf.data.Dataset.from_generator(
    rows, output_signature=(tf.TensorSpec(shape=(8, 8, 1), dtype=tf.float32), tf.TensorSpec((), tf.int32))
)
""",
    ),
    Case(
        "generator_types",
        """
def rows():
    yield [1.0, 2.0], 1

ds = tf.data.Dataset.from_generator(rows, (tf.float32, tf.int64), (tf.TensorShape([None]), tf.TensorShape([])))
""",
    ),
    Case(
        "generator_types_keywords",
        "ds = tf.data.Dataset.from_generator(lambda: iter([1]), output_types=tf.int64, output_shapes=[])",
    ),
    Case(
        "generator_types_only",
        "ds = tf.data.Dataset.from_generator(lambda: iter([1]), output_types=tf.float32)",
    ),
    Case(
        "generator_dict",
        """
SPEC = {"tokens": tf.TensorSpec([None], tf.int32), "mask": tf.TensorSpec([None], dtype=tf.bool)}
ds = tf.data.Dataset.from_generator(lambda: iter([]), output_signature=SPEC)
""",
    ),
    # --- counting
    Case("take", "ds = tf.data.Dataset.range(10).take(4)"),
    Case("take_too_many", "ds = tf.data.Dataset.range(10).take(40)"),
    Case("take_all", "ds = tf.data.Dataset.range(10).take(-1)"),
    Case("skip", "ds = tf.data.Dataset.range(10).skip(4)"),
    Case("skip_too_many", "ds = tf.data.Dataset.range(10).skip(40)"),
    Case("shard", "ds = tf.data.Dataset.range(10).shard(num_shards=3, index=0)"),
    Case("shard_last", "ds = tf.data.Dataset.range(10).shard(3, 2)"),
    Case("repeat", "ds = tf.data.Dataset.range(10).repeat(3)"),
    Case("repeat_forever", "ds = tf.data.Dataset.range(10).repeat()"),
    Case("repeat_minus_one", "ds = tf.data.Dataset.range(10).repeat(-1).skip(2)"),
    Case("repeat_then_take", "ds = tf.data.Dataset.range(10).repeat().take(25)"),
    Case("filter", "ds = tf.data.Dataset.range(10).filter(lambda i: i % 2 == 0)"),
    Case(
        "filter_then_asserted",
        "ds = tf.data.Dataset.range(10).filter(lambda i: i > 4).apply(tf.data.experimental.assert_cardinality(5))",
    ),
    Case("concatenate", "ds = tf.data.Dataset.range(10).concatenate(tf.data.Dataset.range(3))"),
    Case(
        "enumerate",
        "ds = tf.data.Dataset.from_tensor_slices(np.zeros((6, 2), np.float32)).enumerate(start=5)",
    ),
    Case("ignore_errors", "ds = tf.data.Dataset.range(10).apply(tf.data.experimental.ignore_errors())"),
    Case("ignore_errors_method", "ds = tf.data.Dataset.range(10).ignore_errors()"),
    Case("unique", "ds = tf.data.Dataset.range(10).unique()"),
    Case(
        "cache_shuffle_prefetch",
        "ds = tf.data.Dataset.range(10).cache().shuffle(5, seed=1).prefetch(tf.data.AUTOTUNE)",
    ),
    Case("options", "ds = tf.data.Dataset.range(10).with_options(tf.data.Options())"),
    Case("len_as_size", "paths = ['a', 'b', 'c']\nds = tf.data.Dataset.range(len(paths) * 4)"),
    Case(
        "cardinality_as_size",
        "first = tf.data.Dataset.range(8)\nds = tf.data.Dataset.range(int(first.cardinality().numpy()) // 2)",
    ),
    Case(
        "len_of_dataset", "first = tf.data.Dataset.range(8).batch(3)\nds = tf.data.Dataset.range(len(first))"
    ),
    # --- batching
    Case("batch", "ds = tf.data.Dataset.from_tensor_slices(np.zeros((10, 3), np.float32)).batch(4)"),
    Case(
        "batch_dropped",
        "ds = tf.data.Dataset.from_tensor_slices(np.zeros((10, 3), np.float32)).batch(4, drop_remainder=True)",
    ),
    Case("batch_of_unknown_count", "ds = tf.data.Dataset.range(10).filter(lambda i: i > 1).batch(4)"),
    Case("batch_forever", "ds = tf.data.Dataset.range(10).repeat().batch(4)"),
    Case("batch_twice", "ds = tf.data.Dataset.range(100).batch(5, drop_remainder=True).batch(4)"),
    Case(
        "unbatch",
        "ds = tf.data.Dataset.from_tensors((np.zeros((10, 3), np.float32), np.zeros(10))).unbatch()",
    ),
    Case("batch_unbatch", "ds = tf.data.Dataset.range(10).batch(4).unbatch()"),
    Case("rebatch", "ds = tf.data.Dataset.from_tensor_slices(np.zeros((10, 3))).batch(2).rebatch(5)"),
    Case(
        "rebatch_dropped",
        "ds = tf.data.Dataset.from_tensor_slices(np.zeros((10, 3))).batch(2).rebatch(5, drop_remainder=True)",
    ),
    Case("ragged_batch", "ds = tf.data.Dataset.range(10).ragged_batch(4)"),
    Case(
        "padded_batch",
        """
ds = tf.data.Dataset.range(1, 10).map(lambda n: tf.fill([n], 1.5))
ds = ds.padded_batch(3)
""",
    ),
    Case(
        "padded_batch_shapes",
        """
ds = tf.data.Dataset.range(1, 10).map(lambda n: (tf.fill([n], n), n))
ds = ds.padded_batch(3, padded_shapes=([16], []), drop_remainder=True)
""",
    ),
    Case(
        "window",
        "ds = tf.data.Dataset.range(10).window(4, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(4))",
    ),
    Case("window_kept", "ds = tf.data.Dataset.range(10).window(4)"),
    Case("window_drop", "ds = tf.data.Dataset.range(10).window(4, shift=2, stride=2, drop_remainder=True)"),
    Case(
        "bucket",
        "ds = tf.data.Dataset.range(1, 9).map(lambda n: tf.fill([n], n)).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2])",
    ),
    # --- several
    Case(
        "zip_pair",
        "ds = tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.Dataset.from_tensor_slices(np.zeros((4, 2)))))",
    ),
    Case(
        "zip_arguments",
        "ds = tf.data.Dataset.zip(tf.data.Dataset.range(5), tf.data.Dataset.range(9).repeat())",
    ),
    Case(
        "zip_dict", "ds = tf.data.Dataset.zip({'a': tf.data.Dataset.range(5), 'b': tf.data.Dataset.range(2)})"
    ),
    Case(
        "zip_unknown",
        "ds = tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.TextLineDataset('lines.txt')))",
    ),
    Case(
        "interleave",
        "ds = tf.data.Dataset.range(3).interleave(lambda i: tf.data.Dataset.range(i, i + 2), cycle_length=2)",
    ),
    Case(
        "interleave_class",
        "ds = tf.data.Dataset.from_tensor_slices(['one.tfrecord']).interleave(tf.data.TFRecordDataset, cycle_length=4)",
    ),
    Case(
        "flat_map",
        "ds = tf.data.Dataset.from_tensor_slices(np.zeros((3, 5, 2))).flat_map(tf.data.Dataset.from_tensor_slices)",
    ),
    Case(
        "sampled",
        "ds = tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(5).repeat(), tf.data.Dataset.range(7).repeat()], [0.5, 0.5])",
    ),
    Case(
        "chosen",
        "ds = tf.data.Dataset.choose_from_datasets([tf.data.Dataset.range(5), tf.data.Dataset.range(7)], tf.data.Dataset.range(2).repeat(4))",
    ),
    # --- map
    Case(
        "map_pair",
        "ds = tf.data.Dataset.from_tensor_slices((np.zeros((6, 4), np.uint8), [1] * 6)).map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, tf.one_hot(y, 10)))",
    ),
    Case("map_to_dict", "ds = tf.data.Dataset.range(6).map(lambda i: {'i': i, 'f': tf.cast(i, tf.float64)})"),
    Case(
        "map_dict",
        "ds = tf.data.Dataset.from_tensor_slices({'x': np.zeros((6, 4)), 'y': np.zeros(6)}).map(lambda d: (d['x'], d['y']))",
    ),
    Case("map_list_result", "ds = tf.data.Dataset.range(6).map(lambda i: [i, i + 1])"),
    Case("map_constant", "ds = tf.data.Dataset.range(6).map(lambda i: (i, 2.5, 'text', 7, True))"),
    Case("map_nested", "ds = tf.data.Dataset.range(6).map(lambda i: ((i, i), {'a': (i, i)}))"),
    Case(
        "map_ignores",
        "ds = tf.data.Dataset.zip((tf.data.Dataset.range(6), tf.data.Dataset.range(6))).map(lambda a, _: a)",
    ),
    Case(
        "map_keyword_partial",
        """
import functools

def scaled(image, size=8):
    return tf.image.resize(image, (size, size))

ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(functools.partial(scaled, size=16))
""",
    ),
    Case(
        "map_method",
        """
class Loader:
    def __init__(self, side):
        self.side = side

    def read(self, path):
        image = tf.io.decode_png(tf.io.read_file(path), channels=3)
        image = tf.image.convert_image_dtype(image, tf.float32)
        return tf.image.resize(image, [self.side, self.side])

    def build(self):
        return tf.data.Dataset.list_files("images/*/*.png").map(self.read).batch(2)

ds = Loader(24).build()
""",
        disk=True,
    ),
    # --- decoding and pictures
    Case(
        "decode_jpeg",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.io.decode_jpeg(tf.io.read_file(p), channels=3))",
    ),
    Case(
        "decode_png_any",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.image.decode_png(tf.io.read_file(p)))",
    ),
    Case(
        "decode_png_16",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.io.decode_png(tf.io.read_file(p), channels=1, dtype=tf.uint16))",
    ),
    Case(
        "decode_image",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.io.decode_image(tf.io.read_file(p), channels=3, expand_animations=False))",
    ),
    Case(
        "decode_image_any",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.io.decode_image(tf.io.read_file(p)))",
    ),
    Case(
        "decode_wav",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.audio.decode_wav(tf.io.read_file(p), 1, 16000))",
    ),
    Case(
        "decode_wav_audio",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda p: tf.squeeze(tf.audio.decode_wav(tf.io.read_file(p), desired_channels=1).audio, axis=-1))",
    ),
    Case(
        "decode_raw",
        "ds = tf.data.Dataset.from_tensor_slices(['x']).map(lambda s: tf.reshape(tf.io.decode_raw(s, tf.uint8), [4, 4, 1]))",
    ),
    Case(
        "resize",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(lambda x: tf.image.resize(x, size=[8, 6]))",
    ),
    Case(
        "resize_nearest",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(lambda x: tf.image.resize(x, [8, 6], method='nearest'))",
    ),
    Case(
        "resize_with_pad",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(lambda x: tf.image.resize_with_pad(x, 8, 6))",
    ),
    Case(
        "resize_crop_or_pad",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(lambda x: tf.image.resize_with_crop_or_pad(x, 8, 6))",
    ),
    Case(
        "random_crop",
        "ds = tf.data.Dataset.from_tensors(np.zeros((40, 40, 3), np.uint8)).map(lambda x: tf.image.random_crop(x, size=(32, 32, 3)))",
    ),
    Case(
        "central_crop",
        "ds = tf.data.Dataset.from_tensors(np.zeros((40, 40, 3), np.uint8)).map(lambda x: tf.image.central_crop(x, 0.5))",
    ),
    Case(
        "crop_box",
        "ds = tf.data.Dataset.from_tensors(np.zeros((40, 40, 3), np.uint8)).map(lambda x: tf.image.crop_to_bounding_box(x, 2, 2, 16, 20))",
    ),
    Case(
        "pad_box",
        "ds = tf.data.Dataset.from_tensors(np.zeros((10, 10, 3), np.uint8)).map(lambda x: tf.image.pad_to_bounding_box(x, 2, 2, 16, 20))",
    ),
    Case(
        "convert_dtype",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 4, 3), np.uint8)).map(lambda x: tf.image.convert_image_dtype(x, tf.float16))",
    ),
    Case(
        "flips",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 3), np.float32)).map(lambda x: tf.image.random_brightness(tf.image.random_flip_left_right(x), 0.1))",
    ),
    Case(
        "to_grey",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 3), np.float32)).map(tf.image.rgb_to_grayscale)",
    ),
    Case(
        "to_rgb",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 1), np.uint8)).map(tf.image.grayscale_to_rgb)",
    ),
    Case(
        "standardise",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 3), np.uint8)).map(tf.image.per_image_standardization)",
    ),
    Case(
        "rot90",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6, 3), np.uint8)).map(lambda x: tf.image.rot90(x))",
    ),
    # --- records
    Case(
        "parse_single",
        """
SPEC = {
    "raw": tf.io.FixedLenFeature([], tf.string),
    "box": tf.io.FixedLenFeature([4], tf.float32),
    "id": tf.io.FixedLenFeature((), tf.int64, default_value=0),
}
ds = tf.data.TFRecordDataset("one.tfrecord").map(lambda r: tf.io.parse_single_example(r, SPEC))
""",
    ),
    Case(
        "parse_batch",
        """
def parse(records):
    fields = tf.io.parse_example(records, {"image": tf.io.FixedLenFeature([28 * 28], tf.float32)})
    return tf.reshape(fields["image"], (-1, 28, 28, 1))

ds = tf.data.TFRecordDataset("one.tfrecord").batch(8).map(parse)
""",
    ),
    Case(
        "sparse_feature",
        "ds = tf.data.TFRecordDataset('one.tfrecord').map(lambda r: tf.sparse.to_dense(tf.io.parse_single_example(r, {'v': tf.io.VarLenFeature(tf.int64)})['v']))",
    ),
    # --- Python in the pipeline
    Case(
        "py_function",
        "ds = tf.data.Dataset.range(3).map(lambda i: tf.py_function(lambda k: k, [i], tf.float32))",
    ),
    Case(
        "numpy_function_pair",
        "ds = tf.data.Dataset.range(3).map(lambda i: tf.numpy_function(lambda k: (k, k), [i], [tf.float32, tf.int32]))",
    ),
    Case(
        "set_shape",
        """
def load(i):
    image, label = tf.numpy_function(lambda k: (k, k), [i], [tf.float32, tf.int64])
    image.set_shape([16, 16, 3])
    label.set_shape(())
    return image, label

ds = tf.data.Dataset.range(3).map(load).batch(2, drop_remainder=True)
""",
    ),
    Case(
        "ensure_shape",
        "ds = tf.data.Dataset.range(3).map(lambda i: tf.ensure_shape(tf.py_function(lambda k: k, [i], tf.uint8), (None, 5)))",
    ),
    # --- tensors
    Case("stack", "ds = tf.data.Dataset.range(3).map(lambda i: tf.stack([i, i, i], axis=0))"),
    Case(
        "stack_pictures",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6), np.uint8)).map(lambda x: tf.stack([x, x], axis=-1))",
    ),
    Case(
        "concat",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 6), np.uint8)).map(lambda x: tf.concat([x, x, x], axis=1))",
    ),
    Case(
        "expand_squeeze",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 1), np.uint8)).map(lambda x: tf.expand_dims(tf.squeeze(x, axis=1), 0))",
    ),
    Case(
        "tile",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 1), np.uint8)).map(lambda x: tf.tile(x, [2, 3]))",
    ),
    Case(
        "transpose",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 1, 2), np.uint8)).map(lambda x: tf.transpose(x, perm=[2, 0, 1]))",
    ),
    Case(
        "pad",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.uint8)).map(lambda x: tf.pad(x, [[1, 1], [0, 3]]))",
    ),
    Case(
        "slicing",
        "ds = tf.data.Dataset.from_tensors(np.zeros((10, 5), np.float32)).map(lambda x: (x[:4], x[..., 0], x[2], x[:, 1:3]))",
    ),
    Case(
        "newaxis",
        "ds = tf.data.Dataset.from_tensors(np.zeros((10, 5), np.float32)).map(lambda x: x[tf.newaxis, ..., tf.newaxis])",
    ),
    Case(
        "reduce",
        "ds = tf.data.Dataset.from_tensors(np.zeros((10, 5), np.float32)).map(lambda x: (tf.reduce_mean(x), tf.reduce_max(x, axis=1), tf.reduce_sum(x, 0, keepdims=True)))",
    ),
    Case(
        "argmax",
        "ds = tf.data.Dataset.from_tensors(np.zeros((10, 5), np.float32)).map(lambda x: tf.argmax(x, axis=-1))",
    ),
    Case(
        "arithmetic",
        "ds = tf.data.Dataset.from_tensors((np.zeros((4, 5), np.float32), np.zeros(5, np.float32))).map(lambda a, b: (a - b) * 2.0)",
    ),
    Case(
        "comparison", "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: a > 0.5)"
    ),
    Case(
        "where",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: tf.where(a > 0.5, a, tf.zeros_like(a)))",
    ),
    Case(
        "matmul",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: tf.matmul(a, a, transpose_b=True))",
    ),
    Case(
        "clip_and_round",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: tf.cast(tf.round(tf.clip_by_value(a, 0.0, 1.0)), tf.uint8))",
    ),
    Case(
        "one_hot_typed", "ds = tf.data.Dataset.range(4).map(lambda i: tf.one_hot(i, depth=5, dtype=tf.int8))"
    ),
    Case("random_normal", "ds = tf.data.Dataset.range(4).map(lambda i: tf.random.normal([3, 2]))"),
    Case(
        "random_uniform_int",
        "ds = tf.data.Dataset.range(4).map(lambda i: tf.random.uniform((), 0, 10, dtype=tf.int32))",
    ),
    Case(
        "zeros_ones_fill",
        "ds = tf.data.Dataset.range(4).map(lambda i: (tf.zeros([2, 3]), tf.ones((4,), tf.int32), tf.fill([5], 1.0), tf.eye(3)))",
    ),
    Case("tf_range", "ds = tf.data.Dataset.range(4).map(lambda i: (tf.range(10), tf.linspace(0.0, 1.0, 7)))"),
    Case(
        "constant",
        "ds = tf.data.Dataset.range(4).map(lambda i: (tf.constant([[1, 2], [3, 4]]), tf.constant(0.5, shape=[2, 2])))",
    ),
    Case(
        "shape_and_size",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: (tf.shape(a), tf.size(a), tf.rank(a)))",
    ),
    Case(
        "identity",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: tf.identity(tf.stop_gradient(a)))",
    ),
    Case(
        "gather",
        "ds = tf.data.Dataset.from_tensors(np.zeros((4, 5), np.float32)).map(lambda a: tf.gather(a, [0, 2, 3]))",
    ),
    Case(
        "string_parts",
        "ds = tf.data.Dataset.from_tensor_slices(['a/b.png']).map(lambda p: (tf.strings.split(p, os.sep), tf.strings.length(p)))",
    ),
    Case(
        "string_to_number",
        "ds = tf.data.Dataset.from_tensor_slices(['1']).map(lambda p: tf.strings.to_number(p, tf.int32))",
    ),
    Case(
        "string_join",
        "ds = tf.data.Dataset.from_tensor_slices(['1']).map(lambda p: tf.strings.join([p, '.png']))",
    ),
    Case(
        "label_from_path",
        "ds = tf.data.Dataset.from_tensor_slices(['a/b.png']).map(lambda p: tf.strings.split(p, '/')[-2] == 'a')",
    ),
    Case(
        "audio_stft",
        "ds = tf.data.Dataset.from_tensors(np.zeros(16000, np.float32)).map(lambda a: tf.abs(tf.signal.stft(a, frame_length=255, frame_step=128)))",
    ),
    # --- Keras' own readers
    Case(
        "images",
        "ds = keras.utils.image_dataset_from_directory('images', image_size=(20, 30), batch_size=2)",
        disk=True,
    ),
    Case("images_default", "ds = keras.utils.image_dataset_from_directory('images')", disk=True),
    Case(
        "images_one_by_one",
        "ds = keras.utils.image_dataset_from_directory('images', image_size=(20, 30), batch_size=None)",
        disk=True,
    ),
    Case(
        "images_categorical",
        "ds = keras.utils.image_dataset_from_directory('images', label_mode='categorical', class_names=['a', 'b'], color_mode='grayscale')",
        disk=True,
    ),
    Case(
        "images_binary",
        "ds = keras.utils.image_dataset_from_directory('images', label_mode='binary', color_mode='rgba', image_size=[8, 8])",
        disk=True,
    ),
    Case(
        "images_unlabelled",
        "ds = keras.utils.image_dataset_from_directory('images', label_mode=None)",
        disk=True,
    ),
    Case(
        "images_split",
        "ds, other = keras.utils.image_dataset_from_directory('images', validation_split=0.5, subset='both', seed=1, image_size=(9, 9))",
        disk=True,
    ),
    Case("texts", "ds = keras.utils.text_dataset_from_directory('texts', batch_size=3)", disk=True),
    Case(
        "audio",
        "ds = keras.utils.audio_dataset_from_directory('sounds', output_sequence_length=800, batch_size=2)",
        disk=True,
    ),
    Case(
        "timeseries",
        "ds = keras.utils.timeseries_dataset_from_array(np.zeros((100, 3), np.float32), np.zeros(100, np.float32), sequence_length=10, batch_size=8)",
    ),
    Case(
        "timeseries_no_targets",
        "ds = keras.utils.timeseries_dataset_from_array(np.zeros((100, 3)), None, sequence_length=10, sampling_rate=2, sequence_stride=4)",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few files of each kind."""
    import tensorflow as tf

    root = tmp_path_factory.mktemp("files")
    picture = tf.io.encode_png(tf.zeros((5, 6, 3), tf.uint8)).numpy()
    sound = tf.audio.encode_wav(tf.zeros((900, 1)), 16000).numpy()
    for label in ("a", "b"):
        for name, kind, content in (
            ("images", "png", picture),
            ("texts", "txt", b"words"),
            ("sounds", "wav", sound),
        ):
            (root / name / label).mkdir(parents=True)
            for number in range(2):
                (root / name / label / f"{number}.{kind}").write_bytes(content)
    (root / "lines.txt").write_text("one\ntwo\n")
    tf.io.TFRecordWriter(str(root / "one.tfrecord")).close()
    return root


def told(spec: Any) -> Any:
    """TensorFlow's element spec as plain data."""
    import tensorflow as tf

    if isinstance(spec, dict):
        return {key: told(part) for key, part in spec.items()}
    if isinstance(spec, tuple):
        return tuple(told(part) for part in spec)
    if isinstance(spec, tf.data.DatasetSpec):
        return ["dataset", told(spec.element_spec)]
    if isinstance(spec, tf.RaggedTensorSpec):
        return ("ragged",)
    shape = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    return [shape, spec.dtype.name]


def said(value: Value | None) -> Any:
    """The dry run's element as plain data."""
    value = deref(value) if value is not None else Unknown()
    match value:
        case Sequence(kind="tuple", items=list(items)):
            return tuple(said(item) for item in items)
        case Mapping(entries=entries, complete=True):
            return {key: said(item) for key, item in entries.items()}
        case Dataset(element=element):
            return ["dataset", said(element)]
        case Array(shape=shape, dtype=dtype):
            return [None if shape is None else tuple(closed(dim) for dim in shape), dtype]
        case Unknown():
            return ("ragged",)
    raise AssertionError(f"an element holds {value}")


def closed(number: Const | None) -> int | None:
    """A number that is certain; None for one that is open."""
    return None if number is None or number.soft else number.value


def by_tensorflow(code: str) -> Any:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(PRELUDE + code, names)
    return names["ds"]


def by_dry_run(code: str) -> Dataset:
    trace = dry_run(parse(document_from_text(PRELUDE + code, "script.py")))
    values = [deref(assign.value) for assign in trace.assigns() if assign.path == "ds"]
    assert isinstance(values[-1], Dataset), values[-1]
    return values[-1]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_elements_are_what_tensorflow_says(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    truth = by_tensorflow(case.code)
    found = by_dry_run(case.code)
    assert said(found.element) == told(truth.element_spec)

    cardinality = int(truth.cardinality())
    certain = closed(found.count)
    count = INFINITE if found.infinite else UNKNOWN if certain is None else certain
    assert count == (UNKNOWN if case.disk else cardinality)


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60

"""What generated programs, mutated fixtures and files of installed packages brought to light, each at its smallest."""

from __future__ import annotations

import ast

import pytest
from robustness.properties import ALL, Checks

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.findings.applying import fix_document
from oomlint.findings.registry import load_rules
from oomlint.syntax.parse import parse

CHECKS = Checks(tuple(load_rules()))

FIT = "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"

PROGRAMS = {
    # LibCST made the form feed a part of each row's indentation, so that no finding had a place.
    "a form feed before the first row of a block": f"from tensorflow import keras\nif flag:\n\x0c    a = 1\n    b = 2\n{FIT}",
    # LibCST counted the form feed as a column and found no block that the row belongs to.
    "a form feed before a later row of a block": f"from tensorflow import keras\ndef f():\n    a = 1\n    def g():\n\x0c        b = 1\n        c = 2\n    d = 3\n{FIT}",
    "blanks before a form feed": f"from tensorflow import keras\nif a:\n      \x0c  b = 1\n  \x0c  c = '''\n\x0c  '''\n{FIT}",
    "form feeds and carriage returns": f"from tensorflow import keras\nif a:\n\x0c  if b:\n\x0c    c = 1\n\x0c  d = 2\n{FIT}".replace(
        "\n", "\r"
    ),
    # LibCST loses all but the last of the comments, so that no finding had a place.
    "indented comments at the end": f"from tensorflow import keras\n{FIT}if flag:\n    pass\n        # a\n\n    # b\n  # c",
    # Of two comments that say the same it keeps one, which was taken for the other.
    "two comments at the end that say the same": f"from tensorflow import keras\ndef f():\n    pass\n{FIT}x = 1  # a\n # b\n  # b",
    "comments behind a block of one row at the end": f"from tensorflow import keras\n{FIT}match x:\n    case 1:\n        match y:\n            case _: pass\n  # a\n\n\x0c\n   \n",
    # Rows of a block were cut at the \n of a \r\n, so that a backslash stood before a \r of its own.
    "a loop moved out of a tape with backslashes and carriage returns": """\
import tensorflow as tf
with tf.GradientTape() as tape:
    for x, y in \\
        train:
        loss = tf.reduce_mean(tf.square(model(x) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
""".replace("\n", "\r\n"),
    # Two rows that brackets held together were built before the loop without any: their line end was no \\n.
    "an operation of two rows moved out of a loop with carriage returns": """\
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
images = tf.placeholder(tf.float32, [None, 8])
logits = tf.layers.dense(images, 10)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(10_000):
        labels = sess.run(tf
            .argmax(logits, 1), {images: np.random.rand(32, 8)})
""".replace("\n", "\r"),
    # `prefetch(**sizes)` became `prefetch(**tf.data.AUTOTUNE)`, and a tape lost all of its options.
    "arguments that are spread out": """\
import tensorflow as tf
from tensorflow import keras
sizes, options = [1000], {"persistent": True, "watch_accessed_variables": False}
data = tf.data.Dataset.from_tensor_slices(tf.zeros((1_000_000, 224, 224, 3))).batch(32)
one, two = data.prefetch(*sizes), data.prefetch(**{"buffer_size": 1000})
with tf.GradientTape(**options) as tape:
    loss = tf.reduce_mean(model(x))
grads = tape.gradient(loss, model.trainable_variables)
board = keras.callbacks.TensorBoard(*["logs"], **{"histogram_freq": 1})
model = keras.Sequential([keras.Input((65536,)), keras.layers.Dense(65536)])
model.compile(*["sgd", "mse"])
model.fit(*[x, y], **{"callbacks": [board]})
""",
    # Two levels of two blanks were taken for one of four, and the rows of a string for code.
    "a handler's blocks of two blanks and its strings": """\
from tensorflow import keras
import tensorflow as tf
model = keras.applications.ResNet50(weights=None, classes=10)
model.compile("adam", "mse")
data = keras.utils.image_dataset_from_directory("food", image_size=(224, 224), batch_size=None)
size = 256
batches = data.batch(size)
while True:
  try:
    model.fit(batches, epochs=3)
    break
  except tf.errors.ResourceExhaustedError:
    # half of it
    size //= 2
    if size < 8:
      for word in "ab":
        print(word, '''
  in a string
        ''')
    batches = data.batch(size)
""",
    # The dry run went from one `__call__` to the next without end.
    "an object that is called by calling itself": f"""\
from tensorflow import keras
class A:
    pass
A.__call__ = A()
A()()
{FIT}""",
    # A buffer as long as nothing was asked for its first argument.
    "a count of nothing": """\
import numpy as np
import tensorflow as tf
from tensorflow import keras
labels = np.load("labels.npy")
shuffled = tf.data.Dataset.from_tensor_slices(labels).shuffle(len(), seed=3)
"""
    + FIT,
    "a batch of a count of nothing": """\
import tensorflow as tf
from tensorflow import keras
def read(name):
    tile = tf.io.decode_image(tf.io.read_file(name), channels=3, expand_animations=False)
    return tf.image.resize(tile, (256, 256))
tiles = tf.data.Dataset.from_tensor_slices().map(read)
everything = next(iter(tiles.batch(len())))
"""
    + FIT,
    # What is kept was traced to an operation that stands there uncalled, so with nothing given to it.
    "a function of TensorFlow that is not called": """import tensorflow as tf
from tensorflow import keras
model = keras.applications.ResNet50(include_top=False)
kept = []
for images, _ in keras.utils.image_dataset_from_directory("photos", image_size=(224, 224), batch_size=64):
    features = model(images)
    features = tf.reshape
    kept.append(features.numpy())
whole = tf.concat(kept, axis=0)
"""
    + FIT,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_went_wrong(name: str):
    text = PROGRAMS[name]
    found = CHECKS.check(document_from_text(text, "program.py"))
    assert found
    assert "OOM001" not in {one.code for one in found}
    assert not CHECKS.complaints(text, silence=9)


def test_statements_that_are_moved_stay_what_they_are():
    document = document_from_text(PROGRAMS["a handler's blocks of two blanks and its strings"], "program.py")
    outcome = fix_document(document, CHECKS.check, ALL)
    assert "OOM412" in {one.code for one in outcome.applied}
    loop, changed = ast.parse(document.text).body[-1], ast.parse(outcome.document.text).body[-1]
    assert [ast.dump(one) for one in loop.body[0].handlers[0].body] == [
        ast.dump(one) for one in changed.body[1:]
    ]
    assert outcome.document.text.count("# half of it") == 1


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "form feed" in name])
def test_form_feeds_before_code_mean_nothing(name: str):
    document = document_from_text(PROGRAMS[name], "program.py")
    assert ast.dump(ast.parse(parse(document).module.code)) == ast.dump(ast.parse(document.text))


@pytest.mark.parametrize(
    ("first", "other"), [("None", "5"), ("None", "sys.argv[2]"), ("7", "None"), ("7", "7")]
)
def test_a_way_that_may_be_taken_is_taken(first: str, other: str):
    """`None` where two ways meet left the constant of the other one as if it were sure."""
    text = f"""\
import sys
import tensorflow as tf
size = {first}
if len(sys.argv) > 2:
    size = {other}
frames = tf.data.Dataset.range(10**9).map(lambda i: tf.zeros((224, 224, 3)))
if size is None:
    frames = frames.shuffle(1_281_167)
"""
    found = {one.code for one in CHECKS.check(document_from_text(text, "program.py"))}
    assert ("OOM301" in found) == ("None" in (first, other))


def test_functions_that_make_each_other_anew_are_entered_once_when_nobody_calls_them():
    """Each `made` that was not entered was entered by itself, and made three of its kind: the run never ended."""
    text = """\
from tensorflow import keras
def twice(n, *rest, k=0):
    f = n
    def made():
        yield (1, 2)
        yield from [i + n for i, n in enumerate(list(list(map(twice, [1, 2, 3]))) + [1, 2, 3])][::-1]
    f = list(made())
    return n * 2
"""
    assert dry_run(parse(document_from_text(text, "program.py"))).steps < 20_000

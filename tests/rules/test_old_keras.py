"""What is a mistake on old versions of Keras only: found where the project is on one, silent on a current one."""

from __future__ import annotations

from pathlib import Path

import pytest

from oomlint.project.settings import Settings
from oomlint.testing import run_rule

PER_REQUEST = """\
import numpy as np
from {server}
from keras.models import load_model

{before}
def predict({parameter}):
    model = load_model("model.h5")
    return model.predict(np.zeros((1, 8)))
"""

SERVERS = {
    "flask": PER_REQUEST.format(
        server="flask import Flask", before='app = Flask("a")\n@app.route("/x")', parameter=""
    ),
    "fastapi": PER_REQUEST.format(
        server="fastapi import FastAPI", before='app = FastAPI()\n@app.post("/x")', parameter="rows: list"
    ),
    "django": PER_REQUEST.format(server="django.http import HttpResponse", before="", parameter="request"),
    "tornado": """\
import numpy as np
import tornado.web
from keras.models import load_model

class Answer(tornado.web.RequestHandler):
    def post(self):
        model = load_model("model.h5")
        self.write(str(model.predict(np.zeros((1, 8)))))
""",
    "built by a function": """\
import numpy as np
from flask import Flask
from keras.layers import Dense
from keras.models import Sequential

app = Flask("a")

def network():
    model = Sequential([Dense(8, input_shape=(8,))])
    model.load_weights("weights.h5")
    return model

@app.route("/x")
def predict():
    model = network()
    return str(model.predict(np.zeros((1, 8))))
""",
    "loop": """\
import numpy as np
from keras.models import load_model

for name in open("names.txt"):
    model = load_model(name)
    print(model.evaluate(np.zeros((1, 8)), np.zeros(1)))
""",
}

HARMLESS = {
    "cached": """\
import numpy as np
from flask import Flask
from keras.models import load_model

app = Flask("a")
model = None

@app.route("/x")
def predict():
    global model
    if model is None:
        model = load_model("model.h5")
    return str(model.predict(np.zeros((1, 8))))
""",
    "cleared": """\
import numpy as np
from keras import backend as K
from keras.models import load_model

for name in open("names.txt"):
    model = load_model(name)
    print(model.predict(np.zeros((1, 8))))
    K.clear_session()
""",
    "a graph of its own": """\
import numpy as np
import tensorflow as tf
from keras.models import load_model

for name in open("names.txt"):
    with tf.Graph().as_default(), tf.Session():
        model = load_model(name)
        print(model.predict(np.zeros((1, 8))))
""",
    "nobody's handler": """\
import numpy as np
from keras.models import load_model

def predict(rows):
    model = load_model("model.h5")
    return model.predict(rows)
""",
}


def _found(code: str, text: str, *version: int) -> list[str]:
    settings = Settings(root=Path("/"), select=(code, "OOM001"), preview=True, target_keras=version)
    return [str(found.severity) for found in run_rule(code, text, settings=settings)]


@pytest.mark.parametrize("name", SERVERS)
def test_models_that_only_predict_stay_in_the_graph_before_2_4(name):
    assert _found("OOM406", SERVERS[name], 2, 3) == ["warning"]
    assert _found("OOM406", SERVERS[name], 2, 4) == []
    assert _found("OOM406", SERVERS[name], 3) == []


@pytest.mark.parametrize("name", HARMLESS)
def test_models_that_do_not_add_up(name):
    assert _found("OOM406", HARMLESS[name], 2, 3) == []


QUEUE = """\
import numpy as np
{imports}

class Batches(keras.utils.Sequence):
    def __len__(self):
        return 100
    def __getitem__(self, index):
        return np.zeros((64, 512, 512, 4)), np.zeros((64,))

model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit_generator(Batches())
"""


def test_one_thread_filled_a_queue_in_keras_of_its_own_only():
    # 64 x 512 x 512 x 4 x 8 B = 512 MiB, 13 batches: 6.5 of 16 GiB
    assert _found("OOM209", QUEUE.format(imports="import keras"), 2, 3) == ["warning"]
    assert _found("OOM209", QUEUE.format(imports="from tensorflow import keras"), 2, 3) == []
    assert _found("OOM209", QUEUE.format(imports="import keras"), 2, 15) == []


BOARD = """\
import numpy as np
{imports}

model = keras.models.Sequential()
model.add(keras.layers.Conv2D(64, 3, padding="same", input_shape=(64, 64, 3)))
model.add(keras.layers.GlobalAveragePooling2D())
model.add(keras.layers.Dense(10))
model.compile("sgd", "mse")
x, y = np.zeros(({rows}, 64, 64, 3), "float32"), np.zeros(({rows}, 10), "float32")


class Training:
    def __init__(self, freq=1):
        self.watchers = [keras.callbacks.TensorBoard("logs", histogram_freq=freq)]

    def run(self):
        model.fit(x, y, epochs=3, callbacks=self.watchers, {validation})


Training().run()
"""


def _board(*version: int, imports: str = "import keras", rows: int = 40_000, validation: str) -> list[str]:
    return _found("OOM414", BOARD.format(imports=imports, rows=rows, validation=validation), *version)


@pytest.mark.parametrize(
    ("validation", "found"),
    [
        # 64 x 64 x 64 x 4 B = 1 MiB a row of the convolution: 8,000 rows 7.8 GiB, 40,000 rows 39 GiB; T4: about 14
        ("validation_split=0.2", ["warning"]),
        ("validation_data=(x, y)", ["error"]),
        ("validation_data=(x[:2000], y[:2000])", []),
        ("validation_data=batches()", []),
        ("verbose=0", []),
    ],
)
def test_histograms_took_all_validation_data_at_once_before_2_0_5(validation, found):
    assert _board(2, 0, 4, validation=validation) == found
    assert _board(2, 0, 5, validation=validation) == []
    assert _board(2, 3, validation=validation) == []
    assert _board(3, validation=validation) == []


def test_histograms_of_tensorflows_keras_did_not():
    assert _board(2, 0, 4, imports="from tensorflow import keras", validation="validation_data=(x, y)") == []


WEIGHTS = """\
from tensorflow import keras

model = keras.applications.VGG16(weights=None, classes=10)
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy")
photos = read("photos")
model.fit(photos, callbacks=[keras.callbacks.TensorBoard("logs", histogram_freq=1)])
"""


def test_histograms_of_weights_were_counted_in_cpp_before_2_6():
    assert _found("OOM414", WEIGHTS, 2, 6) == ["error"]
    assert _found("OOM414", WEIGHTS, 2, 4) == []
    assert _found("OOM414", WEIGHTS, 2, 0, 4) == []


WORKERS = """\
from tensorflow import keras

model = keras.models.load_model("model.keras")
model.fit(read("rows"), epochs=3, workers=4)
"""


def test_the_type_error_of_keras_3_is_an_error_where_it_is_known_to_be_keras_3():
    assert _found("OOM209", WORKERS, 3) == ["error"]
    assert _found("OOM209", WORKERS, 2, 15) == []
    settings = Settings(root=Path("/"), select=("OOM209", "OOM001"), preview=True)
    assert [str(found.severity) for found in run_rule("OOM209", WORKERS, settings=settings)] == ["note"]


PREDICTED = """\
import glob
import numpy as np
{imports}

model = keras.models.load_model("model.h5")
for path in glob.glob("*.npy"):
    print(model.predict(np.load(path)).mean())
"""


def test_predict_left_memory_behind_in_tensorflows_keras_only():
    assert _found("OOM411", PREDICTED.format(imports="from tensorflow import keras"), 2, 3) == ["warning"]
    assert _found("OOM411", PREDICTED.format(imports="from tensorflow import keras"), 2, 4) == []
    assert _found("OOM411", PREDICTED.format(imports="import keras"), 2, 3) == []

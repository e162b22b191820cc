"""Programs of growing size, one kind of growth each: what `growth.py` measures.

A shape is a function from a size to the files of a project; the first is what is checked, or all where `whole` is set.
Each file names Keras and calls what rules look for, so that no gate keeps it from being read to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

HEAD = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
FIT = "model = keras.Sequential([keras.layers.Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"
TRAINING = '''
def train_{n}(paths, labels, epochs=10, batch_size=64):
    """Train one of the models."""

    def decode(path, label):
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize(image, (224, 224))
        return tf.cast(image, tf.float32) / 255.0, label

    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.shuffle(10_000).map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(batch_size).prefetch(2)
    inputs = keras.Input((224, 224, 3))
    h = inputs
    for filters in (32, 64, 128):
        h = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(h)
        h = keras.layers.MaxPooling2D()(h)
    h = keras.layers.Flatten()(h)
    if batch_size > 32:
        h = keras.layers.Dropout(0.5)(h)
    outputs = keras.layers.Dense({n} + 10)(h)
    model = keras.Model(inputs, outputs)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    history = []
    for epoch in range(epochs):
        result = model.fit(ds, epochs=1)
        history.append(result.history["loss"][0])
    return model, history
'''

Files = dict[str, str]


@dataclass(frozen=True)
class Shape:
    """One kind of growth: sizes are `start`, twice as much, and so on, to `top` where the language has an end."""

    name: str
    unit: str
    start: int
    make: Callable[[int], Files]
    group: str
    whole: bool = False
    top: int | None = None


SHAPES: list[Shape] = []


def shape(
    group: str, unit: str, start: int, *, whole: bool = False, top: int | None = None
) -> Callable[[Callable[[int], str | Files]], Callable[[int], str | Files]]:
    """Register a shape. One that gives a text gives a script in the body of nothing, before a training."""

    def decorator(make: Callable[[int], str | Files]) -> Callable[[int], str | Files]:
        def files(size: int) -> Files:
            made = make(size)
            return {"train.py": f"{HEAD}{made}\n{FIT}"} if isinstance(made, str) else made

        SHAPES.append(Shape(make.__name__, unit, start, files, group, whole, top))
        return make

    return decorator


def lines(size: int, text: str) -> str:
    """`text` so many times, `{i}` the number and `{j}` that of the one before."""
    return "".join(text.replace("{i}", str(i)).replace("{j}", str(i - 1)) for i in range(1, size + 1))


# --- the amount of code -----------------------------------------------------------------------------


@shape("code", "files", 4, whole=True)
def files(size: int) -> Files:
    return {f"train_{n}.py": HEAD + TRAINING.replace("{n}", str(n)) for n in range(size)}


@shape("code", "functions of 30 lines in a file", 4)
def functions(size: int) -> str:
    return "".join(TRAINING.replace("{n}", str(n)) for n in range(size))


@shape("code", "assignments", 250)
def assignments(size: int) -> str:
    return lines(size, "x{i} = {i}\n")


@shape("code", "calls of unknown functions", 125)
def unknown_calls(size: int) -> str:
    return lines(size, "x{i} = some.thing(x{j}, {i})\n")


@shape("code", "comments", 1000)
def comments(size: int) -> str:
    return lines(size, "# a comment, {i}\n")


@shape("code", "suppressions", 100)
def suppressions(size: int) -> str:
    return lines(size, "x{i} = {i}  # noqa: OOM301\n")


@shape("code", "findings", 8)
def findings(size: int) -> str:
    return lines(
        size, "ds{i} = tf.data.Dataset.from_tensor_slices(np.zeros((10, 224, 224, 3))).repeat().cache()\n"
    )


@shape("code", "lines of a string", 2000)
def strings(size: int) -> str:
    return '"""\n' + lines(size, "a row of text, {i}") + '"""\n'


# --- calls ------------------------------------------------------------------------------------------


@shape("calls", "functions deep", 200)
def call_depth(size: int) -> str:
    return (
        "def f0(a):\n    return a\n"
        + lines(size, "def f{i}(a):\n    b = a\n    return f{j}(b)\n")
        + f"f{size}(1)\n"
    )


@shape("calls", "functions, each calling twice", 100)
def call_doubling(size: int) -> str:
    return (
        "def f0(a):\n    return a\n"
        + lines(size, "def f{i}(a):\n    return f{j}(f{j}(a))\n")
        + f"f{size}(1)\n"
    )


@shape("calls", "arguments", 125)
def arguments(size: int) -> str:
    return "f(" + lines(size, "a{i}, ") + ")\ng(" + lines(size, "b{i}={i}, ") + ")\n"


@shape("calls", "parameters", 125)
def parameters(size: int) -> str:
    return "def f(" + lines(size, "a{i}={i}, ") + "):\n    return a1\nf(1)\n"


@shape("calls", "functions inside one another", 12, top=96)
def nested_functions(size: int) -> str:
    return _nested(size, "def f{i}(a{i}):", "return a1", copies=8)


@shape("calls", "lambdas inside one another", 6, top=96)
def nested_lambdas(size: int) -> str:
    return lines(8, f"g{{i}} = {'lambda a: ' * size}a\n")


@shape("calls", "calls inside one another", 8, top=128)
def nested_calls(size: int) -> str:
    return lines(8, f"g{{i}} = {'f(' * size}1{')' * size}\n")


@shape("calls", "decorators", 125)
def decorators(size: int) -> str:
    return lines(size, "@wrap({i})\n") + "def f(a):\n    return a\nf(1)\n"


@shape("calls", "functions decorated in turn", 50)
def decorated(size: int) -> str:
    return "def f0(g):\n    return g\n" + lines(size, "@f{j}\ndef f{i}(g):\n    return g\n")


# --- chains -----------------------------------------------------------------------------------------


@shape("chains", "methods of a dataset", 50)
def dataset_chain(size: int) -> str:
    return "ds = (tf.data.Dataset.range(100)\n" + lines(size, "    .map(lambda a: a + {i})\n") + ")\n"


@shape("chains", "methods of an unknown", 50)
def method_chain(size: int) -> str:
    return "q = (session.query(User)\n" + lines(size, "    .filter(a == {i})\n") + ")\n"


@shape("chains", "rebindings of a dataset", 50)
def dataset_rebound(size: int) -> str:
    return (
        "ds = tf.data.Dataset.range(100)\n"
        + lines(size, "ds = ds.map(lambda a: a + {i})\n")
        + "model.fit(ds)\n"
    )


@shape("chains", "operators", 100)
def operators(size: int) -> str:
    return "s = a0" + lines(size, " + a{i}") + "\n"


@shape("chains", "operators on constants", 100)
def constants(size: int) -> str:
    return "s = 0" + lines(size, " + {i}") + "\n"


@shape("chains", "operators on tensors", 100)
def tensor_operators(size: int) -> str:
    return "t = tf.zeros((8, 8))\ns = t" + lines(size, " * t") + "\n"


@shape("chains", "unknowns added line by line", 100)
def rebound_operators(size: int) -> str:
    return "s = unknown()\n" + lines(size, "s = s + {i}\n")


@shape("chains", "losses added up", 100)
def augmented(size: int) -> str:
    return "s = model(x)\n" + lines(size, "s += model(x)\n")


@shape("chains", "subscripts of a name", 100)
def subscripts(size: int) -> str:
    return "s = a" + lines(size, "[{i}]") + "\n"


@shape("chains", "subscripts of a tensor", 100)
def tensor_subscripts(size: int) -> str:
    return "s = model(x)" + lines(size, "[0]") + "\n"


@shape("chains", "attributes", 100)
def attributes(size: int) -> str:
    return "s = a" + lines(size, ".b{i}") + "\n"


@shape("chains", "calls of what a call gave", 50)
def curried(size: int) -> str:
    return "s = f" + lines(size, "({i})") + "\n"


@shape("chains", "`and`", 100)
def booleans(size: int) -> str:
    return "s = a0" + lines(size, " and a{i}") + "\n"


@shape("chains", "comparisons", 100)
def comparisons(size: int) -> str:
    return "s = a0" + lines(size, " < a{i}") + "\n"


@shape("chains", "conditional expressions", 50)
def conditionals(size: int) -> str:
    return "s = " + lines(size, "b{i} if a{i} else ") + "0\n"


@shape("chains", "strings side by side", 100)
def side_by_side(size: int) -> str:
    return "s = (" + lines(size, '"a{i}" ') + ")\n"


@shape("chains", "fields of an f-string", 100)
def f_string(size: int) -> str:
    return 's = f"' + lines(size, "{a{i}} ") + '"\n'


@shape("chains", "layers called one on another", 50)
def layers(size: int) -> str:
    return (
        "h = inputs = keras.Input((64,))\n"
        + lines(size, "h = keras.layers.Dense(64)(h)\n")
        + "m = keras.Model(inputs, h)\nm.fit(x, y)\n"
    )


@shape("chains", "layers, each added to all before", 25)
def residual(size: int) -> str:
    return (
        "h = inputs = keras.Input((64,))\n"
        + lines(size, "h = h + keras.layers.Dense(64)(h)\n")
        + "m = keras.Model(inputs, h)\nm.fit(x, y)\n"
    )


@shape("chains", "`model.add`", 50)
def model_add(size: int) -> str:
    return "m = keras.Sequential()\n" + lines(size, "m.add(keras.layers.Dense({i}))\n") + "m.fit(x, y)\n"


@shape("chains", "brackets round a name", 12, top=192)
def brackets(size: int) -> str:
    return lines(20, f"s{{i}} = {'(' * size}a{')' * size}\n")


@shape("chains", "`not` before a name", 12, top=96)
def negations(size: int) -> str:
    return lines(20, f"s{{i}} = {'not ' * size}a\n")


# --- branches and loops -----------------------------------------------------------------------------


@shape("branches", "`elif`", 50)
def elifs(size: int) -> str:
    return "if a0:\n    b = 0\n" + lines(size, "elif a{i}:\n    b = {i}\n") + "else:\n    b = None\nuse(b)\n"


@shape("branches", "`elif`, each returning", 50)
def returning(size: int) -> str:
    tests = lines(size, "    if a == 'case-{i}':\n        return {i}\n")
    return f"def f(a):\n{tests}    return None\nf(unknown)\n"


@shape("branches", "branches one after another", 50)
def branches(size: int) -> str:
    return lines(size, "if a{i}:\n    x{i} = b = {i}\nelse:\n    x{i} = b = None\n")


@shape("branches", "branches that write one name", 50)
def one_name(size: int) -> str:
    return "b = unknown()\n" + lines(size, "if a{i}:\n    b = f{i}(b)\n") + "use(b)\n"


@shape("branches", "`if` inside `if`", 12, top=96)
def nested_ifs(size: int) -> str:
    return _nested(size, "if a{i}:", "b = 1", copies=8)


@shape("branches", "`else` with an `if` in it", 12, top=96)
def nested_else(size: int) -> str:
    rows = "".join(f"{' ' * i}if a{i}:\n{' ' * i} b = {i}\n{' ' * i}else:\n" for i in range(size))
    return (rows + " " * size + "b = None\n") * 4


@shape("branches", "cases of a `match`", 50)
def cases(size: int) -> str:
    return "match a:\n" + lines(size, "    case {i}:\n        b = {i}\n") + "use(b)\n"


@shape("branches", "`try` one after another", 50)
def tries(size: int) -> str:
    return lines(
        size, "try:\n    x{i} = f({i})\nexcept ValueError:\n    x{i} = None\nfinally:\n    close()\n"
    )


@shape("branches", "`try` inside `try`", 6, top=24)
def nested_tries(size: int) -> str:
    body = "".join(f"{' ' * i}try:\n" for i in range(size)) + " " * size + "b = 1\n"
    return (body + "".join(f"{' ' * i}except E{i}:\n{' ' * i} c = {i}\n" for i in range(size)[::-1])) * 8


@shape("branches", "handlers of a `try`", 50)
def handlers(size: int) -> str:
    return "try:\n    b = f()\n" + lines(size, "except E{i}:\n    b = {i}\n") + "use(b)\n"


@shape("branches", "`with` inside `with`", 12, top=96)
def nested_withs(size: int) -> str:
    return _nested(size, "with a{i}() as b{i}:", "c = 1", copies=8)


@shape("loops", "loops one after another", 25)
def loops(size: int) -> str:
    return lines(size, "for a in range(60):\n    x{i} = f(a, {i})\n    y{i} = x{i} + 1\n")


@shape("loops", "loops that train", 10)
def training_loops(size: int) -> str:
    return lines(
        size,
        "for a in range(60):\n    m{i} = keras.Sequential([keras.layers.Dense(a)])\n    m{i}.fit(x, y)\n",
    )


@shape("loops", "loops over what nobody knows", 50)
def unknown_loops(size: int) -> str:
    return lines(size, "for a in b{i}:\n    c = d(a, c)\n")


@shape("loops", "loops inside loops", 12, top=96)
def nested_loops(size: int) -> str:
    return _nested(size, "for a{i} in range(3):", "b = 1", copies=4)


@shape("loops", "loops inside unknown loops", 12, top=96)
def nested_unknown_loops(size: int) -> str:
    return _nested(size, "for a{i} in b{i}:", "c = d(c)", copies=4)


@shape("loops", "`while` one after another", 50)
def whiles(size: int) -> str:
    return lines(size, "while a{i} < b:\n    a{i} += f({i})\n")


@shape("loops", "rounds of a loop that builds", 64)
def rounds(size: int) -> str:
    return f"m = keras.Sequential()\nfor i in range({size}):\n    m.add(keras.layers.Dense(i))\nm.fit(x, y)\n"


@shape("loops", "`for` of a comprehension", 6, top=96)
def comprehension(size: int) -> str:
    return lines(
        8, f"s{{i}} = [a0 for a0 in range(3){''.join(f' for a{k} in a{k - 1}' for k in range(1, size))}]\n"
    )


@shape("loops", "comprehensions inside one another", 6, top=48)
def nested_comprehensions(size: int) -> str:
    return lines(8, f"s{{i}} = {'[' * size}a{' for a in range(3)]' * size}\n")


# --- literals ---------------------------------------------------------------------------------------


@shape("literals", "items of a list", 500)
def list_literal(size: int) -> str:
    return "s = [" + lines(size, "{i}, ") + "]\nnp.array(s)\n"


@shape("literals", "entries of a dictionary", 250)
def dict_literal(size: int) -> str:
    return "s = {" + lines(size, '"key {i}": {i}, ') + "}\ns['key 3']\n"


@shape("literals", "items of a set", 500)
def set_literal(size: int) -> str:
    return "s = {" + lines(size, "{i}, ") + "}\n"


@shape("literals", "rows of a table", 100)
def table(size: int) -> str:
    return "s = [" + lines(size, "[{i}, 2, 3], ") + "]\nnp.array(s)\n"


@shape("literals", "lists inside one another", 12, top=192)
def nested_lists(size: int) -> str:
    return lines(20, f"s{{i}} = {'[' * size}1{']' * size}\n")


@shape("literals", "dictionaries inside one another", 12, top=192)
def nested_dicts(size: int) -> str:
    return lines(10, "s{i} = " + '{"a": ' * size + "1" + "}" * size + "\n")


@shape("literals", "keys written one by one", 125)
def keys(size: int) -> str:
    return "s = {}\n" + lines(size, 's["key {i}"] = {i}\n')


@shape("literals", "items appended one by one", 125)
def appended(size: int) -> str:
    return "s = []\n" + lines(size, "s.append({i})\n") + "np.array(s)\n"


@shape("literals", "attributes written one by one", 125)
def attributes_written(size: int) -> str:
    return "class A:\n    pass\ns = A()\n" + lines(size, "s.a{i} = {i}\n")


# --- classes ----------------------------------------------------------------------------------------


@shape("classes", "classes", 25)
def classes(size: int) -> str:
    return lines(
        size,
        "class C{i}:\n    def __init__(self, a):\n        self.a = a\n"
        "    def go(self):\n        return self.a\nC{i}(1).go()\n",
    )


@shape("classes", "classes, each derived from the last", 100)
def inheritance(size: int) -> str:
    each = "class C{i}(C{j}):\n    def __init__(self):\n        super().__init__()\n        self.a{i} = {i}\n"
    return "class C0:\n    pass\n" + lines(size, each) + f"C{size}().a1\n"


@shape("classes", "methods", 50)
def methods(size: int) -> str:
    each = "    def m{i}(self):\n        self.a{i} = self.m{j}()\n        return self.a{i}\n"
    return "class C:\n    def m0(self):\n        return 1\n" + lines(size, each) + f"C().m{size}()\n"


@shape("classes", "layers and models of one's own", 10)
def keras_classes(size: int) -> str:
    each = (
        "class L{i}(keras.layers.Layer):\n    def __init__(self, units):\n        super().__init__()\n"
        "        self.d = keras.layers.Dense(units)\n    def call(self, a):\n        return self.d(a) + a\n"
        "m{i} = keras.Sequential([L{i}({i})])\nm{i}.fit(x, y)\n"
    )
    return lines(size, each)


# --- modules ----------------------------------------------------------------------------------------

MODULE = (
    "import tensorflow as tf\n{imports}\nSIZE = {size}\n"
    "def build(a):\n    h = tf.keras.layers.Dense(SIZE)(a)\n    return {result}\n"
)
MAIN = HEAD + "{imports}\nh = {call}\n" + FIT


@shape("modules", "modules in a chain", 8)
def module_chain(size: int) -> Files:
    made = {"train.py": MAIN.format(imports="import m1", call="m1.build(x)")}
    for i in range(1, size + 1):
        last = i == size
        made[f"m{i}.py"] = MODULE.format(
            imports="" if last else f"import m{i + 1}", size=i, result="h" if last else f"m{i + 1}.build(h)"
        )
    return made


@shape("modules", "modules in a chain, each checked", 32, whole=True)
def module_chain_whole(size: int) -> Files:
    return module_chain(size)  # type: ignore[return-value]


@shape("modules", "modules in a star", 8)
def module_star(size: int) -> Files:
    made = {
        "train.py": MAIN.format(
            imports=lines(size, "import m{i}\n"), call="x\n" + lines(size, "m{i}.build(x)\n")
        )
    }
    return made | {f"m{i}.py": MODULE.format(imports="", size=i, result="h") for i in range(1, size + 1)}


@shape("modules", "modules in a star, each checked", 8, whole=True)
def module_star_whole(size: int) -> Files:
    return module_star(size)  # type: ignore[return-value]


@shape("modules", "scripts that use one module", 8, whole=True)
def users(size: int) -> Files:
    made = {f"train_{i}.py": MAIN.format(imports="import m", call="m.build(x)") for i in range(size)}
    return made | {"m.py": MODULE.format(imports="", size=8, result="h")}


@shape("modules", "modules imported with `*`", 8)
def stars(size: int) -> Files:
    made = {"train.py": MAIN.format(imports=lines(size, "from m{i} import *\n"), call="build(x)")}
    return made | {f"m{i}.py": MODULE.format(imports="", size=i, result="h") for i in range(1, size + 1)}


@shape("modules", "modules in a ring, each checked", 32, whole=True)
def ring(size: int) -> Files:
    return {
        f"m{i}.py": MODULE.format(
            imports=f"import m{(i + 1) % size}", size=i, result=f"m{(i + 1) % size}.build(h)"
        )
        for i in range(size)
    }


@shape("modules", "names imported", 125)
def names_imported(size: int) -> str:
    return "from some.where import (" + lines(size, "n{i}, ") + ")\n" + lines(size, "n{i}()\n")


def _nested(depth: int, header: str, body: str, copies: int) -> str:
    """A block in a block, one blank more each. The text grows with the square of the depth, in blanks alone."""
    rows = "".join(" " * i + header.replace("{i}", str(i)) + "\n" for i in range(depth))
    return (rows + " " * depth + body + "\n") * copies


def sizes(shape: Shape) -> Iterator[int]:
    """Its sizes: each twice the one before."""
    size = shape.start
    while shape.top is None or size <= shape.top:
        yield size
        size *= 2

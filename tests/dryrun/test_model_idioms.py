"""Turns of speech in model code, one small model each: Keras runs it, the dry run reads it, both must agree.

`i` is a picture of 32 x 32 x 3, `x` what the script makes of it.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from .test_keras_shapes import dry, plain

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

BOTH = {
    "isinstance int": """
k = 3
if isinstance(k, int):
    k = (k, k)
x = L.Conv2D(4, k)(i)
""",
    "isinstance tuple": """
k = (3, 3)
k = k if isinstance(k, (tuple, list)) else (k, k)
x = L.Conv2D(4, k)(i)
""",
    "shape unpack": """
_, h, w, c = i.shape
x = L.Dense(h * c)(i)
""",
    "shape loop": """
n = 1
for d in i.shape[1:]:
    n *= d
x = L.Reshape((n,))(i)
x = L.Dense(3)(x)
""",
    "np prod": """
x = L.Reshape((int(np.prod(i.shape[1:])),))(i)
x = L.Dense(3)(x)
""",
    "map over": """
fs = list(map(int, '8,16,32'.split(',')))
x = i
for f in fs:
    x = L.Conv2D(f, 3)(x)
""",
    "sorted": """
fs = sorted([32, 8, 16])
x = i
for f in fs:
    x = L.Conv2D(f, 3, padding='same')(x)
""",
    "enumerate start": """
x = i
for n, f in enumerate([8, 16], start=1):
    x = L.Conv2D(f * n, 3)(x)
""",
    "zip dict": """
x = i
for k, v in {'a': 4, 'b': 8}.items():
    x = L.Conv2D(v, 3, name=k)(x)
""",
    "reduce": """
import functools
x = functools.reduce(lambda t, f: L.Conv2D(f, 3)(t), [4, 8], i)
""",
    "compose": """
import functools
def compose(*fs):
    return functools.reduce(lambda f, g: lambda *a, **kw: g(f(*a, **kw)), fs)
x = compose(L.Conv2D(4, 3), L.BatchNormalization(), L.LeakyReLU(alpha=0.1))(i)
""",
    "wraps": """
import functools
@functools.wraps(L.Conv2D)
def DConv(*args, **kwargs):
    kw = {'padding': 'same'}
    kw.update(kwargs)
    return L.Conv2D(*args, **kw)
x = DConv(4, (3, 3), strides=(2, 2))(i)
""",
    "kwargs pop": """
def conv(x, filters, **kwargs):
    size = kwargs.pop('size', 3)
    act = kwargs.get('act', 'relu')
    return L.Conv2D(filters, size, activation=act, **kwargs)(x)
x = conv(i, 4, size=5, strides=2)
""",
    "setdefault": """
def conv(**p):
    p.setdefault('padding', 'same')
    return lambda t: L.Conv2D(**p)(t)
x = conv(filters=4, kernel_size=3)(i)
""",
    "recursion": """
def block(t, n):
    if n == 0:
        return t
    return block(L.Conv2D(4 * n, 3, padding='same')(t), n - 1)
x = block(i, 4)
""",
    "getattr layer": """
x = getattr(L, 'Conv2D')(4, 3)(i)
""",
    "layer table": """
T = {'conv': L.Conv2D, 'sep': L.SeparableConv2D}
x = T['sep'](4, 3)(i)
""",
    "f-string": """
x = L.Conv2D(4, 3, name=f'c_{1}')(i)
x = L.Dense(2)(x)
""",
    "math log": """
import math
n = int(math.log2(i.shape[1]))
x = i
for k in range(n):
    x = L.Conv2D(2 ** k, 3, padding='same')(x)
""",
    "np.log2": """
n = int(np.log2(i.shape[1]))
x = i
for k in range(n):
    x = L.Conv2D(2 ** k, 3, padding='same')(x)
""",
    "reversed range": """
x = i
for k in reversed(range(3)):
    x = L.Conv2D(4 * 2 ** k, 3, padding='same')(x)
""",
    "slice step": """
fs = [4, 8, 16, 32][::-1]
x = i
for f in fs[:2]:
    x = L.Conv2D(f, 3, padding='same')(x)
""",
    "list mult": """
x = i
for f in [4] * 2 + [8] * 3:
    x = L.Conv2D(f, 3, padding='same')(x)
""",
    "nested def": """
def outer(n):
    def inner(t):
        return L.Conv2D(n, 3)(t)
    return inner
x = outer(5)(i)
""",
    "namedtuple": """
import collections
B = collections.namedtuple('B', 'f k')
x = i
for b in (B(4, 3), B(f=8, k=5)):
    x = L.Conv2D(b.f, b.k)(x)
""",
    "enum/class consts": """
class Cfg:
    F = [4, 8]
    K = 3
x = i
for f in Cfg.F:
    x = L.Conv2D(f, Cfg.K)(x)
""",
    "star args": """
args = (4, (3, 3))
x = L.Conv2D(*args, padding='same')(i)
""",
    "walrus": """
if (c := i.shape[-1]) == 3:
    x = L.Conv2D(c, 3)(i)
else:
    x = i
""",
    "not in": """
x = i
for n in range(4):
    if n not in (1, 2):
        x = L.Conv2D(4, 3)(x)
""",
    "modulo": """
x = i
for n in range(4):
    x = L.Conv2D(4, 3, padding='same')(x)
    if n % 2 == 1:
        x = L.MaxPooling2D()(x)
""",
    "break": """
x = i
for n in range(10):
    if n == 3:
        break
    x = L.Conv2D(4, 3)(x)
""",
    "continue": """
x = i
for n in range(4):
    if n == 2:
        continue
    x = L.Conv2D(4, 3)(x)
""",
    "tf resize": """
x = L.Lambda(lambda t: tf.image.resize(t, (16, 16)))(i)
x = L.Dense(3)(x)
""",
    "tf reduce": """
x = L.Lambda(lambda t: tf.reduce_max(t, axis=-1, keepdims=True))(i)
x = L.Dense(3)(x)
""",
    "split": """
x = L.Lambda(lambda t: t[..., :2])(i)
x = L.Dense(3)(x)
""",
    "class call": """
class C:
    def __init__(self, f):
        self.f = f
    def __call__(self, t):
        return L.Conv2D(self.f, 3)(t)
x = C(5)(i)
""",
    "static": """
class N:
    @staticmethod
    def build(w, h):
        m = keras.Sequential()
        m.add(L.Conv2D(4, 3, input_shape=(h, w, 3)))
        return m
x = N.build(32, 32)(i)
""",
    "seq in loop": """
m = keras.Sequential([keras.Input((32, 32, 3))])
for f in (4, 8):
    for _ in range(2):
        m.add(L.Conv2D(f, 3))
    m.add(L.MaxPooling2D())
x = m(i)
""",
    "layers list call": """
ls = [L.Conv2D(f, 3) for f in (4, 8)]
x = i
for l in ls:
    x = l(x)
""",
    "dict of layers": """
d = {}
for n in range(3):
    d[f'c{n}'] = L.Conv2D(4 + n, 3)
x = i
for n in range(3):
    x = d[f'c{n}'](x)
""",
    "ternary act": """
act = 'relu' if True else 'tanh'
x = L.Conv2D(4, 3, activation=act)(i)
""",
    "assert": """
assert i.shape[-1] == 3
x = L.Conv2D(4, 3)(i)
""",
    "try import": """
try:
    from foo import bar
    K = 5
except ImportError:
    K = 5
x = L.Conv2D(4, K)(i)
""",
    "global cfg": """
cfg = dict(f=4, k=3)
def b(t):
    return L.Conv2D(cfg['f'], cfg.get('k'))(t)
x = b(i)
""",
    "partial": """
import functools
C = functools.partial(L.Conv2D, kernel_size=3, padding='same')
x = C(4)(i)
x = C(8, kernel_size=1)(x)
""",
    "or default": """
def b(t, f=None):
    f = f or t.shape[-1]
    return L.Conv2D(f, 3)(t)
x = b(i)
""",
    "is None default": """
def b(t, f=None):
    if f is None:
        f = t.shape[-1] * 2
    return L.Conv2D(f, 3)(t)
x = b(b(i), 7)
""",
    "divmod": """
q, r = divmod(17, 5)
x = L.Conv2D(q, r + 1)(i)
""",
    "shape eq": """
s = i
x = L.Conv2D(6, 3, strides=2, padding='same')(i)
if s.shape != x.shape:
    s = L.Conv2D(x.shape[-1], 1, strides=2)(s)
x = L.add([x, s])
""",
    "resnet keras example": """
s = i
x = L.Conv2D(6, 3, strides=2, padding='same')(i)
if s.shape[1:] != x.shape[1:]:
    s = L.Conv2D(x.shape[-1], 1, strides=2)(s)
x = L.add([x, s])
""",
}
KERAS2 = {
    "int_shape": """
c = keras.backend.int_shape(i)[-1]
x = L.Conv2D(c * 2, 3)(i)
""",
    "tf ops": """
x = tf.nn.relu(tf.concat([i, i], axis=-1))
x = L.Conv2D(4, 3)(x)
""",
    "tf.split": """
a, b = tf.split(L.Conv2D(8, 3)(i), 2, axis=-1)
x = L.Dense(3)(a + b)
""",
    "equal shape backend": """
s = i
x = L.Conv2D(6, 3, strides=2, padding='same')(i)
a, b = keras.backend.int_shape(s), keras.backend.int_shape(x)
st = int(round(a[1] / b[1]))
eq = a[3] == b[3]
if st > 1 or not eq:
    s = L.Conv2D(b[3], 1, strides=st)(s)
x = L.add([x, s])
""",
    "get_shape as_list": """
c = i.get_shape().as_list()[-1]
x = L.Conv2D(c * 2, 3)(i)
""",
    "get_shape item": """
c = int(i.get_shape()[-1])
x = L.Conv2D(c * 2, 3)(i)
""",
    "shape as_list": """
b, h, w, c = i.shape.as_list()
x = L.Conv2D(c * h, 3)(i)
""",
    "backend mean": """
x = L.Lambda(lambda t: keras.backend.mean(t, axis=[1, 2], keepdims=True))(i)
x = L.Dense(3)(x)
""",
    "cbam": """
a = L.Lambda(lambda t: keras.backend.mean(t, axis=3, keepdims=True))(i)
b = L.Lambda(lambda t: keras.backend.max(t, axis=3, keepdims=True))(i)
x = L.multiply([i, L.Conv2D(1, 7, padding='same', activation='sigmoid')(L.Concatenate(axis=3)([a, b]))])
""",
}
# TensorFlow 1, or an attribute that is no more: known without Keras.
GONE = {
    "the shape kept by old Keras": "c = i._keras_shape[-1]",
    "the value of a dimension": "c = i.shape[-1].value",
}


def script(text: str) -> str:
    return (
        f"from LIBRARY import layers as L\ni = keras.Input((32, 32, 3))\n{text}\nmodel = keras.Model(i, x)\n"
    )


def check(keras: Any, library: str, text: str) -> None:
    import numpy as np
    import tensorflow as tf

    text = script(text).replace("LIBRARY", library)
    names: dict[str, Any] = {"keras": keras, "np": np, "tf": tf}
    exec(text, names)
    found = dry(text)
    assert found.parameters is not None
    assert found.parameters.value == names["model"].count_params()
    assert plain(found.output_shape) == tuple(names["model"].output_shape)


@pytest.mark.parametrize("name", BOTH)
def test_keras_3(name: str) -> None:
    check(pytest.importorskip("keras", minversion="3.0"), "keras", BOTH[name])


@pytest.mark.parametrize("name", [*BOTH, *KERAS2])
def test_keras_2(name: str) -> None:
    check(pytest.importorskip("tf_keras"), "tf_keras", {**BOTH, **KERAS2}[name])


@pytest.mark.parametrize("name", GONE)
def test_what_only_old_versions_have(name: str) -> None:
    found = dry(script(f"{GONE[name]}\nx = L.Conv2D(c * 2, 3)(i)").replace("LIBRARY", "tensorflow.keras"))
    assert found.parameters is not None
    assert found.parameters.value == 9 * 3 * 6 + 6

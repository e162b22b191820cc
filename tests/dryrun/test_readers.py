"""What reading from files gives: shapes, dtypes and facts, by hand from the libraries' documentation.

The libraries (OpenCV, PIL, scikit-learn, pandas, ...) need not be installed: nothing here imports them.
"""

from __future__ import annotations

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.catalog.arrays.making import DECODED, loads_of
from oomlint.dryrun.values.arrays import Array, shape_text
from oomlint.dryrun.values.base import Sequence, Unknown, Value, tags_of
from oomlint.syntax.parse import parse

PRELUDE = """\
import glob, os, pickle
from pathlib import Path
import cv2, h5py, librosa
import numpy as np
import nibabel as nib
import pandas as pd
import skimage.transform
from PIL import Image
from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle
from sklearn.preprocessing import StandardScaler
import tensorflow as tf
from tensorflow import keras
"""


def value_of(text: str) -> Value:
    """The value of `result` after a snippet (or of the snippet, if it is one expression)."""
    source = text if "result =" in text else f"result = {text}"
    trace = dry_run(parse(document_from_text(f"{PRELUDE}{source}\n", "snippet.py")))
    return [assign.value for assign in trace.assigns() if assign.path == "result"][-1]


SHAPES = {
    'keras.utils.load_img("a.png", target_size=(224, 160))': ("(224, 160, 3)", "uint8"),
    'keras.utils.load_img("a.png", color_mode="grayscale", target_size=(28, 28))': ("(28, 28, 1)", "uint8"),
    'keras.utils.img_to_array(keras.utils.load_img("a.png", target_size=(9, 7)))': ("(9, 7, 3)", "float32"),
    'np.array(keras.utils.load_img("a.png"))': ("(None, None, 3)", "uint8"),
    'np.asarray(Image.open("a.png").convert("RGB").resize((200, 150)))': ("(150, 200, 3)", "uint8"),
    'np.array(Image.open("a.png").convert("L").resize((64, 32)), dtype="float32")': ("(32, 64)", "float32"),
    'np.array(Image.open("a.png"))': ("(unknown rank)", "uint8"),
    'cv2.imread("a.png")': ("(None, None, 3)", "uint8"),
    'cv2.imread("a.png", 0)': ("(None, None)", "uint8"),
    'cv2.imread("a.png", cv2.IMREAD_UNCHANGED)': ("(unknown rank)", "uint8"),
    'cv2.resize(cv2.imread("a.png"), (320, 240))': ("(240, 320, 3)", "uint8"),
    'cv2.cvtColor(cv2.resize(cv2.imread("a.png"), (8, 6)), cv2.COLOR_BGR2GRAY)': ("(6, 8)", "uint8"),
    'cv2.resize(cv2.imread("a.png"), (320, 240)) / 255.0': ("(240, 320, 3)", "float64"),
    'skimage.transform.resize(cv2.imread("a.png"), (64, 48))': ("(64, 48, 3)", "float64"),
    'librosa.load("a.wav", sr=16000)[0]': ("(None,)", "float32"),
    'librosa.util.fix_length(librosa.load("a.wav")[0], size=66150)': ("(66150,)", "float32"),
    'nib.load("a.nii").get_fdata()': ("(unknown rank)", "float64"),
    'np.fromfile("a.bin", dtype="int16", count=1000).reshape(10, -1)': ("(10, 100)", "int16"),
    'pd.read_csv("a.csv", nrows=500).name[:20]': ("(20,)", "None"),
    'pd.read_csv("a.csv", nrows=500).name.values[100:]': ("(400,)", "None"),
    'pd.read_csv("a.csv", nrows=500).name.tolist()': ("(500,)", "None"),
    'pd.read_csv("a.csv").name.head(30)': ("(30,)", "None"),
    'np.memmap("a.bin", shape=(50, 4))': ("(50, 4)", "uint8"),
    'np.loadtxt("a.txt", max_rows=20)': ("(20, None)", "float64"),
    'pd.read_csv("a.csv", nrows=100).drop(columns="y").values': ("(100, None)", "None"),
    'pd.read_csv("a.csv", nrows=100)["y"].to_numpy()': ("(100,)", "None"),
    "keras.datasets.mnist.load_data()[0][0]": ("(60000, 28, 28)", "uint8"),
    "keras.datasets.fashion_mnist.load_data()[1][1]": ("(10000,)", "uint8"),
    "keras.datasets.cifar10.load_data()[0][1]": ("(50000, 1)", "uint8"),
    "keras.datasets.cifar100.load_data()[1][0]": ("(10000, 32, 32, 3)", "uint8"),
    "keras.datasets.imdb.load_data(num_words=10000)[0][0]": ("(25000,)", "object"),
    "keras.datasets.boston_housing.load_data()[0][0]": ("(404, 13)", "float64"),
    "keras.datasets.california_housing.load_data()[1][0]": ("(4128, 8)", "None"),
    "keras.datasets.reuters.load_data(test_split=0.2)[0][1]": ("(8982,)", "int64"),
    "keras.utils.to_categorical(keras.datasets.cifar10.load_data()[0][1], 10)": ("(50000, 10)", "float64"),
    "keras.utils.to_categorical(tf.constant([1, 2]), 7)": ("(2, 7)", "float32"),
    'keras.utils.pad_sequences(keras.datasets.imdb.load_data()[0][0], maxlen=80)': ("(25000, 80)", "int32"),
    # scikit-learn rounds the test part up: ceil(0.25 * 10) = 3, ceil(0.2 * 1001) = 201
    "train_test_split(np.zeros((10, 4)))[1]": ("(3, 4)", "float64"),
    "train_test_split(np.zeros((1001, 4)), test_size=0.2)[0]": ("(800, 4)", "float64"),
    "train_test_split(np.zeros((100, 4)), np.zeros(100), test_size=30)[2]": ("(70,)", "float64"),
    "train_test_split(np.zeros((100, 4)), train_size=0.6)[1]": ("(40, 4)", "float64"),
    "shuffle(np.zeros((100, 4)), np.zeros(100), random_state=1)[1]": ("(100,)", "float64"),
    "shuffle(np.zeros((100, 4)), n_samples=30)": ("(30, 4)", "float64"),
    "shuffle(np.zeros((100, 4)), n_samples=None)": ("(100, 4)", "float64"),
    "shuffle(np.zeros((100, 4)), n_samples=x)": ("(None, 4)", "float64"),
    "StandardScaler().fit_transform(np.zeros((100, 4), np.float32))": ("(100, 4)", "float32"),
    "StandardScaler().fit_transform(np.zeros((100, 4), np.uint8))": ("(100, 4)", "float64"),
}  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_shape_and_dtype(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Array)
    assert (shape_text(value.shape), str(value.dtype)) == SHAPES[text]


WHOLE = {
    'np.load("x.npy")': True,
    'np.load("x.npz")["x"]': True,
    'np.load("x.npz", mmap_mode="r")["x"]': True,
    'np.load("x.npy", mmap_mode="r")': False,
    'np.array(np.load("x.npy", mmap_mode="r"))': True,
    'np.array(np.load("x.npy", mmap_mode="r")[:32])': False,
    'np.load("x.npy")[0]': False,
    'np.load("x.npy")[:100]': False,
    'np.load("x.npy")[5:]': True,
    'np.load("x.npy").astype("float32") / 255': True,
    'np.load("x.npy").mean(axis=0)': False,
    'np.load("x.npy").item()': False,
    'np.load("mnist.npz")["x_train"]': False,
    'h5py.File("a.h5")["x"]': False,
    'h5py.File("a.h5")["x"][:]': True,
    'h5py.File("a.h5")["group"]["x"][()]': True,
    'h5py.File("a.h5")["x"][0:64]': False,
    'np.array(h5py.File("a.h5")["x"])': True,
    'pd.read_csv("a.csv").iloc[:, 1:].values': True,
    'pd.read_csv("a.csv")["y"]': False,
    'train_test_split(np.load("x.npy"))[0]': True,
    'shuffle(np.load("x.npy"), np.load("y.npy"))[0]': True,
    'pickle.load(open("a.pkl", "rb"))["x"]': True,
    'pickle.load(open("a.pkl", "rb")).texts_to_sequences(["a"])': False,
    'pickle.load(open("a.pkl", "rb")) / 255.0': True,
    '-pickle.load(open("a.pkl", "rb"))': True,
    'pickle.load(open("a.pkl", "rb")) - pickle.load(open("b.pkl", "rb"))': True,
    '(np.zeros((9, 4)) - np.load("mean.npy")) / np.load("std.npy")': False,
    'np.zeros((9, 4)) - pickle.load(open("mean.pkl", "rb"))': False,
}  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_what_holds_a_whole_file(text: str) -> None:
    assert bool(loads_of(value_of(text))) == WHOLE[text]


PICTURES = {
    'cv2.imread("a.png")': True,
    'cv2.resize(cv2.imread("a.png"), (8, 8))[np.newaxis] / 255.0': True,
    'np.expand_dims(keras.utils.img_to_array(keras.utils.load_img("a.png")), 0)': True,
    'cv2.imread("a.png").mean(axis=(0, 1))': False,
    'cv2.imread("a.png").shape[0]': False,
    'librosa.feature.mfcc(y=librosa.load("a.wav")[0])': False,
    'np.mean(nib.load("a.nii").get_fdata())': False,
    'cv2.VideoCapture("a.mp4").read()[1]': False,
}


@pytest.mark.parametrize("text", PICTURES)
def test_what_is_a_decoded_file(text: str) -> None:
    value = value_of(text)
    assert (isinstance(value, Array) and tags_of(value) >= DECODED) == PICTURES[text]


@pytest.mark.parametrize(
    "text",
    [
        'glob.glob("*.png")',
        'os.listdir(".")',
        'sorted(os.listdir("."))',
        '[os.path.join("a", name) for name in os.listdir("a")]',
        'list(Path("a").rglob("*.png"))',
        '[str(path) for path in Path("a").iterdir()]',
    ],
)
def test_listings_are_paths_of_unknown_number(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, Sequence)
    assert value.length is None
    assert "path" in tags_of(value.any)


@pytest.mark.parametrize(
    "text", ['unheard_of.load("x.npy")', "np.unheard_of(3)", "cv2.calcHist([1], 2, None)"]
)
def test_what_nobody_knows_is_unknown(text: str) -> None:
    assert isinstance(value_of(text), Unknown)

"""What the pages of the host-data rules (2xx) claim, measured on NumPy and Keras themselves.

`tracemalloc` sees NumPy's own allocations, so peaks are exact byte counts, not resident memory.
"""

from __future__ import annotations

import time
import tracemalloc
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def peak_of(work: Callable[[], object]) -> int:
    """The most bytes that `work` held at once beyond what was there before it."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        work()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


PIXELS = np.full((64, 64, 64, 3), 200, dtype=np.uint8)


class TestFloat64Promotion:
    def test_new_arrays_are_float64(self) -> None:
        assert np.zeros(3).dtype == np.ones(3).dtype == np.empty(3).dtype == np.float64
        assert np.random.rand(3).dtype == np.eye(3).dtype == np.float64

    def test_bytes_over_a_python_float_are_float64(self) -> None:
        assert (PIXELS / 255.0).dtype == np.float64

    def test_floats_over_a_python_float_stay(self) -> None:
        assert (PIXELS.astype("float32") / 255.0).dtype == np.float32

    def test_numpy_scalars_promote_and_python_numbers_do_not(self) -> None:
        image = np.ones(4, np.float32)
        assert (image / np.sqrt(128)).dtype == np.float64
        assert (image / np.float64(128)).dtype == np.float64
        assert (image / float(np.sqrt(128))).dtype == np.float32

    def test_division_holds_eight_times_the_bytes(self) -> None:
        # 5 %: NumPy 2.2 casts through buffers of 130 KB that later versions do without.
        assert peak_of(lambda: PIXELS / 255.0) == pytest.approx(8 * PIXELS.nbytes, rel=0.05)

    def test_casting_after_the_division_peaks_at_twelve_times(self) -> None:
        late = peak_of(lambda: (PIXELS / 255.0).astype("float32"))
        assert late == pytest.approx(12 * PIXELS.nbytes, rel=0.01)

    def test_casting_first_peaks_at_eight_times(self) -> None:
        early = peak_of(lambda: PIXELS.astype("float32") / 255.0)
        assert early == pytest.approx(8 * PIXELS.nbytes, rel=0.01)

    def test_a_float32_draw_needs_the_generator(self) -> None:
        rng = np.random.default_rng(0)
        assert rng.random(4, dtype="float32").dtype == np.float32
        with pytest.raises(TypeError):
            np.random.random(4, dtype="float32")  # type: ignore[call-arg]


class TestWholeDatasetLoad:
    def test_npy_can_be_mapped(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", PIXELS)
        assert isinstance(np.load(tmp_path / "x.npy", mmap_mode="r"), np.memmap)
        assert peak_of(lambda: np.load(tmp_path / "x.npy", mmap_mode="r")) < PIXELS.nbytes / 10

    def test_npz_cannot(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "x.npz", x=PIXELS)

        def read() -> None:
            member = np.load(tmp_path / "x.npz", mmap_mode="r")["x"]
            assert not isinstance(member, np.memmap)

        assert peak_of(read) >= PIXELS.nbytes

    def test_an_hdf5_slice_is_an_array(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file["x"] = PIXELS
        with h5py.File(tmp_path / "x.h5", "r") as file:
            assert not isinstance(file["x"], np.ndarray)
            assert isinstance(file["x"][:], np.ndarray)
            assert file["x"][:8].nbytes == PIXELS.nbytes // 8


class TestImagesIntoList:
    def test_stacking_a_list_holds_the_images_twice(self) -> None:
        def load() -> None:
            images = [np.ones((64, 64, 3), np.float32) for _ in range(40)]
            np.array(images)

        assert peak_of(load) == pytest.approx(2 * 40 * 64 * 64 * 3 * 4, rel=0.01)


class TestArrayGrownInLoop:
    def test_growing_copies_everything_each_time(self) -> None:
        def grow() -> None:
            held = np.empty((0, 1024), np.float32)
            for _ in range(50):
                held = np.append(held, np.ones((1, 1024), np.float32), axis=0)

        # The last step holds 49 rows and the 50 new ones.
        assert peak_of(grow) >= 99 * 1024 * 4


@pytest.fixture(scope="module")
def keras() -> ModuleType:
    module = pytest.importorskip("keras")
    assert isinstance(module, ModuleType)
    return module


class TestKeras:
    def test_one_hot_of_an_array_is_float64(self, keras: ModuleType) -> None:
        one_hot = keras.utils.to_categorical(np.array([0, 2, 1]), 5)
        assert (one_hot.shape, one_hot.dtype) == ((3, 5), np.float64)

    def test_one_hot_takes_no_dtype(self, keras: ModuleType) -> None:
        with pytest.raises(TypeError):
            keras.utils.to_categorical(np.array([0]), 5, dtype="float32")

    def test_one_hot_of_keras_2_is_float32(self) -> None:
        tf_keras = pytest.importorskip("tf_keras")
        assert tf_keras.utils.to_categorical(np.array([0, 2]), 5).dtype == np.float32

    def test_flow_copies_bytes_to_float32(self) -> None:
        tf = pytest.importorskip("tensorflow")
        generator = tf.keras.preprocessing.image.ImageDataGenerator()
        held = peak_of(lambda: generator.flow(PIXELS, batch_size=1))
        assert held >= 4 * PIXELS.nbytes
        assert generator.flow(PIXELS).x.dtype == np.float32

    def test_fit_copies_a_float64_array_to_floatx(self, keras: ModuleType) -> None:
        from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

        adapter = ArrayDataAdapter(np.ones((10, 3)), batch_size=5)
        assert next(adapter.get_numpy_iterator())[0].dtype == np.float32


class TestGeneratorFit:
    """OOM208: what `ImageDataGenerator.fit` costs, and when dropping it changes nothing."""

    @staticmethod
    def generator(**flags: object) -> ModuleType:
        image = pytest.importorskip("tensorflow").keras.preprocessing.image
        return image.ImageDataGenerator(**flags)  # type: ignore[no-any-return]

    def test_it_holds_two_float32_copies(self) -> None:
        generator = self.generator(rotation_range=20)
        assert peak_of(lambda: generator.fit(PIXELS)) == pytest.approx(8 * PIXELS.nbytes, rel=0.02)

    def test_it_holds_one_of_what_is_float32(self) -> None:
        generator, pixels = self.generator(rotation_range=20), PIXELS.astype("float32")
        assert peak_of(lambda: generator.fit(pixels)) == pytest.approx(pixels.nbytes, rel=0.02)

    def test_without_a_flag_it_learns_nothing(self) -> None:
        generator = self.generator(samplewise_center=True, rotation_range=20)
        before = dict(vars(generator))
        generator.fit(PIXELS)
        assert vars(generator) == before
        assert generator.mean is None
        assert generator.std is None

    def test_only_seed_and_augment_touch_the_random_numbers(self) -> None:
        def drawn_after(**arguments: object) -> float:
            np.random.seed(3)
            self.generator(horizontal_flip=True).fit(PIXELS[:4], **arguments)
            return np.random.rand()

        np.random.seed(3)
        untouched = np.random.rand()
        assert drawn_after() == drawn_after(augment=False, seed=None) == untouched
        assert untouched not in (drawn_after(seed=5), drawn_after(augment=True))

    def test_whitening_takes_a_square_matrix_of_float64(self) -> None:
        generator = self.generator(zca_whitening=True)
        generator.fit(PIXELS[:8, :6, :6])
        assert generator.zca_whitening_matrix.shape == (6 * 6 * 3, 6 * 6 * 3)
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            assert generator.zca_whitening_matrix.dtype == np.float64


class TestOneHotLarge:
    """OOM205: integer labels and the sparse loss say the same in a fraction of the bytes."""

    def test_the_losses_are_the_same_number(self) -> None:
        keras = pytest.importorskip("keras")
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 50, 8)
        guesses = rng.random((8, 50), dtype="float32")
        guesses /= guesses.sum(axis=1, keepdims=True)
        dense = keras.losses.categorical_crossentropy(keras.utils.to_categorical(labels, 50), guesses)
        sparse = keras.losses.sparse_categorical_crossentropy(labels, guesses)
        assert np.array(dense) == pytest.approx(np.array(sparse), rel=1e-6)

    def test_eight_bytes_per_class_in_keras_3(self) -> None:
        keras = pytest.importorskip("keras", minversion="3.0")
        assert keras.utils.to_categorical(np.arange(6), 100).nbytes == 6 * 100 * 8


class TestReplayBufferLarge:
    """OOM207: a state that is also the one after it is there once."""

    @staticmethod
    def remembered(shared: bool) -> int:
        def play() -> object:
            memory, state = [], np.zeros((84, 84), "uint8")
            for _ in range(50):
                following = np.zeros((84, 84), "uint8")
                memory.append((state, 0, 0.0, following))
                state = following if shared else following.copy()
            return memory

        kept: list[object] = []
        return peak_of(lambda: kept.append(play()))

    def test_the_same_array_costs_once(self) -> None:
        assert self.remembered(shared=True) == pytest.approx(51 * 84 * 84, rel=0.05)

    def test_two_arrays_cost_twice(self) -> None:
        assert self.remembered(shared=False) == pytest.approx(2 * 50 * 84 * 84, rel=0.05)

    def test_dividing_a_frame_makes_eight_times_its_bytes(self) -> None:
        frame = np.zeros((84, 84), "uint8")
        assert (frame / 255.0).nbytes == 8 * frame.nbytes == 56_448


class TestWorkerCopies:
    """OOM209: how many batches wait, by letting the first step last until no more are made."""

    BATCHES = 40

    def made_ahead(self, **numbers: object) -> int:
        keras = pytest.importorskip("keras", minversion="3.0")
        made: list[int] = []

        class Rows(keras.utils.PyDataset):  # type: ignore[misc, name-defined]
            def __len__(self) -> int:
                return TestWorkerCopies.BATCHES

            def __getitem__(self, index: int) -> tuple[object, object]:
                made.append(index)
                return np.zeros((2, 1), "float32"), np.zeros((2, 1), "float32")

        ahead: list[int] = []

        class Wait(keras.callbacks.Callback):  # type: ignore[misc, name-defined]
            def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
                if batch == 0:
                    before = -1
                    while before != len(made):
                        before = len(made)
                        time.sleep(0.2)
                    ahead.append(len(made))

        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(Rows(**numbers), verbose=0, shuffle=False, callbacks=[Wait()])
        return ahead[0]

    def test_workers_do_not_multiply_the_queue(self) -> None:
        four = self.made_ahead(workers=4, max_queue_size=6)
        assert four == self.made_ahead(workers=8, max_queue_size=6)
        assert 6 < four <= 6 + 3 + 2  # tf.data prefetches and peeks besides

    def test_zero_is_no_bound(self) -> None:
        assert self.made_ahead(workers=2, max_queue_size=0) >= self.BATCHES

    def test_one_thread_has_no_queue(self) -> None:
        assert self.made_ahead(workers=1, max_queue_size=30) <= 5

    @pytest.mark.parametrize("name", ["workers", "use_multiprocessing", "max_queue_size"])
    def test_fit_of_keras_3_takes_none_of_them(self, name: str) -> None:
        keras = pytest.importorskip("keras", minversion="3.0")
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        with pytest.raises(TypeError, match=name):
            model.fit(np.zeros((2, 1)), np.zeros((2, 1)), **{name: 1})

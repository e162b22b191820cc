"""What the pages of the host-data rules (2xx) claim, measured on NumPy and Keras themselves.

`tracemalloc` sees NumPy's own allocations, so peaks are exact byte counts, not resident memory.
"""

from __future__ import annotations

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

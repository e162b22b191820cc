"""Layers that turn sound into spectrograms."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras.dims import LAYERS, Built, Config, derived, extent, known, scaled
from oomlint.dryrun.values.arrays import Dim, Shape
from oomlint.dryrun.values.base import Const

Shapes = tuple[Shape | None, ...]


@LAYERS(
    "MelSpectrogram",
    "fft_length sequence_stride sequence_length window sampling_rate num_mel_bins min_freq max_freq",
)
def mel_spectrogram(config: Config, inputs: Shapes, call: Config) -> Built:
    """Bins by frames of every sound."""
    shape = inputs[0]
    if not shape:
        return Built(None, {})
    length, stride = known(shape[-1]), known(config.dim("sequence_stride", 512))
    frames = None if length is None or not stride else derived((length + stride + 1) // stride, shape[-1])
    return Built((*shape[:-1], config.dim("num_mel_bins", 128), frames), {})


@LAYERS(
    "STFTSpectrogram", "mode frame_length frame_step fft_length window periodic scaling padding expand_dims"
)
def stft_spectrogram(config: Config, inputs: Shapes, call: Config) -> Built:
    """Frames by frequencies of every channel; the transform is a convolution whose kernels count as parameters."""
    shape, mode, apart = inputs[0], config.get("mode", "log"), config.flag("expand_dims", False)
    padding = config.get("padding", "valid")
    if shape is None or len(shape) != 3 or config.channels_first() is not False or apart is None:
        return Built()
    frame = config.dim("frame_length", 256)
    step = frame_step(config, frame)
    length = frame if config.get("fft_length") is None else config.dim("fft_length")
    bins = known(length)
    if not isinstance(mode, str) or bins is None:
        return Built()
    half: Dim = derived(bins // 2 + 1, length)
    rows: Dim = scaled(half, 2) if mode == "stft" else half
    frames = extent(shape[1], frame, step, padding if isinstance(padding, str) else None)
    output: Shape = (
        (shape[0], frames, rows, shape[2]) if apart else (shape[0], frames, _times(rows, shape[2]))
    )
    kernel: Shape = (frame, Const(1), half)
    names = ["real_kernel"] * (mode != "imag") + ["imag_kernel"] * (mode != "real")
    return Built(output, dict.fromkeys(names, kernel))


def frame_step(config: Config, frame: Dim) -> Dim:
    """How far apart the frames are: half a frame if nothing is said."""
    if config.get("frame_step") is not None:
        return config.dim("frame_step")
    size = known(frame)
    return None if size is None else derived(size // 2, frame)


def _times(rows: Dim, channels: Dim) -> Dim:
    return None if rows is None else scaled(channels, rows)

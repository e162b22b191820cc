"""Sound, volumes and video read from files: librosa, soundfile, SciPy, nibabel, pydicom, SimpleITK, OpenCV."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.making import DECODED, VIDEO, figures, step, tags_of_all
from oomlint.dryrun.catalog.registry import attribute, function, method, prefix
from oomlint.dryrun.values.arrays import Array, Shape
from oomlint.dryrun.values.base import Const, Sequence, Unknown, Value, deref
from oomlint.dryrun.values.shapes import dim_of, with_dim

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call


def media(call: Call, shape: Shape | None, dtype: str | None, text: str | None = None) -> Array:
    """Something decoded from a file."""
    return Array("numpy", shape, dtype, step(call, text), DECODED)


# --- sound --------------------------------------------------------------------------------------------


@function("librosa.load", "librosa.core.load", parameters="path sr mono offset duration dtype")
def librosa_load(call: Call, run: Run) -> Value:
    """The samples, float32, and their rate: 22,050 unless the call says otherwise."""
    rate = call.value("sr") if call.argument("sr") is not None else Const(22_050)
    return Sequence("tuple", items=[media(call, (None,), "float32"), rate or Unknown(type="int")])


@function("librosa.util.fix_length", parameters="data size axis")
def fix_length(call: Call, run: Run) -> Value:
    """Cut or padded to a length."""
    data = call.value("data")
    if not isinstance(data, Array):
        return Unknown(tags=tags_of_all(data))
    return replace(data, shape=with_dim(data.shape, -1, dim_of(call.value("size"))), origin=step(call))


_SPECTRA = (
    "feature.melspectrogram", "stft", "core.stft", "power_to_db", "amplitude_to_db", "core.power_to_db", "cqt",
    "resample", "to_mono", "effects.trim",
)  # fmt: skip


@function(*(f"librosa.{name}" for name in _SPECTRA))
def spectrum(call: Call, run: Run) -> Value:
    """A picture of the sound, about as large as the sound itself."""
    values = [deref(argument.value) for argument in call.arguments]
    tags = tags_of_all(*values)
    result = Array("numpy", None, None, step(call), tags)
    return Sequence("tuple", items=[result, Unknown()]) if call.name.endswith("trim") else result


@prefix("librosa.feature.")
def features(call: Call, run: Run) -> Value:
    """A few figures per frame, not the sound."""
    return Unknown(tags=figures(tags_of_all(*(argument.value for argument in call.arguments))))


@function("soundfile.read", parameters="file frames start stop dtype")
def soundfile(call: Call, run: Run) -> Value:
    """The samples, float64, and their rate."""
    return Sequence("tuple", items=[media(call, None, "float64"), Unknown(type="int")])


@function("scipy.io.wavfile.read", parameters="filename")
def wavfile(call: Call, run: Run) -> Value:
    """The rate and the samples."""
    return Sequence("tuple", items=[Unknown(type="int"), media(call, None, None)])


# --- volumes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Volume(Value):
    """An opened medical image whose voxels are read when asked for."""

    api: ClassVar[str] = "nibabel.image"
    made_by: Call | None = None


@function("nibabel.load", "nibabel.loadsave.load", "pydicom.dcmread", "pydicom.read_file", "dicom.read_file",
          "SimpleITK.ReadImage")  # fmt: skip
def open_volume(call: Call, run: Run) -> Value:
    """An opened file."""
    return Volume(call)


@method(Volume, "get_fdata", "get_data")
def voxels(call: Call, run: Run) -> Value:
    """The voxels; `get_fdata` gives float64 unless asked."""
    name = call.name.rpartition(".")[2]
    asked = call.argument("dtype")
    dtype = "float64" if name == "get_fdata" and asked is None else None
    return media(call, None, dtype, name)


@attribute(Volume, "pixel_array", "dataobj")
def pixels(value: Value, run: Run) -> Value:
    """The pixels."""
    call = value.made_by if isinstance(value, Volume) else None
    return media(call, None, None) if call is not None else Unknown()


@function("SimpleITK.GetArrayFromImage", "SimpleITK.GetArrayViewFromImage", parameters="image")
def itk_array(call: Call, run: Run) -> Value:
    """The voxels."""
    return media(call, None, None)


# --- video --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Video(Value):
    """An opened video; `of_many` where a loop opens one after another."""

    api: ClassVar[str] = "cv2.VideoCapture"
    of_many: bool = False


@function("cv2.VideoCapture", parameters="filename")
def open_video(call: Call, run: Run) -> Value:
    """An opened video or camera."""
    camera = isinstance(call.value("filename"), Const)
    return Video(of_many=not camera and bool(call.context.loops()))


@method(Video, "read", "retrieve")
def frame(call: Call, run: Run) -> Value:
    """Whether there was a frame, and the frame."""
    # One frame of one video is not one file of a folder: it does not carry the tag of those, unless there are many.
    video = call.receiver
    tags = DECODED | {VIDEO} if isinstance(video, Video) and video.of_many else frozenset()
    picture = Array("numpy", (None, None, Const(3)), "uint8", step(call, "VideoCapture.read"), tags)
    return Sequence("tuple", items=[Unknown(type="bool"), picture])

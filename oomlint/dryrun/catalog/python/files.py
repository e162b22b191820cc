"""Files and folders: listings are paths whose number is not known. Nothing on the disk is looked at."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from oomlint.dryrun.catalog.arrays.making import tags_of_all
from oomlint.dryrun.catalog.python.builtin_functions import computed
from oomlint.dryrun.catalog.registry import Iteration, attribute, duck, function, iteration, method, operator
from oomlint.dryrun.values.base import NONE, Const, Sequence, Slice, Unknown, Value, deref, tags_of
from oomlint.dryrun.values.indexing import sliced

if TYPE_CHECKING:
    from oomlint.dryrun.interpreter import Run
    from oomlint.dryrun.trace import Call
    from oomlint.dryrun.values.base import Pending

# What a listing gives; rules know by it that a loop goes over files.
PATH = frozenset({"path"})
# The whole content of one of those files.
DOCUMENT = frozenset({"document"})
# The type of a file that is read as text, so that it goes by lines. No tag: what `json.load` makes of it is none.
TEXT_FILE = "text file"
# What these make of a text is about as long.
_TEXTUAL = frozenset({"strip", "rstrip", "lstrip", "lower", "upper", "casefold", "decode", "replace", "sub"})


def is_document(value: Value) -> bool:
    """Whether it is the whole text of a file, or that text cleaned. What is cut out of it is none."""
    value = deref(value)
    return isinstance(value, Unknown) and value.tags >= DOCUMENT and value.type == "str"


@dataclass(frozen=True, slots=True)
class PathObject(Value):
    """A `pathlib.Path`; `text` where it is known."""

    api: ClassVar[str] = "pathlib.Path"
    text: str | None = None
    tags: frozenset[str] = PATH


def a_path(*sources: Value) -> Unknown:
    """The name of some file."""
    return Unknown(type="str", tags=PATH | tags_of_all(*sources))


def listing(kind: str, element: Value) -> Sequence:
    """Some files, nobody knows how many."""
    return Sequence(kind, element=element, tags=PATH)


@function("os.listdir", "glob.glob", "glob.iglob", "tf.io.gfile.glob", "tf.io.gfile.listdir", "tf.gfile.Glob")
def listed(call: Call, run: Run) -> Value:
    """The files of a folder or of a pattern."""
    return listing("list", a_path())


@function("os.walk", "tf.io.gfile.walk", "os.fwalk")
def walked(call: Call, run: Run) -> Value:
    """Folder by folder: its path, the folders in it, the files in it."""
    names = listing("list", a_path())
    return listing("generator", Sequence("tuple", items=[a_path(), names, names]))


@function("os.scandir")
def scanned(call: Call, run: Run) -> Value:
    """The entries of a folder, which are objects with a path."""
    return listing("generator", PathObject())


@function("os.path.join", "os.path.normpath", "os.path.abspath", "os.path.expanduser", "os.path.realpath")
def joined(call: Call, run: Run) -> Value:
    """A path put together; known where all of its parts are."""
    values = [deref(argument.value) for argument in call.arguments]
    texts = [text_of(value) for value in values]
    tags = tags_of_all(*values)
    if (
        call.name.endswith("join")
        and texts
        and None not in texts
        and not any(item.star for item in call.arguments)
    ):
        return computed(posixpath.join(*(text for text in texts if text is not None)), *values)
    return Unknown(type="str", tags=tags)


def text_of(value: Value) -> str | None:
    """The text of a path, if it is known."""
    if isinstance(value, PathObject):
        return value.text
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None


@function("os.path.basename", "os.path.dirname", "os.path.relpath", "os.fspath", "os.getcwd", parameters="p")
def part(call: Call, run: Run) -> Value:
    """A part of a path."""
    value = call.value("p")
    text = text_of(value) if value is not None else None
    if text is not None and value is not None and call.name.endswith(("basename", "dirname")):
        return computed(getattr(posixpath, call.name.rpartition(".")[2])(text), value)
    return Unknown(type="str", tags=tags_of_all(value))


@function("os.path.splitext", "os.path.split", parameters="p")
def split(call: Call, run: Run) -> Value:
    """A path in two."""
    value = call.value("p")
    text = text_of(value) if value is not None else None
    if text is not None and value is not None:
        parts = posixpath.splitext(text) if call.name.endswith("splitext") else posixpath.split(text)
        return Sequence("tuple", items=[computed(piece, value) for piece in parts])
    piece = Unknown(type="str", tags=tags_of_all(value))
    return Sequence("tuple", items=[piece, piece])


@function("os.path.exists", "os.path.isfile", "os.path.isdir", "tf.io.gfile.exists")
def question(call: Call, run: Run) -> Value:
    """What is on the disk is not looked at."""
    return Unknown(type="bool")


@function("os.path.getsize")
def size(call: Call, run: Run) -> Value:
    """The size of a file is not looked at."""
    return Unknown(type="int")


@function("os.makedirs", "os.mkdir", "os.remove", "shutil.rmtree", "shutil.copy", "shutil.move")
def changed(call: Call, run: Run) -> Value:
    """Something done on the disk."""
    return NONE


# --- pathlib ------------------------------------------------------------------------------------------


@function("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "pathlib.Path.cwd", "pathlib.Path.home")
def path(call: Call, run: Run) -> Value:
    """A path."""
    texts = [text_of(deref(argument.value)) for argument in call.arguments]
    known = bool(texts) and None not in texts
    return PathObject(posixpath.join(*(text for text in texts if text is not None)) if known else None)


@operator(PathObject)
def below(call: Call, run: Run) -> Value:
    """`folder / name`."""
    left, right = (deref(argument.value) for argument in call.arguments[:2])
    if not call.name.endswith("truediv"):
        return Unknown(type="bool" if call.name.endswith(("eq", "ne", "lt", "gt")) else None)
    one, two = text_of(left), text_of(right)
    return PathObject(posixpath.join(one, two) if one is not None and two is not None else None)


@method(PathObject, "glob", "rglob", "iterdir")
def globbed(call: Call, run: Run) -> Value:
    """The files of a folder or of a pattern."""
    return listing("generator", PathObject())


@method(
    PathObject,
    "joinpath", "with_suffix", "with_name", "with_stem", "resolve", "absolute", "expanduser", "relative_to",
)  # fmt: skip
def another(call: Call, run: Run) -> Value:
    """Another path."""
    receiver = call.receiver
    assert isinstance(receiver, PathObject)
    texts = [receiver.text, *(text_of(deref(argument.value)) for argument in call.arguments)]
    if call.name.endswith("joinpath") and None not in texts:
        return PathObject(posixpath.join(*(text for text in texts if text is not None)))
    return replace(receiver, text=None)


@method(PathObject, "as_posix", "as_uri", "__str__", "__fspath__")
def spelled(call: Call, run: Run) -> Value:
    """The path as text."""
    receiver = call.receiver
    assert isinstance(receiver, PathObject)
    return Const(receiver.text) if receiver.text is not None else a_path()


@method(PathObject, "exists", "is_file", "is_dir", "match")
def asked(call: Call, run: Run) -> Value:
    """What is on the disk is not looked at."""
    return Unknown(type="bool")


@method(PathObject, "read_text", "read_bytes", "open", "stat")
def read(call: Call, run: Run) -> Value:
    """What is in it is not looked at."""
    if call.name.endswith(("read_text", "read_bytes")):
        return Unknown(type="str", tags=DOCUMENT)
    return Unknown(tags=PATH if call.name.endswith("open") else frozenset())


@function("builtins.open", "io.open", "codecs.open", "gzip.open", "tf.io.gfile.GFile", parameters="file mode")
def opened(call: Call, run: Run) -> Value:
    """A file. What is in it is not looked at; by default `open` reads text, and `gzip.open` bytes."""
    mode = call.value("mode") or Const("rb" if call.name == "gzip.open" else "r")
    is_text = isinstance(mode, Const) and isinstance(mode.value, str) and "b" not in mode.value
    return Unknown(type=TEXT_FILE if is_text else None, tags=tags_of(call.value("file") or Unknown()))


@iteration(Unknown)
def lines_of(value: Value, run: Run) -> Iteration:
    """A file that is read as text goes by lines; of other unknowns a window (`x[i : i + n]`) has n items."""
    assert isinstance(value, Unknown)
    if value.type == TEXT_FILE:
        return Iteration(element=Unknown(type="str", tags=value.tags))
    return Iteration(count=sliced(None, value.taken) if isinstance(value.taken, Slice) else None)


@duck
def read_whole(pending: Pending, run: Run) -> Value | None:
    """`open(path).read()` of a listed file is a document, and what cleans it keeps it one; `readlines()` are texts."""
    receiver, result = pending.receiver, pending.result
    if pending.method == "readlines":
        run.infer(result, Sequence("list", element=Unknown(type="str")))
        return None
    if receiver.type == "str" and pending.method in _TEXTUAL:
        result.type = "str"
    if receiver.type == TEXT_FILE and pending.method in ("read", "readline"):
        result.type = "str"
    if receiver.type == "str" and pending.method == "splitlines":
        run.infer(result, Sequence("list", element=Unknown(type="str")))
        return None
    read = pending.method == "read" and not pending.call.arguments and receiver.tags >= PATH
    if read or (is_document(receiver) and pending.method in _TEXTUAL):
        result.tags, result.type = result.tags | DOCUMENT, "str"
    else:
        result.tags = result.tags - DOCUMENT
    return None


@method(PathObject, "mkdir", "unlink", "rename", "write_text", "write_bytes", "touch")
def done(call: Call, run: Run) -> Value:
    """Something done on the disk."""
    return NONE


@attribute(PathObject, "name", "stem", "suffix")
def name(value: Value, run: Run) -> Value:
    """A part of the path as text."""
    return Unknown(type="str", tags=tags_of(value))


@attribute(PathObject, "parent", "parents", "path")
def parent(value: Value, run: Run) -> Value:
    """The folder it is in."""
    assert isinstance(value, PathObject)
    return replace(value, text=None)


@attribute(PathObject, "parts")
def parts(value: Value, run: Run) -> Value:
    """Its parts as text."""
    return Sequence("tuple", element=a_path())


# --- data in files ------------------------------------------------------------------------------------


@function(
    "json.load", "json.loads", "yaml.load", "yaml.safe_load", "toml.load", "tomllib.load", "tomllib.loads"
)
def settings(call: Call, run: Run) -> Value:
    """A settings file is not looked into."""
    return Unknown()

"""What tutorials have wrong, the rules have right: the truth is in the text, and the myth is in none.

A myth that a rule touches is answered where somebody with a dead run looks: in the finding or on the rule's
page. `says` is the myth as it is told, `never` what a text that repeats it would match.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from fixture_files import FIXTURES, ROOT, Fixture

from oomlint.findings.registry import load_rules

PAGE = "page"


@dataclass(frozen=True)
class Myth:
    """One thing that is told everywhere and is not so.

    `true` names, for each rule that touches it, where the rule speaks (its page, or one of its bad fixtures)
    and what must be said there.
    """

    says: tuple[str, ...]
    never: str
    true: tuple[tuple[str, str, str], ...] = field(default=())


MYTHS = {
    1: Myth(
        ("fit() puts the whole data set on the GPU", "fit only ever sends a batch to the GPU"),
        r"\bfit`?(?:\(\))? (?:always )?(?:puts the whole data ?set|only (?:ever )?sends (?:a|one) batch)",
        (
            ("OOM305", "bad", r"`fit` puts its whole arrays on the GPU, whatever the batch size"),
            ("OOM305", PAGE, r"With the TensorFlow backend Keras makes one constant tensor of a NumPy array"),
            ("OOM305", PAGE, r"Datasets, generators, `PyDataset`, JAX and PyTorch backends, TF1 graph mode,"),
        ),
    ),
    2: Myth(
        ("batch_size bounds predict()'s memory", "predict only ever holds one batch"),
        r"batch_size`? (?:bounds|limits) `?predict|predict`? only (?:ever )?holds (?:a|one) batch",
        (
            ("OOM308", PAGE, r"`batch_size` bounds what the layers need, not what comes out"),
            ("OOM308", "bad", r"keeps the outputs of all batches on the device"),
        ),
    ),
    3: Myth(
        ("memory growth prevents out-of-memory errors", "set memory growth to fix OOM"),
        r"growth (?:prevents|fixes|avoids|cures|solves)|growth to (?:fix|prevent|avoid) (?:OOM|out.of.memory)",
        (
            ("OOM101", PAGE, r"it prevents no out-of-memory error of the run itself\. A model that does not fit still"),
            ("OOM607", PAGE, r"Memory growth, `clear_session\(\)` and `del` change nothing here"),
            ("OOM301", PAGE, r"`set_memory_growth` is about the GPU and changes nothing here"),
        ),
    ),
    4: Myth(
        ("clear_session() frees the GPU memory", "del model and gc.collect() release GPU memory"),
        r"(?:clear_session\(\)|gc\.collect\(\)|`?del`? model\w*)`? (?:then )?(?:frees?|releases?|returns?|gives? back)\b(?! nothing)",
        (
            ("OOM101", PAGE, r"what is taken is not given back before the process ends"),
            ("OOM406", "bad", r"clear_session\(\) does not free it"),
        ),
    ),
    5: Myth(
        ("call clear_session() in the loop and memory stays flat", "clear_session() fixes the leak"),
        r"clear_session\(\)`? (?:in (?:the|each|every) (?:loop|round|pass)|fixes|stops|cures|solves|is enough)",
        (
            ("OOM406", PAGE, r"`del`, `gc\.collect\(\)` and `clear_session\(\)` do not free it"),
            ("OOM406", PAGE, r"the gradient registry keeps the graph alive"),
        ),
    ),
    6: Myth(
        ("call clear_session() after each predict() to free memory",),
        r"clear_session\(\)`? after (?:each|every) `?predict(?:\(\))?`?(?: call)? (?:to|and|frees memory)",
        (("OOM411", PAGE, r"`clear_session\(\)` after each call frees nothing: `predict` returns NumPy arrays"),),
    ),
    7: Myth(
        ("always replace predict by model(x)",),
        r"always (?:replace|call|use) (?:`?predict|the model itself|`?model\(x\))",
        (
            ("OOM411", "bad", r"call the model itself, `model\(x, training=False\)`, which is for inputs that fit one batch"),
            ("OOM411", PAGE, r"That is no remedy in general: `model\(x\)` takes everything at once"),
            ("OOM307", PAGE, r"Calling a model is one forward pass: all rows go to the device together"),
        ),
    ),
    8: Myth(
        ("MirroredStrategy splits the model over the GPUs", "two GPUs pool their memory"),
        r"(?:strategy`?|multi_gpu_model`?|gpus?) (?:splits? the model|pools? (?:the |their )?(?:memory|vram))",
        (
            ("OOM506", "bad", r"a strategy splits the batch, not the models"),
            ("OOM506", PAGE, r"a mirrored strategy splits the batch, never the model"),
            ("OOM505", PAGE, r"it copied the whole model to each GPU and split only the batch"),
        ),
    ),
    9: Myth(
        ("batch_size is per GPU under MirroredStrategy", "each replica gets batch_size samples"),
        r"batch(?:_size|`| size)* is (?:the one )?(?:per|of (?:one|each)) (?:gpu|replica)"
        r"|each (?:gpu|replica) gets `?batch_size",
        (
            ("OOM501", "bad", r"batch of 64 is for all replicas of MirroredStrategy together"),
            ("OOM501", PAGE, r"`fit` and `experimental_distribute_dataset` take the batch of all replicas together"),
            ("OOM501", PAGE, r"`distribute_datasets_from_function` is the other way round"),
        ),
    ),
    10: Myth(
        ("divide the gradients by N and apply them each step to accumulate gradients",),
        r"divide (?:the )?(?:gradients|loss) by (?:N|\w*steps)\b(?! and do not)[^.]*(?:each|every) step",
        (
            ("OOM401", "bad", r"divided by 4 and applied at every step, so nothing is accumulated"),
            ("OOM401", PAGE, r"exactly a learning rate N times smaller"),
            ("OOM401", PAGE, r"with Adam, AdamW, Nadam and Lion it changes next to nothing"),
        ),
    ),
    11: Myth(
        ("tf.data never holds the data set in memory",),
        r"tf\.data`? never (?:holds|loads|keeps)",
        (
            ("OOM301", PAGE, r"A buffer as long as the data set holds the data set"),
            ("OOM302", PAGE, r"Without a file name every element stays in host memory"),
            ("OOM304", PAGE, r"beside the NumPy array there is a second one"),
        ),
    ),
    12: Myth(
        ("shuffle(1000) keeps 1000 samples after batch", "prefetch counts samples"),
        r"(?:shuffle|prefetch)(?:\(\w+\))?`? (?:counts|keeps)(?: \d+)? (?:samples|examples)",
        (
            ("OOM301", PAGE, r"after `batch` an element is a whole batch"),
            ("OOM303", PAGE, r"`prefetch` counts elements, and after `batch` an element is a batch"),
        ),
    ),
    13: Myth(
        ("cache() before batch takes less memory", "cache after batch needs more memory"),
        r"cach(?:e|ing)(?:\(\))?`? (?:before|after) `?batch(?:\(\))?`? (?:takes|needs|uses|holds) (?:less|more)",
        (("OOM302", PAGE, r"before `batch` or after it makes no difference to memory: the same bytes are kept"),),
    ),
    14: Myth(
        ("cache(path) is always fresh", "a cache file is rebuilt when the data changes"),
        r"cache(?:\(\w+\)|d? file)`? is (?:always|rebuilt|updated|renewed)",
        (("OOM302", PAGE, r"A cache file outlives the run: delete it when the data or the code before it changes"),),
    ),
    15: Myth(
        ("resize, then convert_image_dtype to normalise",),
        r"resize,? then `?convert_image_dtype",
        (
            ("OOM311", "bad", r"the picture is float already, after resizing, and stays 0 to 255"),
            ("OOM311", PAGE, r"scales integers to the range 0 to 1 and leaves floats as they are"),
        ),
    ),
    16: Myth(
        ("x / 255 stays float32", "to_categorical gives small integers"),
        r"/ 255(?:\.0?)?`? (?:stays|is) (?:float32|uint8)|to_categorical`? (?:gives|makes|returns) (?:small )?int",
        (
            ("OOM204", "bad_division", r"float64"),
            ("OOM204", PAGE, r"`uint8 / 255\.0` takes eight times the pixels' bytes"),
            ("OOM204", PAGE, r"became float64 without being asked to: .*Keras 3's `to_categorical`"),
        ),
    ),
    17: Myth(
        ("few parameters mean little memory",),
        r"(?<!not mean )\b(?:few|small number of) parameters mean little memory",
        (
            ("OOM607", PAGE, r"Few parameters do not mean little memory"),
            ("OOM604", PAGE, r"Adam and its kin keep two slots for each of the rows"),
            ("OOM602", PAGE, r"four times under Adam"),
        ),
    ),
    18: Myth(
        ("mixed precision halves everything", "mixed_float16 halves the memory"),
        r"(?:mixed precision|mixed_float16`?) halves (?:everything|(?:the |all )?memory)",
        (("OOM602", PAGE, r"A policy of mixed precision does not help: weights, gradients and slots stay in float32"),
         ("OOM901", PAGE, r"It does not halve everything: weights, their gradients and what the optimizer keeps stay in"),
         ("OOM901", "bad", r"it halves activations, not weights and what the optimizer keeps")),
    ),
    19: Myth(
        ("nvidia-smi shows what the model needs", "a full nvidia-smi means a leak"),
        r"nvidia-smi`? (?:shows what the model|means a leak)|a full `?nvidia-smi",
        (("OOM101", PAGE, r"Nor is a full GPU in `nvidia-smi` a leak: it shows what is reserved, not what is used"),),
    ),
    20: Myth(
        ("removing @tf.function fixes the leak",),
        r"(?:remov\w*|drop\w*|without) `?@?tf\.function`? (?:fixes|cures|stops|is the fix)",
        (
            ("OOM407", PAGE, r"Taking `@tf\.function` away makes the growth stop, but only hides what caused it"),
            ("OOM407", "bad", r"pass a tensor"),
        ),
    ),
    21: Myth(
        ("a fraction of 1.0 uses all memory safely",),
        r"fraction of 1\.0 (?:is safe|uses all)",
        (("OOM104", PAGE, r"A fraction of 1\.0 is no safe way to use all of the memory\. The CUDA context,"),),
    ),
    22: Myth(
        ("workers are free", "use_multiprocessing is free"),
        r"(?:workers|use_multiprocessing)`? (?:are|is) free",
        (
            ("OOM209", PAGE, r"Workers are not free, but neither do they multiply the queue"),
            ("OOM209", "bad_lists_in_processes", r"each of the 8 worker processes ends up with its own copy"),
        ),
    ),
    23: Myth(
        ("TensorBoard histograms are cheap",),
        r"histograms (?:are cheap|cost nothing)(?! worth)",
        (
            ("OOM414", "bad", r"102,760,448 numbers\) takes 25\.3 GiB of host memory"),
            ("OOM414", PAGE, r"264 bytes with what goes with it, on the host"),
        ),
    ),
    25: Myth(
        ("zca_whitening leaks memory",),
        r"zca(?:_whitening| whitening)?`? leaks",
        (("OOM208", PAGE, r"ZCA whitening is no leak, .* its matrix has a row and a column for every number"),),
    ),
    26: Myth(
        ("turn on GPU growth when the shuffle buffer fills the RAM",),
        r"growth when the (?:shuffle|host|ram)",
        (("OOM301", PAGE, r"keeps n elements in host memory"),),
    ),
    27: Myth(
        ("total += loss keeps the graph of every step alive",),
        r"\+= loss`? (?:keeps|leaks|holds) (?:the|every|each)",
        (
            ("OOM403", PAGE, r"A kept scalar .* does not hold the step's activations"),
            ("OOM403", PAGE, r"a running total \(`total \+= loss`\) is one scalar"),
        ),
    ),
}  # fmt: skip

# Told as well, and no rule's text has to do with it.
UNTOUCHED = {
    24: "EarlyStopping and ModelCheckpoint: no rule speaks of them; OOM403's like_early_stopping keeps them silent",
}


def _one_line(text: str) -> str:
    return " ".join(text.split())


@functools.cache
def _pages() -> dict[str, str]:
    return {entry.code: _one_line(entry.page) for entry in load_rules()}


@functools.cache
def _said(code: str, where: str) -> str:
    """The page, or what the rule's findings on a fixture say."""
    if where == PAGE:
        return _pages()[code]
    (folder,) = FIXTURES.glob(f"{code}-*")
    found = Fixture(folder / f"{where}.py").check()
    return " ".join(_one_line(f"{one.message} {one.help or ''}") for one in found)


TRUTHS = [(number, *truth) for number, myth in MYTHS.items() for truth in myth.true]


@pytest.mark.parametrize(
    ("number", "code", "where", "truth"), TRUTHS, ids=[f"{n}-{code}-{where}" for n, code, where, _ in TRUTHS]
)
def test_the_rule_says_what_is_true(number: int, code: str, where: str, truth: str):
    assert re.search(truth, _said(code, where)), _said(code, where)


@pytest.mark.parametrize("number", MYTHS)
def test_the_myth_would_be_recognised(number: int):
    for saying in MYTHS[number].says:
        assert re.search(MYTHS[number].never, saying, re.IGNORECASE), saying


def _texts(path) -> Iterator[str]:
    """Every text that a module can put before a reader: pages, messages, help; a value in it is `{}`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@functools.cache
def _all_texts() -> tuple[tuple[str, str], ...]:
    return tuple(
        (path.relative_to(ROOT).as_posix(), _one_line(text))
        for path in sorted((ROOT / "rules").rglob("*.py"))
        for text in _texts(path)
    )


@pytest.mark.parametrize("number", MYTHS)
def test_no_rule_tells_the_myth(number: int):
    assert len(_all_texts()) > 500
    pattern = re.compile(MYTHS[number].never, re.IGNORECASE)
    assert [(path, text) for path, text in _all_texts() if pattern.search(text)] == []


def test_every_myth_has_its_place():
    assert sorted([*MYTHS, *UNTOUCHED]) == list(range(1, 28))

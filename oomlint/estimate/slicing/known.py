"""What the dry run knows of the values that a script binds, as expressions to put in their place."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oomlint.documents.python_syntax import SyntaxFault
from oomlint.dryrun.catalog.keras.training import inputs_in
from oomlint.dryrun.queries.trained_models import yielded_by
from oomlint.dryrun.values.arrays import Array
from oomlint.dryrun.values.base import Const, Mapping, Sequence, Value, deref
from oomlint.dryrun.values.data import Dataset
from oomlint.dryrun.values.training import Layer, Model, Optimizer, Strategy
from oomlint.estimate.slicing.program import first_line
from oomlint.estimate.slicing.vocabulary import FLOATX, UNTOLD
from oomlint.syntax.positions import Positions

if TYPE_CHECKING:
    from oomlint.dryrun.trace import Assign, Call, Trace
    from oomlint.estimate.slicing.program import Program, Unit
    from oomlint.syntax.place import Place
    from oomlint.syntax.source import Source

DATA = "oomlint_data"


def _file(source: Source) -> str:
    return str(source.document.path or source.document.filename)


class Known:
    """The dry run's values, by statement and name."""

    def __init__(self, trace: Trace, program: Program) -> None:
        self.program = program
        self._rows: dict[int, Positions] = {}
        self._values: dict[tuple[int, int, str], list[Value]] = {}  # in each round of a loop
        self._trace = trace
        self._positions(trace, list(trace.assigns()))
        self.read()

    def read(self) -> None:
        """The values of all files that the program knows; again when it knows more of them."""
        self._values.clear()
        for assign in self._trace.assigns():
            place = assign.statement or assign.place
            unit = self.program.unit_of(_file(place.source))
            if unit is not None:
                row, _ = self.where(place)
                self._values.setdefault((id(unit), row, assign.path), []).append(assign.value)

    def _positions(self, trace: Trace, assigns: list[Assign]) -> None:
        """All places of a document in one go: each asking costs a generation of its code."""
        from oomlint.dryrun.trace import Body

        places = [one for assign in assigns for one in (assign.place, assign.statement) if one is not None]
        for call in trace.all_calls():
            places += [one for one in (call.place, call.statement) if one is not None]
            for body in call.context.all(Body):
                places += [one for one in (body.place, body.site, body.statement) if one is not None]
        sources: dict[int, tuple[Source, list[Any]]] = {}
        for place in places:
            sources.setdefault(id(place.source), (place.source, []))[1].append(place.node)
        for key, (source, nodes) in sources.items():
            try:
                self._rows[key] = Positions(source, nodes)
            except SyntaxFault:
                # Python reads its indentation, LibCST does not: nothing of this module is known.
                if self.program.unit_of(_file(source)) is self.program.main:
                    raise

    def where(self, place: Place) -> tuple[int, int]:
        """Row and column of a place."""
        if id(place.source) not in self._rows:
            return 0, 0
        location = self._rows[id(place.source)].start(place.node)
        return location.row, location.column

    def named(self, place: Place) -> str:
        """A place in a module of the program as the user reads it: `train.py:12`."""
        return f"{Path(place.source.document.filename).name}:{self.where(place)[0]}"

    def value(self, unit: Unit, statement: ast.stmt, name: str) -> Value | None:
        """The value that a statement gave a name, the last where it gave several."""
        return next(iter(self.values(unit, statement, name)[::-1]), None)

    def values(self, unit: Unit, statement: ast.stmt, name: str) -> list[Value]:
        """All values that a statement gave a name."""
        for row in (statement.lineno, first_line(statement)):
            found = self._values.get((id(unit), row, name))
            if found is not None:
                return [deref(one) for one in found]
        return []

    def is_part(self, unit: Unit, statement: ast.stmt, names: list[str]) -> bool:
        """Whether a statement binds a part of a model."""
        return any(
            isinstance(value, Layer | Model | Optimizer | Strategy)
            or (isinstance(value, Array) and value.library == "keras")
            for name in names
            if (value := self.value(unit, statement, name)) is not None
        )

    def is_data(self, unit: Unit, statement: ast.stmt, name: str) -> bool:
        """Whether a statement binds an array or a data set."""
        value = self.value(unit, statement, name)
        return isinstance(value, Dataset) or (
            isinstance(value, Array) and value.library not in ("keras", "variable")
        )

    def literal(self, unit: Unit, statement: ast.stmt, name: str) -> ast.expr | None:
        """The value as an expression, where it is known in full or is an array of known rank."""
        value = self.value(unit, statement, name)
        return None if value is None else expression(value)


def expression(value: Value, depth: int = 0) -> ast.expr | None:
    """A value as Python: constants, nests of them, and arrays as shape and dtype."""
    value = deref(value)
    match value:
        case Const(value=constant):
            if constant is Ellipsis or isinstance(constant, int | float | str | bytes | bool | None):
                return ast.Constant(constant)
            return None
        case Sequence(items=list(items), kind="list" | "tuple" as kind) if depth < 4 and len(items) <= 256:
            parts = [expression(item, depth + 1) for item in items]
            if any(part is None for part in parts):
                return None
            known = [part for part in parts if part is not None]
            return ast.List(known, ast.Load()) if kind == "list" else ast.Tuple(known, ast.Load())
        case Mapping(entries=entries, complete=True, other=None) if depth < 4 and len(entries) <= 64:
            pairs = [(key, expression(item, depth + 1)) for key, item in entries.items()]
            if any(item is None or not isinstance(key, int | str | bool) for key, item in pairs):
                return None
            return ast.Dict(
                [ast.Constant(key) for key, _ in pairs], [item for _, item in pairs if item is not None]
            )
        case Array(shape=tuple(shape), dtype=dtype) if value.library not in ("keras", "variable"):
            if not shape:
                return None  # a number taken of the data: the largest label, a mean
            if (
                len(shape) > 1
                and any(size is None for size in shape[1:])
                and all(size is None for size in shape)
            ):
                return None
            sizes: list[ast.expr] = [
                ast.Constant(size.value if size is not None and isinstance(size.value, int) else None)
                for size in shape
            ]
            return ast.Call(
                ast.Name(DATA, ast.Load()),
                [ast.Tuple(sizes, ast.Load()), ast.Constant(dtype or UNTOLD)],
                [],
            )
    return None


def fed(value: Value | None) -> Any:
    """The same of what `fit` is given: of arrays it makes floats of Keras' own width.

    That is in keras/src/trainers/data_adapters/array_slicing.py.
    """
    found = element(value)
    value = None if value is None else deref(value)
    arrays = isinstance(value, Array) or (isinstance(value, Sequence) and value.kind in ("list", "tuple"))
    return _floats(found) if arrays else found


def _floats(nest: Any) -> Any:
    if isinstance(nest, tuple) and len(nest) == 2 and isinstance(nest[1], str):
        return (nest[0], FLOATX if nest[1] in ("float64", "float16") else nest[1])
    return type(nest)(map(_floats, nest)) if isinstance(nest, tuple | list) else nest


def element(value: Value | None) -> Any:
    """The nest of (shape, dtype) that a training call hands to the model; None where a part is not known."""
    value = None if value is None else deref(value)
    match value:
        case Dataset(element=inner):
            return element(inner)
        case Array(shape=tuple(shape), dtype=dtype):
            sizes = [
                None,
                *(
                    None if size is None or not isinstance(size.value, int) else size.value
                    for size in shape[1:]
                ),
            ]
            return (tuple(sizes), dtype or UNTOLD)
        case Sequence(items=list(items)):
            parts = [element(item) for item in items]
            return (
                None
                if any(part is None for part in parts)
                else (parts if value.kind == "list" else tuple(parts))
            )
        case Mapping(entries=entries):
            found = {key: element(item) for key, item in entries.items()}
            return None if any(part is None for part in found.values()) else found
    return None


def first(data: Value) -> Any:
    """What a training call hands to the model: of a generator's batches the first part, as it stands."""
    batch = yielded_by(data)
    if batch is not None:
        if isinstance(batch, Sequence) and batch.kind == "tuple" and batch.items:
            batch = batch.items[0]
        return element(batch)
    return (element if isinstance(deref(data), Dataset) else fed)(inputs_in(data))


def rest(data: Value, call: Call) -> tuple[Any, ...] | None:
    """What comes behind that in a batch, of a data set or a generator or beside an array: labels, weights of samples.

    In the same way; None where nothing of it is known.
    """
    data = deref(data)
    whole = yielded_by(data)
    if isinstance(data, Dataset):
        whole = None if data.element is None else deref(data.element)
    elif whole is None:
        found = [fed(call.value("y"))]
        if call.argument("sample_weight") is not None:
            found.append(fed(call.value("sample_weight")))
        return None if found[0] is None else tuple(found)
    if isinstance(whole, Sequence) and whole.kind == "tuple" and whole.items and 2 <= len(whole.items) <= 3:
        return tuple(map(element, whole.items[1:]))
    return None

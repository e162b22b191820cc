"""Operations that hand over as many values as data tells: `tf.where(mask)`, `tf.boolean_mask`, `tf.unique`.

A step that is traced has no numbers. Their outputs have the shape that they have where all values are chosen, of which
TensorFlow then tells the shapes of what is computed with them: a bound, where taking them as one is far too little.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

WORDS = "tensors whose size the data's values choose (tf.where, tf.boolean_mask) are as large as if all were chosen"


@contextmanager
def all_chosen() -> Iterator[list[str]]:
    """Inside, such outputs have a static shape; the list has an entry for each of them."""
    from tensorflow.python.ops import gen_array_ops

    bounded: list[str] = []

    def among(kind: str) -> Any:
        original = getattr(gen_array_ops, kind)

        @functools.wraps(original)
        def bounding(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            of = args[0] if args else kwargs.get("condition", kwargs.get("x"))
            rows = found if kind == "where" else found.y
            shape = getattr(of, "shape", None)
            if shape is not None and shape.is_fully_defined() and hasattr(rows, "graph"):
                sizes = shape.as_list()
                rows.set_shape([math.prod(sizes), len(sizes)] if kind == "where" else [math.prod(sizes)])
                bounded.append(kind)
            return found

        return bounding

    with ExitStack() as stack:
        for kind in ("where", "unique", "unique_with_counts"):
            stack.enter_context(patch.object(gen_array_ops, kind, among(kind)))
        yield bounded

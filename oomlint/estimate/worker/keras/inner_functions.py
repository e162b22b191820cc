"""A `call` under `tf.function` is traced in place, where Keras asks for shapes and where a step is followed.

Keras 3 calls a layer on symbolic tensors in a scope in which its variables are no variables yet. TensorFlow keeps the
function that it traces there and takes it again for the training step, in which no weight would have a gradient then.
Of a step, such a function is a part like any other: TensorFlow puts it in place itself before it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def traced_in_place(everywhere: bool = False) -> Iterator[None]:
    """Inside, functions that TensorFlow would trace by themselves are part of what calls them.

    Without `everywhere` only where Keras asks for shapes.
    """
    try:
        from keras.src.backend.common.stateless_scope import in_stateless_scope
        from tensorflow.python.autograph.core.ag_ctx import ControlStatusCtx, Status
        from tensorflow.python.autograph.core.converter import ConversionOptions
        from tensorflow.python.autograph.impl import api
        from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
    except ImportError:  # Keras 2, which traces such a function with its variables, or another TensorFlow
        yield
        return
    original = Function.__call__
    options = ConversionOptions(recursive=True, user_requested=True)

    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        apart = getattr(self, "_jit_compile", None) or not (everywhere or in_stateless_scope())
        if apart:
            return original(self, *args, **kwargs)
        if not getattr(self, "_autograph", True):
            return self.python_function(*args, **kwargs)
        with ControlStatusCtx(Status.ENABLED, options):
            return api.converted_call(self.python_function, args, kwargs, options=options)

    with patch.object(Function, "__call__", called):
        yield

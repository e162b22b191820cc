"""Names and arguments of TensorFlow 1 in scripts that run otherwise: `tf.log`, `keep_dims=`, `tf.nn.softmax(dim=)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_NAMES = """log div ceil to_float to_int32 to_int64 to_double random_normal random_uniform truncated_normal
    matrix_diag matrix_inverse space_to_depth depth_to_space extract_image_patches is_nan is_inf lgamma
    sparse_tensor_to_dense get_default_graph real imag verify_tensor_all_finite rsqrt mod floormod erf variable_scope
    set_random_seed""".split()
_IMAGE = "resize_images resize_bilinear resize_nearest_neighbor resize_bicubic resize_area".split()
_LOSSES = """log_loss mean_squared_error absolute_difference huber_loss hinge_loss cosine_distance softmax_cross_entropy
    sigmoid_cross_entropy sparse_softmax_cross_entropy mean_pairwise_squared_error get_regularization_loss""".split()
_REDUCTIONS = "sum mean max min prod any all logsumexp".split()
_RENAMED = {"keep_dims": "keepdims", "reduction_indices": "axis", "dim": "axis"}


def understand_tensorflow_1(tensorflow: Any) -> None:
    """They work from now on: the step is traced long after the script has run."""
    old = tensorflow.compat.v1
    for namespace, older, names in (
        (tensorflow, old, _NAMES),
        (tensorflow.image, old.image, _IMAGE),
        (tensorflow.losses, old.losses, _LOSSES),
    ):
        for name in names:
            if not hasattr(namespace, name) and hasattr(older, name):
                setattr(namespace, name, getattr(older, name))
    for name in _REDUCTIONS:
        _take_old_arguments(tensorflow, f"reduce_{name}")
    for name in ("softmax", "log_softmax", "l2_normalize"):
        _take_old_arguments(tensorflow.nn, name)
    for name in ("argmax", "argmin"):
        _take_old_arguments(tensorflow, name, dimension="axis")
    _take_old_arguments(tensorflow, "concat", concat_dim="axis")
    _take_old_arguments(tensorflow, "expand_dims")


def _take_old_arguments(namespace: Any, name: str, **more: str) -> None:
    original: Callable[..., Any] = getattr(namespace, name)
    if hasattr(original, "oomlint_old"):
        return
    renamed = _RENAMED | more

    @functools.wraps(original)
    def called(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **{renamed.get(key, key): value for key, value in kwargs.items()})

    called.oomlint_old = True  # type: ignore[attr-defined]
    setattr(namespace, name, called)

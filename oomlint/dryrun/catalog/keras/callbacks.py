"""The parameters of Keras' own callbacks, where a rule asks for them."""

from __future__ import annotations

from oomlint.dryrun.catalog.registry import signature

signature("keras.callbacks.TensorBoard", "log_dir histogram_freq write_graph write_images")

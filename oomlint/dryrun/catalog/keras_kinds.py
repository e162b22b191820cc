"""All layer classes that the catalog knows: importing this module has registered every one of them."""

from __future__ import annotations

from oomlint.dryrun.catalog import (
    keras_layers,
    keras_layers_attention,
    keras_layers_conv,
    keras_layers_image,
    keras_layers_recurrent,
)
from oomlint.dryrun.catalog.keras_dims import LAYERS

MODULES = (
    keras_layers,
    keras_layers_attention,
    keras_layers_conv,
    keras_layers_image,
    keras_layers_recurrent,
)
KINDS = LAYERS.kinds

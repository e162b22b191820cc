"""All layer classes that the catalog knows: importing this module has registered every one of them."""

from __future__ import annotations

from oomlint.dryrun.catalog.keras import layers as keras_layers
from oomlint.dryrun.catalog.keras import layers_attention as keras_layers_attention
from oomlint.dryrun.catalog.keras import layers_audio as keras_layers_audio
from oomlint.dryrun.catalog.keras import layers_conv as keras_layers_conv
from oomlint.dryrun.catalog.keras import layers_image as keras_layers_image
from oomlint.dryrun.catalog.keras import layers_recurrent as keras_layers_recurrent
from oomlint.dryrun.catalog.keras.dims import LAYERS

MODULES = (
    keras_layers,
    keras_layers_attention,
    keras_layers_audio,
    keras_layers_conv,
    keras_layers_image,
    keras_layers_recurrent,
)
KINDS = LAYERS.kinds

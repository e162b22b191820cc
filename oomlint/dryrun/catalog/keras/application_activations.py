"""`keras.applications`: how much of each sample waits for the backward pass, by architecture.

Printed by `benchmarks/application_activations.py`, which walks the real models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oomlint.dryrun.catalog.keras.dims import derived, known

if TYPE_CHECKING:
    from oomlint.dryrun.values.arrays import Dim, Shape

# The side of a square input, and the numbers kept for one sample of that size.
SAVED: dict[str, tuple[int, int]] = {
    "ConvNeXtBase": (224, 51_380_224),
    "ConvNeXtLarge": (224, 77_070_336),
    "ConvNeXtSmall": (224, 38_535_168),
    "ConvNeXtTiny": (224, 23_632_896),
    "ConvNeXtXLarge": (224, 102_760_448),
    "DenseNet121": (224, 32_325_356),
    "DenseNet169": (224, 39_036_396),
    "DenseNet201": (224, 50_401_260),
    "EfficientNetB0": (224, 19_887_839),
    "EfficientNetB1": (240, 31_806_675),
    "EfficientNetB2": (260, 40_437_101),
    "EfficientNetB3": (300, 69_446_379),
    "EfficientNetB4": (380, 144_208_147),
    "EfficientNetB5": (456, 287_143_523),
    "EfficientNetB6": (528, 485_639_139),
    "EfficientNetB7": (600, 840_239_075),
    "EfficientNetV2B0": (224, 13_873_488),
    "EfficientNetV2B1": (240, 21_255_988),
    "EfficientNetV2B2": (260, 28_492_638),
    "EfficientNetV2B3": (300, 45_553_606),
    "EfficientNetV2L": (480, 456_642_176),
    "EfficientNetV2M": (480, 259_916_044),
    "EfficientNetV2S": (384, 103_334_200),
    "InceptionResNetV2": (299, 44_303_360),
    "InceptionV3": (299, 22_855_584),
    "MobileNet": (224, 11_648_960),
    "MobileNetV2": (224, 15_340_976),
    "MobileNetV3Large": (224, 10_300_872),
    "MobileNetV3Small": (224, 3_284_504),
    "NASNetLarge": (331, 171_948_900),
    "NASNetMobile": (224, 16_742_650),
    "ResNet101": (224, 31_096_044),
    "ResNet101V2": (224, 28_290_028),
    "ResNet152": (224, 43_740_396),
    "ResNet152V2": (224, 42_247_148),
    "ResNet50": (224, 20_860_140),
    "ResNet50V2": (224, 16_940_012),
    "VGG16": (224, 15_052_800),
    "VGG19": (224, 16_357_376),
    "Xception": (299, 43_588_504),
}  # fmt: skip

# Sides are rounded at each stride: the area's share is right to a few per cent at the sizes that people train on.
ROUNDING = 0.95


def saved_by_application(name: str, shape: Shape) -> Dim:
    """Numbers that one sample of an input shape leaves behind for the backward pass, at least."""
    height, width = known(shape[1]), known(shape[2])
    if name not in SAVED or height is None or width is None or min(height, width) < 64:
        return None
    side, kept = SAVED[name]
    exact = height == width == side
    number = kept if exact else int(kept * height * width / (side * side) * ROUNDING)
    return derived(number, shape[1], shape[2])

"""The MobileNets, which `alpha` makes thinner or wider: their widths and parameters follow from the papers' tables."""

from __future__ import annotations

from dataclasses import dataclass

# Output channels and repetitions of the separable blocks.
V1 = ((64, 1), (128, 2), (256, 2), (512, 6), (1024, 2))
# Expansion, output channels, repetitions.
V2 = ((1, 16, 1), (6, 24, 2), (6, 32, 3), (6, 64, 4), (6, 96, 3), (6, 160, 3), (6, 320, 1))
# Window, expanded channels of an input of full width, that width, output channels, squeeze-and-excite.
SMALL = (
    (3, 16, 16, 16, 1), (3, 72, 16, 24, 0), (3, 88, 24, 24, 0), (5, 96, 24, 40, 1), (5, 240, 40, 40, 1),
    (5, 240, 40, 40, 1), (5, 120, 40, 48, 1), (5, 144, 48, 48, 1), (5, 288, 48, 96, 1), (5, 576, 96, 96, 1),
    (5, 576, 96, 96, 1),
)  # fmt: skip
LARGE = (
    (3, 16, 16, 16, 0), (3, 64, 16, 24, 0), (3, 72, 24, 24, 0), (5, 72, 24, 40, 1), (5, 120, 40, 40, 1),
    (5, 120, 40, 40, 1), (3, 240, 40, 80, 0), (3, 200, 80, 80, 0), (3, 184, 80, 80, 0), (3, 184, 80, 80, 0),
    (3, 480, 80, 112, 1), (3, 672, 112, 112, 1), (5, 672, 112, 160, 1), (5, 960, 160, 160, 1), (5, 960, 160, 160, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Thinned:
    """A MobileNet of some width: its body's parameters, and what comes after the last feature map.

    `width` are the channels of that map, `features` what the classifier sees, `top` the parameters between.
    """

    weights: int
    width: int
    features: int
    top: int = 0


def rounded(value: float, divisor: int = 8) -> int:
    """Channels in multiples of eight, never a tenth fewer than asked for."""
    near = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * value else near


def _unit(size: int, before: int, after: int) -> int:
    """A convolution without bias and its batch normalisation."""
    return size * size * before * after + 4 * after


def _depthwise(size: int, channels: int) -> int:
    return (size * size + 4) * channels


def thinned(
    name: str, alpha: float, channels: int, minimalistic: bool = False, multiplier: int = 1
) -> Thinned:
    """The network of that name."""
    if name == "MobileNet":
        return _first(alpha, channels, multiplier)
    if name == "MobileNetV2":
        return _second(alpha, channels)
    return _third(name, alpha, channels, minimalistic)


def _first(alpha: float, channels: int, multiplier: int) -> Thinned:
    width = int(32 * alpha)
    count = _unit(3, channels, width)
    for filters, times in V1:
        for _ in range(times):
            after = int(filters * alpha)
            count += _depthwise(3, width * multiplier) + _unit(1, width * multiplier, after)
            width = after
    return Thinned(count, width, width)


def _second(alpha: float, channels: int) -> Thinned:
    width = rounded(32 * alpha)
    count = _unit(3, channels, width)
    for expansion, filters, times in V2:
        for _ in range(times):
            wide, after = expansion * width, rounded(filters * alpha)
            count += _unit(1, width, wide) if expansion > 1 else 0
            count += _depthwise(3, wide) + _unit(1, wide, after)
            width = after
    last = rounded(1280 * alpha) if alpha > 1.0 else 1280
    return Thinned(count + _unit(1, width, last), last, last)


def _third(name: str, alpha: float, channels: int, minimalistic: bool) -> Thinned:
    small = name == "MobileNetV3Small"
    width = 16
    count = _unit(3, channels, width)
    for index, (window, expanded, full, filters, excited) in enumerate(SMALL if small else LARGE):
        wide = rounded(width * (expanded / full)) if index else width
        after = rounded(filters * alpha)
        count += _unit(1, width, wide) if index else 0
        count += _depthwise(3 if minimalistic else window, wide) + _unit(1, wide, after)
        if excited and not minimalistic:
            squeezed = rounded(wide * 0.25)
            count += 2 * wide * squeezed + squeezed + wide
        width = after
    last = rounded(6 * width)
    final = 1024 if small else 1280
    features = rounded(final * alpha) if alpha > 1.0 else final
    return Thinned(count + _unit(1, width, last), last, features, (last + 1) * features)

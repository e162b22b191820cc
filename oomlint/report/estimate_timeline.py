"""The step as a picture: the bytes alive over its operations, as an SVG that scales without its labels."""

from __future__ import annotations

import itertools
import json
from html import escape

from oomlint.estimate.result import Estimate
from oomlint.estimate.verdicts import amount

_MOST_POINTS = 400
_WIDTH, _HEIGHT = 1000, 300


def thinned(timeline: tuple[tuple[str, int], ...], most: int = _MOST_POINTS) -> list[tuple[str, int]]:
    """At most so many moments, each the highest of its stretch, so that no peak is lost."""
    if len(timeline) <= most:
        return list(timeline)
    edges = [len(timeline) * index // most for index in range(most + 1)]
    return [
        max(timeline[start:end], key=lambda moment: moment[1]) for start, end in itertools.pairwise(edges)
    ]


def figure(estimate: Estimate) -> str:
    """The picture with its labels; empty where the engine gave no timeline."""
    moments = thinned(estimate.timeline)
    if len(moments) < 2:
        return ""
    usable = int(estimate.gpu["usable_bytes"])
    highest = max(size for _, size in moments)
    # A limit far above the step would press it flat: then it is only named.
    limit_shown = usable <= 3 * highest
    top = max(highest, usable if limit_shown else 0) * 1.12 or 1
    step = _WIDTH / len(moments)

    def across(index: float) -> float:
        return round(index * step, 1)

    def up(size: float) -> float:
        return round(_HEIGHT * (1 - size / top), 1)

    line = "".join(
        f"{'L' if index else 'M'}{across(index)} {up(size)}H{across(index + 1)}"
        for index, (_, size) in enumerate(moments)
    )
    peak_index = max(range(len(moments)), key=lambda index: moments[index][1])
    peak_left = 100 * (peak_index + 0.5) / len(moments)
    peak_top = 100 * (1 - highest / top)
    side = "end" if peak_left > 50 else "start"
    at = estimate.peak_at or moments[peak_index][0]
    limit, limit_label = "", f"The limit, {amount(usable)}, is far above this picture."
    if limit_shown:
        limit = f'<line class="limit" x1="0" x2="{_WIDTH}" y1="{up(usable)}" y2="{up(usable)}"/>'
        name = escape(str(estimate.gpu.get("name") or "GPU"))
        limit_label = (
            f'<span class="limit-label" style="top:{100 * (1 - usable / top):.1f}%">'
            f"{name} can use {amount(usable)}</span>"
        )
    data = json.dumps([[at, amount(size)] for at, size in moments]).replace("<", "\\u003c")
    return f"""
<figure class="timeline">
<div class="plot" tabindex="0" role="img" aria-label="Bytes alive during the step: highest {amount(highest)}\
 at {escape(at)}.">
<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
<path class="area" d="{line}V{_HEIGHT}H0Z"/><path class="line" d="{line}"/>{limit}</svg>
<span class="dot" style="left:{peak_left:.1f}%;top:{peak_top:.1f}%"></span>
<span class="peak-label {side}" style="left:{peak_left:.1f}%;top:{peak_top:.1f}%">\
{amount(highest)} at {escape(at)}</span>
{limit_label if limit_shown else ""}
<span class="cursor" hidden></span>
</div>
<figcaption><span class="readout">From the first operation of the step to its last.</span>\
{"" if limit_shown else " " + limit_label}</figcaption>
<script type="application/json" class="moments">{data}</script>
</figure>"""

"""The estimate as text, JSON and HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from estimate.estimates import LAYERS, MIB, REMEDIES, TIMELINE, estimate

from oomlint.estimate.result import PARTS
from oomlint.report import estimate_html, estimate_json, estimate_text
from oomlint.report.estimate_timeline import thinned
from oomlint.report.style import Style

BATCH = {
    "batch_size": 170,
    "peak_bytes": 13_500 * MIB,
    "sure_batch_size": 165,
    "friendly_batch_size": 160,
    "friendly_peak_bytes": 12_800 * MIB,
}
FULL = estimate(
    layers=LAYERS, timeline=TIMELINE, peak_at="conv5 <out>", what_if=REMEDIES, max_batch=BATCH, seconds=6.3,
    resident_bytes=900 * MIB, assumptions=("the input is <given>",),
)  # fmt: skip
TOO_LARGE = estimate({"activations": 22_000}, layers=LAYERS, timeline=TIMELINE, replicas=4)


# Text.


def test_text_answers_first():
    lines = estimate_text.render(FULL, width=100).splitlines()
    assert lines[0] == "Fits on T4: 8.31 GiB to spare"
    assert lines[1] == "train.py: batch 64, adam, float32, Keras on TensorFlow"
    said = " ".join(" ".join(lines).split())
    assert "needs 4.96 GiB (4.86 GiB to 5.11 GiB)" in said
    assert "can be used 13.3 GiB of the card's 15.0 GiB" in said
    assert "37%" in said  # 5,079 of 13,584
    assert "largest batch 170 (13.2 GiB), for sure 165; fast and safe: 160 (12.5 GiB)" in said
    assert "at conv5 <out>" in said
    assert "outside TensorFlow's pool: CUDA context, 300 MiB" in said
    assert "runs as one XLA program: Keras compiles the step with XLA" in said
    assert "the input is <given>" in said
    assert "found in 6.3 s with 900 MiB" in said


def test_a_bar_for_each_part_as_long_as_its_share():
    lines = estimate_text.render(FULL, width=100).splitlines()
    rows = {
        line.split("  ")[1].strip().partition(" ")[0]: line for line in lines if re.search(r" \d+%  ", line)
    }
    assert list(rows) == [name.partition("_")[0] for name in PARTS]
    cells = 100 - 46
    activations = rows["activations"]
    # 4,500 of 5,079 MiB: 88.6% of the cells.
    assert activations.count("\u2588") == int(cells * 4_500 / 5_079)
    assert "estimated" in activations and "89%" in activations
    assert "exact" in rows["weights"] and "98.0 MiB" in rows["weights"]


def test_layers_are_the_largest_unless_all_are_asked_for():
    text = estimate_text.render(FULL, width=110)
    assert "input_layer" not in text
    first = text.splitlines().index("Layers, by what they keep for the backward pass") + 1
    assert text.splitlines()[first].split()[:6] == ["bn", "<1>", "&", "co", "392", "MiB"]
    assert "2,049,000 parameters" in text and "64 x 112 x 112 x 64" in text
    assert "input_layer" in estimate_text.render(FULL, width=110, all_layers=True)


def test_what_would_make_it_fit():
    text = estimate_text.render(FULL)
    assert text.index("mixed precision") < text.index("SGD")
    assert "2.64 GiB  fits" in text and "saves 2.32 GiB" in text
    assert "cost: needs loss scaling. Largest batch then 160" in text
    assert "What would save memory" in text
    # Nobody asked, and it does not fit: the options that would tell.
    assert "--max-batch" in estimate_text.render(TOO_LARGE) and "--what-if" in estimate_text.render(TOO_LARGE)
    assert "--max-batch" not in estimate_text.render(estimate())


def test_replicas_do_not_split_the_model():
    assert "Each of the 4 GPUs needs this" in estimate_text.render(TOO_LARGE)


@pytest.mark.parametrize("width", [10, 40, 60, 80, 200])
@pytest.mark.parametrize("made", [FULL, TOO_LARGE, estimate(usable=5_100 * MIB)])
def test_no_line_is_wider_than_the_terminal(made, width):
    text = estimate_text.render(made, width=width, all_layers=True)
    # A table's row is not broken below 58 columns.
    assert max(map(len, text.splitlines())) <= max(width, 58)


def test_plain_ascii_where_the_terminal_has_nothing_else():
    text = estimate_text.render(FULL, ascii_only=True)
    assert text.isascii()
    assert re.search(r"activations .* #{20,}", text)
    assert not estimate_text.render(FULL).isascii()


def test_colour_only_where_asked_for():
    assert "\x1b" not in estimate_text.render(FULL, Style(False))
    assert estimate_text.render(FULL, Style(True)).startswith("\x1b[32mFits on T4")
    assert estimate_text.render(TOO_LARGE, Style(True)).startswith("\x1b[1;31mDoes not fit")


def test_no_batch_at_all():
    row = dict.fromkeys(BATCH, 0) | {"peak_bytes": 14_000 * MIB}
    assert "not even one sample fits: it needs 13.7 GiB" in estimate_text.render(estimate(max_batch=row))


def test_an_amount_instead_of_a_card():
    made = estimate(gpu={"name": "16GB", "memory_bytes": 16_000_000_000, "usable_bytes": 16_000_000_000})
    text = estimate_text.render(made)
    assert text.startswith("Fits in 16GB: ")
    assert "of the card's" not in text


# JSON.


def test_json_has_what_is_promised():
    data = json.loads(estimate_json.render(FULL))
    promised = """target engine program reason backend batch_size replicas optimizer policy gpu peak_bytes range_bytes
        parts outside_pool verdict layers peak_at max_batch what_if assumptions seconds resident_bytes""".split()
    assert set(promised) <= set(data)
    assert list(data["gpu"]) == ["name", "memory_bytes", "usable_bytes"]
    assert list(data["parts"]) == list(PARTS)
    assert sum(data["parts"].values()) == data["peak_bytes"] == 5_079 * MIB
    assert data["range_bytes"] == [round(5_079 * MIB * 0.98), round(5_079 * MIB * 1.03)]
    assert data["verdict"] == "fits"
    assert list(data["layers"][1]) == ["name", "class", "output_shape", "parameters", "saved_bytes"]
    assert data["layers"][1]["class"] == "Conv2D"
    assert data["layers"][1]["output_shape"] == [None, 112, 112, 64]
    assert data["max_batch"]["batch_size"] == 170
    assert list(data["what_if"][0]) == ["change", "peak_bytes", "saved_bytes", "max_batch", "cost"]
    assert data["assumptions"] == ["the input is <given>"]
    assert data["timeline"][100] == {"at": "conv5_block3_out", "bytes": 5_079 * MIB}


def test_json_of_a_bare_estimate():
    data = json.loads(estimate_json.render(estimate()))
    assert data["max_batch"] is None and data["what_if"] == [] and data["layers"] == []


# HTML.

VOID = {"meta", "line", "path", "br", "link", "img"}


class Page(HTMLParser):
    """Checks that what is opened is closed, and collects text, tags and attributes."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


def test_html_is_one_file_that_asks_nobody():
    html = estimate_html.render(FULL)
    page = Page(html)
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not {name for _, name, _ in page.attributes} & {"src", "href", "srcset", "onclick", "onload"}
    assert "http" not in re.sub(r"http-equiv", "", html)
    assert "url(" not in html and "@import" not in html
    assert "default-src 'none'" in html
    assert "prefers-color-scheme:dark" in html
    assert 'name="viewport"' in html


def test_html_shows_what_text_shows():
    said = " ".join("".join(Page(estimate_html.render(FULL)).text).split())
    for words in (
        "Fits on T4: 8.31 GiB to spare",
        "4.86 GiB to 5.11 GiB",
        "for sure 165",
        "activations",
        "4.39 GiB",
        "mixed precision",
        "needs loss scaling",
        "2,049,000",
        "Keras compiles the step with XLA",
        "CUDA context",
        "4.96 GiB at conv5 <out>",
        "T4 can use 13.3 GiB",
    ):
        assert words in said


def test_html_escapes_what_comes_from_a_script():
    made = estimate(
        layers=LAYERS,
        target="<script>alert(1)</script>.py",
        timeline=(("</script><b>", 5), ("b", 4)),
        reason="a<b",
    )
    html = estimate_html.render(made)
    assert "<script>alert" not in html and "</script><b>" not in html
    assert "bn &lt;1&gt; &amp; co" in html
    said = "".join(Page(html).text)
    assert "<script>alert(1)</script>.py" in said and "a<b" in said


def test_the_picture_marks_peak_and_limit():
    html = estimate_html.render(TOO_LARGE)
    # 101st of 201 moments.
    assert 'class="dot" style="left:50.0%' in html
    (x1, y1) = re.search(r'class="limit" x1="0" x2="1000" y1="([\d.-]+)" y2="([\d.-]+)"', html).groups()
    assert x1 == y1
    assert float(x1) > 0  # within the picture
    # The limit is under the peak of a step that does not fit in the picture of its own timeline (5,079 MiB is below).
    assert html.count('class="limit-label"') == 1
    small = estimate_html.render(estimate(timeline=(("a", MIB), ("b", 2 * MIB))))
    assert "far above this picture" in small and 'class="limit-label"' not in small
    assert "<figure" not in estimate_html.render(estimate())


def test_a_long_timeline_is_thinned_to_its_peaks():
    moments = tuple((f"op{index}", index % 1_000) for index in range(100_000))
    few = thinned(moments)
    assert len(few) == 400
    assert max(few, key=lambda one: one[1]) == ("op999", 999)
    assert thinned(moments[:300]) == list(moments[:300])


def test_tables_can_be_sorted():
    html = estimate_html.render(FULL)
    assert html.count('aria-sort="descending"') == 2
    values = [int(value) for value in re.findall(r'class="n wide" data-v="(\d+)"', html)]
    assert values == [256, 9_472, 2_049_000, 0]  # the parameters, in the order of what the layers keep


def test_a_piece_for_a_notebook_is_no_page():
    piece = estimate_html.fragment(FULL)
    assert piece.startswith('<div class="oomlint">') and piece.endswith("</div>")
    assert "<html" not in piece and "<body" not in piece
    # Its style reaches nothing else in the notebook.
    rules = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*[^{}]*)\}", r"\1", estimate_html.STYLE)
    for selectors in re.findall(r"([^{}]+)\{[^{}]*\}", rules):
        assert all(one.strip().startswith(".oomlint") for one in selectors.split(","))


# The command's output.


def output(made, *flags, stream=None, encoding="utf-8"):
    import argparse
    import io
    from unittest import mock

    from oomlint.cli.estimate_output import add_output_flags, write

    parser = argparse.ArgumentParser()
    add_output_flags(parser)
    raw = io.BytesIO()
    stdout = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    with mock.patch("sys.stdout", stdout):
        status = write(made, parser.parse_args(flags))
    return status, raw.getvalue().decode(encoding)


def test_the_status_says_whether_it_fits(tmp_path):
    assert output(FULL)[0] == 0
    assert output(estimate(usable=5_100 * MIB))[0] == 0  # tight: no claim
    assert output(TOO_LARGE)[0] == 1
    assert output(TOO_LARGE, "--exit-zero")[0] == 0


def test_formats_and_files(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    assert json.loads(output(FULL, "--format", "json")[1])["verdict"] == "fits"
    assert output(FULL, "--format", "html")[1].startswith("<!doctype html>")
    status, said = output(TOO_LARGE, "-o", str(tmp_path / "report.html"))
    assert status == 1
    assert said.startswith("Does not fit on T4")
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
    output(FULL, "--output", str(tmp_path / "report.json"))
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["peak_bytes"] == 5_079 * MIB
    output(FULL, "--output", str(tmp_path / "report.txt"), "--layers")
    assert "input_layer" in (tmp_path / "report.txt").read_text("utf-8")


def test_an_old_terminal_gets_ascii(monkeypatch):
    monkeypatch.delenv("TERM", raising=False)
    assert output(FULL, encoding="latin-1")[1].isascii()
    assert not output(FULL)[1].isascii()
    monkeypatch.setenv("TERM", "dumb")
    assert output(FULL)[1].isascii()


def test_no_color_wins(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m" in output(FULL)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in output(FULL)[1]

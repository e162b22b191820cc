"""Which configurations are compiled: MODEL:BATCH:OPTIMIZER:POLICY:GPU; and a file with a row for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Against the independent compilations: every model with two optimizers, two policies and two GPUs among its rows.
_SMALL = (
    ("mlp", 512),
    ("mlp_norm_dropout", 256),
    ("lenet", 256),
    ("alexnet", 64),
    ("small_cnn", 256),
    ("augmented_cnn", 64),
    ("resnet18", 32),
    ("cifar_resnet20", 128),
    ("squeezenet", 32),
    ("separable_swish", 32),
    ("squeeze_excite", 64),
    ("convnext_like", 32),
    ("conv3d_video", 8),
    ("unet", 8),
    ("unet_norm", 4),
    ("conv_autoencoder", 32),
    ("dense_autoencoder", 256),
    ("variational_autoencoder", 64),
    ("super_resolution", 8),
    ("decoder_small", 8),
    ("decoder_wide", 4),
    ("encoder_12", 8),
    ("vision_transformer", 16),
    ("translator", 16),
    ("mixer", 32),
    ("text_cnn", 64),
    ("wavenet", 8),
    ("lstm_text", 32),
    ("gru_forecast", 64),
    ("tagger", 32),
    ("simple_rnn", 64),
    ("recommender", 1024),
    ("siamese", 64),
)
REFERENCE = [
    *(f"{name}:{batch}:adam:float32:H100-80GB" for name, batch in _SMALL),
    *(f"{name}:{batch}:momentum:mixed_float16:A100-40GB" for name, batch in _SMALL),
    "keras:VGG16:16:momentum:float32:A100-40GB",
    "keras:MobileNetV2:16:momentum:mixed_float16:A100-40GB",
    "keras:ResNet50:16:adam:mixed_float16:A100-40GB",
    "keras:ConvNeXtTiny:8:adamw:float32:H100-80GB",
    "decoder_6_7b:1:adam:float32:H100-80GB",
]

# What engine graph's rules for XLA are fitted to, and checked against.
POINTS = [
    *REFERENCE,
    "mlp:4096:momentum:float32:A100-40GB",
    "small_cnn:1024:momentum:float32:T4",
    "resnet18:128:momentum:float32:H100-80GB",
    "unet:32:adamw:float32:A100-40GB",
    "vision_transformer:64:adamw:float32:A100-40GB",
    "decoder_small:32:lion:float32:H100-80GB",
    "encoder_12:32:adamw:mixed_float16:H100-80GB",
    "lstm_text:128:rmsprop:float32:H100-80GB",
    "recommender:8192:adafactor:float32:H100-80GB",
    "conv_autoencoder:128:rmsprop:float32:H100-80GB",
    "mixer:128:sgd:float32:H100-80GB",
    "wavenet:32:sgd:float32:A100-40GB",
]


def write_rows(
    file: Path,
    configurations: Iterable[str],
    row_of: Callable[[str, int, str, str, str], dict[str, Any]],
    total: str,
    only: dict[str, str] | None = None,
    after: Callable[[], None] = lambda: None,
) -> None:
    """Append a row for each configuration that has none yet. `only`: what a row must have to count as one."""
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    keys = ("model", "batch", "optimizer", "policy", "gpu")
    have = {
        ":".join(str(row[key]) for key in keys)
        for row in done
        if all(row[key] == value for key, value in (only or {}).items())
    }
    for text in configurations:
        if text in have:
            continue
        name, batch, optimizer, policy, gpu = text.rsplit(":", 4)
        try:
            row = row_of(name, int(batch), optimizer, policy, gpu)
        except Exception as error:
            print(text, type(error).__name__, str(error)[:400], file=sys.stderr, flush=True)
            continue
        with file.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        print(text, row[total] >> 20, "MiB", row["seconds"], "s", flush=True)
        after()

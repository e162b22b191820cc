"""Where a script's numbers come from: each way of keeping settings leads to the same finding, and what replaces them ends it."""

import pytest

from oomlint.testing import run_rule

PIPELINE = """import tensorflow as tf
{before}
{head}
    files = tf.data.Dataset.list_files("scans/*.jpg")
    pictures = files.map(lambda path: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), 3), ({side}, 416)))
    return pictures.shuffle({hold}).batch(8)
{after}
"""
BAG = "class Bag(dict):\n    "
FROM_OPTIONS = "    def __init__(self, **entries):\n        for key, value in entries.items():\n            "
CLASS = (
    "from dataclasses import dataclass\n@dataclass\nclass Cfg:\n    side: int = 416\n    hold: int = 9000\n"
)

# What stands before the pipeline, and its two numbers.
KEPT = {
    "attributes are items": (
        f"{BAG}__getattr__ = dict.__getitem__\ncfg = Bag(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "attributes are got": (
        f"{BAG}__getattr__ = dict.get\ncfg = Bag({{'side': 416}})\ncfg['hold'] = 9000",
        "cfg.side",
        "cfg.hold",
    ),
    "its own dictionary": (
        f"{BAG}def __init__(self, *a, **k):\n        super().__init__(*a, **k)\n        self.__dict__ = self\ncfg = Bag(side=416, hold=9000)",
        "cfg.side",
        "cfg['hold']",
    ),
    "asked for": (
        f"{BAG}def __getattr__(self, name):\n        return self[name]\ncfg = Bag(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "spread": (f"{BAG}pass\nhold = dict(**Bag(side=416, hold=9000))", "hold['side']", "hold['hold']"),
    "gone over": (
        f"{BAG}pass\nkept = {{key: value for key, value in Bag(side=416, hold=9000).items()}}",
        "kept['side']",
        "kept['hold']",
    ),
    "updated": (
        "class Cfg:\n    def __init__(self, **entries):\n        self.__dict__.update(entries)\ncfg = Cfg(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "set by name": (
        f"class Cfg:\n{FROM_OPTIONS}setattr(self, key, value)\ncfg = Cfg(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "set by its method": (
        f"class Cfg:\n{FROM_OPTIONS}self.__setattr__(key, value)\ncfg = Cfg(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "set by object": (
        f"class Cfg:\n{FROM_OPTIONS}object.__setattr__(self, key, value)\ncfg = Cfg(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "passed on": (
        "class Cfg:\n    def __init__(self, inner):\n        self.inner = inner\n    def __getattr__(self, name):\n"
        "        return getattr(self.inner, name)\nfrom types import SimpleNamespace\ncfg = Cfg(SimpleNamespace(side=416, hold=9000))",
        "cfg.side",
        "cfg.hold",
    ),
    "yacs": (
        "from yacs.config import CfgNode as CN\n_C = CN()\n_C.DATA = CN()\n_C.DATA.SIDE = 416\n_C.HOLD = 9000\n"
        "def get_cfg():\n    return _C.clone()\ncfg = get_cfg()\ncfg.merge_from_list(['DATA.SIDE', 3])",
        "cfg.DATA.SIDE",
        "cfg.HOLD",
    ),
    "omegaconf": (
        "from omegaconf import OmegaConf\ncfg = OmegaConf.create({'side': 416, 'data': {'hold': 9000}})",
        "cfg.side",
        "cfg.data.hold",
    ),
    "box": (
        "from box import Box\ncfg = Box({'side': 416, 'data': {'hold': 9000}})",
        "cfg['side']",
        "cfg.data.hold",
    ),
    "munch": (
        "from munch import munchify\ncfg = munchify({'side': 416, 'hold': 9000})",
        "cfg.side",
        "cfg.hold",
    ),
    "pydantic": (
        "from pydantic import BaseModel, Field\nclass Cfg(BaseModel):\n    side: int = Field(416, gt=0)\n    hold: int = 10\ncfg = Cfg(hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
    "a command line's dictionary": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--side', type=int, default=416)\n"
        "p.add_argument('--hold', type=int, default=9000)\ncfg = p.parse_args().__dict__",
        "cfg['side']",
        "cfg['hold']",
    ),
    "tyro": (f"import tyro\n{CLASS}cfg = tyro.cli(Cfg)", "cfg.side", "cfg.hold"),
    "classes of arguments": (
        f"from transformers import HfArgumentParser\n{CLASS}(cfg,) = HfArgumentParser(Cfg).parse_args_into_dataclasses()",
        "cfg.side",
        "cfg.hold",
    ),
    "json": ('import json\ncfg = json.loads(\'{"side": 416, "hold": 9000}\')', "cfg['side']", "cfg['hold']"),
    "a literal": (
        "import ast\ncfg = ast.literal_eval(\"{'side': 416, 'hold': [9000]}\")",
        "cfg['side']",
        "cfg['hold'][0]",
    ),
}

# The same, where something else may stand in the end.
REPLACED = {
    "a file": (
        "from yacs.config import CfgNode as CN\ncfg = CN()\ncfg.side = 416\ncfg.hold = 9000\ncfg.merge_from_file('train.yaml')",
        "cfg.side",
        "cfg.hold",
    ),
    "read": (
        f"import json\n{BAG}__getattr__ = dict.__getitem__\ncfg = Bag(json.load(open('train.json')))",
        "cfg.side",
        "cfg.hold",
    ),
    "written over": (
        f"{BAG}__getattr__ = dict.get\ncfg = Bag(side=416, hold=9000)\ncfg['hold'] = 10",
        "cfg.side",
        "cfg.hold",
    ),
    "not its own": (
        f"{BAG}hold = 10\n    __getattr__ = dict.get\ncfg = Bag(side=416, hold=9000)",
        "cfg.side",
        "cfg.hold",
    ),
}


def found(
    before: str, side: str, hold: str, head: str = "def pipeline():", after: str = "pipeline()"
) -> list[str]:
    text = PIPELINE.format(before=before, side=side, hold=hold, head=head, after=after)
    compile(text, "script.py", "exec")
    return [diagnostic.message for diagnostic in run_rule("OOM301", text)]


@pytest.mark.parametrize("way", KEPT)
def test_what_is_kept_is_found(way: str) -> None:
    (message,) = found(*KEPT[way])
    assert "9,000 elements of 2,076,672 B" in message  # 416 x 416 x 3 numbers of 4 B


@pytest.mark.parametrize("way", REPLACED)
def test_what_may_be_replaced_is_not(way: str) -> None:
    assert found(*REPLACED[way]) == []


@pytest.mark.parametrize(
    "options",
    [
        '@click.option("--side", default=416)\n@click.option("--hold", "hold", type=int, default=9000)',
        '@click.option("-s", "--side", type=click.INT, default=416, show_default=True)\n@click.option("--hold", default=9000)',
    ],
)
def test_options_of_click_are_the_function_s_defaults(options: str) -> None:
    head = f"@click.command()\n{options}\ndef pipeline(side, hold):"
    (message,) = found("import click", "side", "hold", head)
    assert "9,000 elements of 2,076,672 B" in message
    assert found("import click", "side", "hold", head, "pipeline(416, 10)") == []


def test_options_of_typer_are_the_function_s_defaults() -> None:
    head = (
        "def pipeline(side: int = typer.Option(416), hold: int = typer.Option(9000, help='of the shuffle')):"
    )
    (message,) = found("import typer", "side", "hold", head, "typer.run(pipeline)")
    assert "9,000 elements of 2,076,672 B" in message

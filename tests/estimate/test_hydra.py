"""Settings that Hydra puts together of files, and hands to the function that a script runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from estimate.scripts import answered

SCRIPT = """
    import hydra, keras
    from omegaconf import DictConfig, OmegaConf
    def net(sizes):
        model = keras.Sequential([keras.Input((sizes.inputs,))])
        for width in sizes.widths:
            model.add(keras.layers.Dense(width))
        return model
    @hydra.main({how})
    def main(cfg: DictConfig):
        print(OmegaConf.to_yaml(cfg))
        table = open(cfg.data.path).read()
        {changed}
        model = net(cfg.net)
        model.compile("sgd", "mse")
        model.fit(table, labels(table), batch_size=cfg.batch)
    if __name__ == "__main__":
        main()
"""


def _files(folder: Path) -> None:
    files = {
        "conf/train.yaml": """
            defaults:
              - net: small
              - override hydra/job_logging: none
            data: {path: rows.csv, columns: 20}
            batch: 64
        """,
        "conf/net/small.yaml": "inputs: ${data.columns}\nwidths: [300, 5]",
        "conf/net/large.yaml": "inputs: 1000\nwidths: [9000, 5]",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.mark.parametrize(
    "how", ["version_base=None, config_path='conf', config_name='train'", "'conf', 'train.yaml'"]
)
def test_a_function_is_handed_what_its_files_say(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _files(tmp_path)
    found = answered(tmp_path, SCRIPT.format(how=how, changed="pass"), monkeypatch)
    assert (found.batch_size, found.instead) == (64, ())
    assert found.parts["weights"] == pytest.approx(4 * (21 * 300 + 301 * 5), abs=64)


def test_an_entry_that_the_data_changes_is_what_the_file_says_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _files(tmp_path)
    text = SCRIPT.format(
        how="config_path='conf', config_name='train'", changed="cfg.net.inputs = len(table.split())"
    )
    found = answered(tmp_path, text, monkeypatch)
    assert found.parts["weights"] == pytest.approx(4 * (21 * 300 + 301 * 5), abs=64)
    assert any(one.startswith("inputs is 20, as the settings say") for one in found.assumptions)

"""What looks like a mistake and is none, family by family: the rules are silent there, and speak beside it.

Each family is one reason for which checkers of training code raise false alarms. `silent` are the files that
show it done right, `firing` the same rule's true alarms nearest to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from fixture_files import FIXTURES, Fixture, modules, settings

from oomlint.findings.diagnostic import Diagnostic
from oomlint.testing import expectations, mismatches, rules_named, run_rules


@dataclass(frozen=True)
class Family:
    """One reason for false alarms, and the fixtures on either side of the line."""

    reason: str
    silent: dict[str, tuple[str, ...]]
    firing: dict[str, tuple[str, ...]]

    @property
    def codes(self) -> tuple[str, ...]:
        """Every rule that the family touches."""
        return tuple(sorted({*self.silent, *self.firing}))


FAMILIES = {
    1: Family(
        "arrays of a tutorial's size given to fit, with a validation split",
        {"OOM305": ("like_tutorial", "like_unknown_size", "like_token_ids")},
        {"OOM305": ("bad_validation_split", "bad")},
    ),
    2: Family(
        "a shuffle as long as the list of files, before they are read",
        {"OOM301": ("like_path_shuffle", "like_id_range", "like_labels_only")},
        {"OOM301": ("bad", "bad_argparse")},
    ),
    3: Family(
        "symbolic tensors in a list and layers in a loop, while one functional model is built",
        {
            "OOM403": ("like_unet_skips",),
            "OOM404": ("like_heads_and_layers",),
            "OOM406": ("like_layers_in_a_loop", "like_towers_of_one_graph"),
        },
        {"OOM403": ("bad", "bad_attribute"), "OOM404": ("bad_slices",), "OOM406": ("bad_architectures",)},
    ),
    4: Family(
        "cache() on sets known to be small, on labels and on paths",
        {"OOM302": ("like_cifar", "like_mnist_tfds", "like_labels", "like_cached_paths", "like_table")},
        {"OOM302": ("bad", "bad_before_cast", "bad_unknown_size")},
    ),
    5: Family(
        "one model, compiled once and fitted many times",
        {"OOM406": ("like_one_model_many_fits", "like_recompiled_for_fine_tuning")},
        {"OOM406": ("bad", "bad_recompile_each_episode")},
    ),
    6: Family(
        "a process for each fold or trial",
        {
            "OOM105": ("like_in_turn", "like_one_worker", "like_gpu_from_queue"),
            "OOM406": ("good_process_per_trial", "good_process_pool", "good_subprocess"),
            "OOM413": ("like_child_process",),
        },
        {
            "OOM105": ("bad_pool", "bad_processes"),
            "OOM406": ("bad_wrapped_folds", "bad_fold_function"),
            "OOM413": ("bad",),
        },
    ),
    7: Family(
        "flags and short loops around a tf.function, loops of the graph inside one",
        {
            "OOM407": ("like_flags", "like_short_loop", "like_signature", "like_numpy_scalars", "like_eager"),
            "OOM408": ("like_called_once", "like_made_once", "like_one_for_each_model"),
            "OOM409": ("like_few_steps", "like_dataset", "like_range_of_tensor", "like_layers"),
        },
        {
            "OOM407": ("bad", "bad_tags", "bad_lengths"),
            "OOM408": ("bad", "bad_factory"),
            "OOM409": ("bad", "bad_training"),
        },
    ),
    8: Family(
        "a persistent tape asked twice, and tapes inside tapes",
        {
            "OOM404": ("like_gradient_penalty", "like_maml", "like_pinn_second_order"),
            "OOM405": ("like_gan", "like_pinn", "like_jacobian"),
        },
        {"OOM404": ("bad_persistent_inside", "bad_second_gradient"), "OOM405": ("bad", "bad_kept_list")},
    ),
    9: Family(
        "a model called on one batch, one picture or a symbolic input",
        {"OOM307": ("like_batches", "like_first_batch", "like_one_image", "like_symbolic")},
        {"OOM307": ("bad", "bad_numpy_of_result")},
    ),
    10: Family(
        "predict once for each epoch, fold or large piece",
        {
            "OOM308": ("like_chunks", "like_classifier"),
            "OOM411": ("like_once_per_epoch", "like_folds", "like_batches", "like_few_rounds"),
        },
        {"OOM308": ("bad", "bad_dataset"), "OOM411": ("bad", "bad_rows", "bad_agent")},
    ),
    11: Family(
        "losses kept as floats, and a running total",
        {"OOM403": ("like_floats", "like_running_total", "like_callback_logs", "like_train_on_batch")},
        {"OOM403": ("bad", "bad_metric", "bad_predictions")},
    ),
    12: Family(
        "EarlyStopping and ModelCheckpoint: one copy of the weights, or files",
        {"OOM403": ("like_early_stopping",)},
        {"OOM403": ("bad_callback", "bad_snapshots_of_variable")},
    ),
    13: Family(
        "labels of a few classes written out, and what needs them so",
        {
            "OOM205": ("like_few_classes", "like_label_smoothing", "like_encoded_per_batch", "like_own_loss"),
            "OOM206": ("like_few_columns", "like_per_batch"),
        },
        {"OOM205": ("bad", "bad_vocabulary", "bad_pixels"), "OOM206": ("bad", "bad_dummies")},
    ),
    14: Family(
        "Flatten where little is left to flatten",
        {"OOM602": ("like_after_global_pooling", "like_mnist", "like_dense_on_three_dimensions")},
        {"OOM602": ("bad", "bad_vgg_with_top")},
    ),
    15: Family(
        "growth at the top, or in a helper that is called first",
        {
            "OOM101": ("good", "good_function", "like_growth_in_helper_module"),
            "OOM102": ("good", "good_called_first", "like_function_defined", "like_env_after_import"),
        },
        {"OOM101": ("bad",), "OOM102": ("bad", "bad_helper_called_late")},
    ),
    16: Family(
        "a full pool in nvidia-smi, watched by a child process",
        {"OOM101": ("like_nvidia_smi_watched",)},
        {"OOM101": ("bad_children",)},
    ),
    17: Family(
        "resident memory that does not fall after a shuffle",
        {"OOM301": ("like_resident_memory_watched", "like_small_buffer")},
        {"OOM301": ("bad_after_batch",)},
    ),
    18: Family(
        "names that other libraries use too: model, predict, cache, shuffle",
        {
            "OOM301": ("like_torch_loader", "like_random_shuffle"),
            "OOM302": ("like_other_caches",),
            "OOM303": ("like_other_prefetch",),
            "OOM305": ("like_other_fit",),
            "OOM306": ("like_other_batch",),
            "OOM307": ("like_other_callables",),
            "OOM308": ("like_scikit_learn",),
            "OOM406": ("like_other_librarys_fit",),
            "OOM411": ("like_other_library",),
            "OOM505": ("like_data_parallel_of_torch", "like_own_function"),
        },
        {
            "OOM301": ("bad",),
            "OOM302": ("bad",),
            "OOM303": ("bad",),
            "OOM305": ("bad_predict",),
            "OOM306": ("bad",),
            "OOM307": ("bad",),
            "OOM308": ("bad",),
            "OOM406": ("bad_sklearn_search",),
            "OOM411": ("bad",),
            "OOM505": ("bad",),
        },
    ),
    19: Family(
        "random.shuffle, functools.cache, the shuffle of a table",
        {
            "OOM301": ("like_random_shuffle", "like_frame_shuffle"),
            "OOM302": ("like_functools_cache",),
        },
        {"OOM301": ("bad_volumes_list",), "OOM302": ("bad",)},
    ),
    20: Family(
        "np.load of a pickled object, and archives known to be tiny",
        {"OOM201": ("like_pickled_dict_item", "like_tiny_npz", "like_known_small")},
        {"OOM201": ("bad", "bad_npz_mapped")},
    ),
}


def _fixture(code: str, name: str) -> Fixture:
    (folder,) = FIXTURES.glob(f"{code}-*")
    return Fixture(folder / f"{name}.py")


def _cases(side: str) -> dict[str, list[object]]:
    found = [
        (number, _fixture(code, name))
        for number, family in FAMILIES.items()
        for code, names in getattr(family, side).items()
        for name in names
    ]
    return {"argvalues": found, "ids": [f"{number}-{fixture.id}" for number, fixture in found]}


def _findings(number: int, fixture: Fixture) -> list[Diagnostic]:
    """What all rules of the family say about the file, for the Keras that its header names."""
    document = fixture.document()
    codes = FAMILIES[number].codes
    return run_rules(
        rules_named(codes),
        document,
        settings=replace(settings(fixture.code, document.text), select=(*codes, "OOM001")),
        resolver=modules(fixture.path.parent),
    )


@pytest.mark.parametrize(("number", "fixture"), **_cases("silent"))
def test_what_only_looks_like_it_is_passed_over(number: int, fixture: Fixture):
    assert fixture.kind in ("like", "good")
    assert mismatches("", _findings(number, fixture)) == []


@pytest.mark.parametrize(("number", "fixture"), **_cases("firing"))
def test_the_true_alarm_beside_it_is_raised(number: int, fixture: Fixture):
    assert fixture.kind == "bad"
    text = fixture.document().text
    assert any(marked.code == fixture.code for marked in expectations(text))
    own = [found for found in _findings(number, fixture) if found.code == fixture.code]
    assert mismatches(text, own) == []


def test_each_silence_has_its_alarm():
    assert list(FAMILIES) == list(range(1, 21))
    for family in FAMILIES.values():
        assert family.firing.keys() == family.silent.keys(), family.reason

"""What the dry run knows of devices, strategies, what runs on replicas, and when imported modules run."""

from __future__ import annotations

import pytest

from oomlint.documents.python_file import document_from_text
from oomlint.dryrun import dry_run
from oomlint.dryrun.queries import gpu_setup, replicas
from oomlint.dryrun.trace import Trace
from oomlint.dryrun.values.base import Const, Opaque, tags_of
from oomlint.dryrun.values.devices import Device, DeviceList
from oomlint.dryrun.values.training import Model, Strategy
from oomlint.syntax.parse import parse
from oomlint.testing.harness import MemoryModules

HEADER = "import os\nimport tensorflow as tf\nfrom tensorflow import keras\n"


def run(text: str, **modules: str) -> Trace:
    resolver = MemoryModules(modules) if modules else None
    return dry_run(parse(document_from_text(HEADER + text, "script.py")), resolver)


def grown(text: str) -> list[Device]:
    calls = run("gpus = tf.config.list_physical_devices('GPU')\n" + text).calls(gpu_setup.GROWTH)
    found = [call.value("device") for call in calls]
    assert all(isinstance(device, Device) for device in found)
    return found  # type: ignore[return-value]


GROW = "tf.config.experimental.set_memory_growth"


class TestDevices:
    @pytest.mark.parametrize(
        "text",
        [
            f"for gpu in gpus: {GROW}(gpu, True)",
            f"for i in range(len(gpus)): {GROW}(gpus[i], True)",
            f"for i, gpu in enumerate(gpus): {GROW}(gpu, True)",
            f"[{GROW}(gpu, True) for gpu in gpus]",
            f"for gpu in gpus[0:]: {GROW}(gpu, True)",
        ],
    )
    def test_loops_over_all(self, text: str) -> None:
        (device,) = grown(text)
        assert device.each
        assert not device.of.partial

    def test_one_by_its_number(self) -> None:
        assert [device.index for device in grown(f"{GROW}(gpus[0], True)\n{GROW}(gpus[1], True)")] == [0, 1]
        assert [device.index for device in grown(f"a, b = gpus\n{GROW}(a, True)\n{GROW}(b, True)")] == [0, 1]
        assert [device.index for device in grown(f"{GROW}(gpus[1:][0], True)")] == [1]

    def test_a_part_of_them(self) -> None:
        (device,) = grown(f"for gpu in gpus[1:]: {GROW}(gpu, True)")
        assert (device.each, device.of.partial, device.of.first) == (True, True, 1)

    @pytest.mark.parametrize(
        ("test", "inside", "said"),
        [
            ("len(gpus) > 1", True, "several-gpus"),
            ("1 < len(gpus)", True, "several-gpus"),
            ("len(gpus) >= 2", True, "several-gpus"),
            ("len(gpus) == 1", True, "one-gpu"),
            ("len(gpus) > 0", True, None),
            ("gpus", True, None),
        ],
    )
    def test_tests_on_their_number(self, test: str, inside: bool, said: str | None) -> None:
        text = f"gpus = tf.config.list_physical_devices('GPU')\nif {test}:\n    {GROW}(gpus[0], True)"
        (call,) = run(text).calls(gpu_setup.GROWTH)
        (branch,) = [frame for frame in call.context.frames() if hasattr(frame, "test")]
        said_here = {tag for tag in tags_of(branch.test) if tag in ("several-gpus", "one-gpu")}
        assert said_here == ({said} if said else set())

    def test_kind(self) -> None:
        (call,) = run("cpus = tf.config.list_physical_devices(device_type='CPU')").calls(
            "tf.config.list_physical_devices"
        )
        assert call.result == DeviceList("CPU")


class TestSessions:
    @pytest.mark.parametrize(
        "text",
        [
            "c = tf.compat.v1.ConfigProto()\nc.gpu_options.allow_growth = True",
            "o = tf.compat.v1.GPUOptions(allow_growth=True)\nc = tf.compat.v1.ConfigProto(gpu_options=o)",
            "c = tf.compat.v1.ConfigProto(gpu_options=tf.compat.v1.GPUOptions(allow_growth=True))",
        ],
    )
    def test_the_options_that_a_session_gets(self, text: str) -> None:
        (call,) = run(text + "\ntf.compat.v1.Session(config=c)").calls("tf.Session")
        config = call.value("config")
        assert isinstance(config, Opaque)
        options = config.attributes["gpu_options"]
        assert isinstance(options, Opaque)
        assert options.attributes["allow_growth"] == Const(True)


class TestEnvironment:
    @pytest.mark.parametrize(
        "text",
        [
            "os.environ['A'] = '1'",
            "os.environ.setdefault('A', '1')",
            "os.environ.update(A='1')",
            "os.environ.update({'A': '1', 'B': '2'})",
            "os.putenv('A', '1')",
            "from os import environ as env\nenv['A'] = str(1)",
            "key = 'A'\nos.environ[key] = f'{1}'",
        ],
    )
    def test_writes(self, text: str) -> None:
        assert [value for _, value in gpu_setup.environment(run(text), "A")] == [Const("1")]

    def test_reads_are_none(self) -> None:
        assert list(gpu_setup.environment(run("os.environ.get('A', '1')\nx = os.environ['A']"), "A")) == []


class TestStrategies:
    @pytest.mark.parametrize(
        ("made", "several"),
        [
            ("tf.distribute.MirroredStrategy()", True),
            ("tf.distribute.MirroredStrategy(['/gpu:0', '/gpu:1'])", True),
            ("tf.distribute.MirroredStrategy(devices=['/gpu:0'])", False),
            ("tf.distribute.experimental.MultiWorkerMirroredStrategy()", True),
            ("tf.distribute.OneDeviceStrategy('/gpu:0')", False),
            ("tf.distribute.get_strategy()", False),
            ("tf.distribute.MirroredStrategy() if flag else tf.distribute.get_strategy()", False),
        ],
    )
    def test_which_replicate(self, made: str, several: bool) -> None:
        (scope,) = run(f"s = {made}\nwith s.scope():\n    pass").calls("tf.distribute.Strategy.scope")
        assert replicas.replicates(scope.receiver) is several

    @pytest.mark.parametrize(
        ("number", "tags"),
        [
            ("64 * s.num_replicas_in_sync", {"replicas", "times-replicas"}),
            ("s.num_replicas_in_sync * 64", {"replicas", "times-replicas"}),
            ("512 // s.num_replicas_in_sync", {"replicas", "per-replica"}),
            ("s.num_replicas_in_sync + 1", {"replicas"}),
        ],
    )
    def test_numbers_of_replicas_leave_a_trace(self, number: str, tags: set[str]) -> None:
        trace = run(f"s = tf.distribute.MirroredStrategy()\nn = {number}\nprobe(n)")
        (call,) = trace.calls("unresolved")
        assert tags_of(call.arguments[0].value) == tags

    def test_known_numbers_of_replicas_are_computed(self) -> None:
        trace = run("s = tf.distribute.MirroredStrategy(['a', 'b', 'c'])\nprobe(64 * s.num_replicas_in_sync)")
        value = trace.calls("unresolved")[0].arguments[0].value
        assert value == Const(192)
        assert [step.text for step in value.trail] == ["times num_replicas_in_sync"]

    def test_models_know_the_scope_they_are_made_in(self) -> None:
        trace = run(
            "s = tf.distribute.MirroredStrategy()\n"
            "def build():\n    return keras.Sequential([keras.layers.Dense(1)])\n"
            "a = build()\n"
            "with s.scope():\n    b = build()\n"
        )
        models = [call.result for call in trace.calls("keras.Sequential")]
        assert [isinstance(model, Model) for model in models] == [True, True]
        made = [replicas.of_scope(model.context) for model in models if isinstance(model, Model)]
        assert made[0] is None
        assert isinstance(made[1], Strategy)

    def test_run_enters_the_step_with_shares(self) -> None:
        trace = run(
            "s = tf.distribute.MirroredStrategy()\n"
            "ds = tf.data.Dataset.range(8).batch(4)\n"
            "def step(x):\n    probe(x)\n"
            "for x in s.experimental_distribute_dataset(ds):\n    s.run(step, args=(x,))\n"
            "for x in ds:\n    s.run(step, kwargs={'x': x})\n"
        )
        shared, plain = trace.calls("unresolved")
        assert isinstance(replicas.on_replicas(shared.context), Strategy)
        assert "distributed" in tags_of(shared.arguments[0].value)
        assert "distributed" not in tags_of(plain.arguments[0].value)


class TestOrder:
    def test_a_module_runs_where_it_is_imported(self) -> None:
        trace = run(
            "import anchors\ntf.config.set_soft_device_placement(True)\nprint(anchors.BOXES)",
            anchors="import tensorflow as tf\nBOXES = tf.constant([1])\n",
        )
        (constant,), (placement,) = (
            trace.calls("tf.constant"),
            trace.calls("tf.config.set_soft_device_placement"),
        )
        assert trace.position(constant) < trace.position(placement)

    def test_a_container_never_holds_itself(self) -> None:
        trace = run(
            "x = []\nx.append(x)\nd = {}\nd['x'] = x\nx.append(d)\ntf.data.Dataset.from_tensor_slices(x)"
        )
        assert len(trace.calls("tf.data.Dataset.from_tensor_slices")) == 1

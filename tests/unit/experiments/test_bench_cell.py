# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a cell keeps, and of which time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from experiments.common import provenance
from experiments.common.cells import cell as cells
from experiments.common.cells import stage as stages
from experiments.common.cells import store
from experiments.common.cells.order import Cluster, Order
from experiments.common.cells.sampling import Reference
from experiments.common.workloads import WORKLOADS
from experiments.common.workloads.endless import Endless
from lab.errors import LabError
from lab.progress import Progress
from lab.state import LabState

SPAN = (100.0, 110.0)


class Lines:
    """In place of what samples: a line at second 90, and one at 105."""

    def __init__(self, *_: object, **__: object) -> None:
        line = {"units": 7, "cpu": 0.05, "subtrees": {"/": 0}, "used": {}}
        self.lines: list[dict[str, Any]] = [{"t": t, **line} for t in (90.0, 105.0)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("CpuSampling", "Sampling", "Reference"):
        monkeypatch.setattr(cells, name, Lines)
    state = SimpleNamespace(mds_cpu_own={"mds.a": 8})
    return SimpleNamespace(
        lab=SimpleNamespace(state=state, sandbox=None, set_mds_cpu=lambda percent: None),
        cluster=Cluster(Endless(WORKLOADS["zipf"]), "tentacle", 5, 12),
        progress=Progress(),
        setting=None,
        paths={},
        capacity=1000.0,
        seconds={},
        export_targets=lambda: {"0": [1], "1": []},
        forget_visits=lambda: None,
        limit=lambda: None,
        reset=lambda pins: 1.0,
    )


def run(stage: Any, *, settled: float) -> dict[str, Any]:
    def phases(_: Any, lines: list[Any]) -> dict[str, tuple[float, float]]:
        for t in (90.0, 105.0):
            lines.append({"client": "c", "t": t, "ops": 3, "errors": 0, "latency_ms": {"all": {"p95": 1.0}}})
            lines[-1]["histogram"] = {"7": 2, "9": 1}
        lines.append({"client": "c", "began": 80.0, "ended": None, "done": {}})
        return {"run": SPAN}

    return cells.measure(stage, Order(stage.cluster, "none", 1, 10.0, settled), phases)


def times(lines: Sequence[Any]) -> list[float]:
    return [line["t"] for line in lines]


def test_a_cell_says_what_made_it_and_how_fast_the_machine_was(stage: Any) -> None:
    found = run(stage, settled=0.0)
    assert found["digests"] == {part: provenance.digest(part) for part in ("workload", "balancers")}
    assert found["version"] == provenance.version()
    assert provenance.measured_at(found) is None
    assert found["reference"] == [[90.0, 7, 0.05], [105.0, 7, 0.05]]
    assert found["mds_cpu_own"] == {"mds.a": 8} and found["cpus"] >= 1
    assert times(found["samples"]) == times(found["cpu"]) == [90.0, 105.0]
    assert found["histogram"] == {"7": 4, "9": 2}
    assert found["export_targets_at_start"] == {"0": [1], "1": []}
    assert found["decisions"] is None, "nobody decides"


def test_what_was_before_the_clock_is_no_part_of_a_settled_cell(stage: Any) -> None:
    found = run(stage, settled=300.0)
    assert found["settled"] == 300.0
    assert times(found["samples"]) == times(found["cpu"]) == [105.0]
    assert found["samples"][0]["subtrees"] == {"/": 0}, "the first map is whole"
    assert found["reference"] == [[105.0, 7, 0.05]]
    assert found["histogram"] == {"7": 2, "9": 1}


@pytest.mark.parametrize(("settled", "earliest"), [(0.0, 80.0), (0.1, 100.0)])
def test_a_run_begins_with_its_first_client_or_when_it_is_settled(
    monkeypatch: pytest.MonkeyPatch, settled: float, earliest: float
) -> None:
    @contextmanager
    def clients(load: Any, on_line: Any) -> Iterator[Any]:
        for began in (85.0, 80.0):
            on_line({"client": f"c{began}", "began": began, "ended": None, "done": {}})
        yield SimpleNamespace(running=False, stop=lambda: None)

    monkeypatch.setattr(cells, "until_working", lambda lines, first: None)
    monkeypatch.setattr(cells.time, "time", lambda: 100.0)
    workload = SimpleNamespace(load=lambda phase, paths, tag: SimpleNamespace(first=True))
    order = SimpleNamespace(
        cluster=SimpleNamespace(workload=workload),
        balancer="none",
        run=1,
        settled=settled,
        key="k",
        limit=1.0,
    )
    stage = SimpleNamespace(lab=SimpleNamespace(clients=clients), paths={}, progress=Progress())
    lines: list[Any] = []
    assert cells.run_phase(stage, order, "run", lines) == (earliest, 100.0)
    assert len(lines) == 2


def test_clients_that_worked_before_do_not_hide_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"client": f"c{k}", "ops": 3} for k in range(3)]
    asked: list[bool] = []

    def until(working: Callable[[], bool], *_: object) -> None:
        asked.append(working())
        lines.append({"client": "c3", "ops": 0})
        asked.append(working())
        lines.append({"client": "c3", "ops": 1})
        asked.append(working())

    monkeypatch.setattr(stages, "until", until)
    stages.until_working(lines, {"c3"})
    assert asked == [False, False, True]


def test_without_cgroups_there_is_no_reference_load() -> None:
    with pytest.raises(LabError, match="'x' runs without cgroups"):
        Reference(LabState(name="x", release="tentacle"))


def test_a_cell_of_an_earlier_name_is_read_by_todays(tmp_path: Path) -> None:
    for name in ("line", "line-mask", "oracle"):
        store.save(tmp_path, {"key": f"web-tentacle-5x12-{name}-1", "balancer": name})
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("subvolume-pinning", "subvolume-pinning-mask", "oracle"):
        key = f"web-tentacle-5x12-{name}-1"
        assert store.path_of(tmp_path, key).exists()
        assert store.load(tmp_path, key) == {"key": key, "balancer": name}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert store.path_of(tmp_path, "web-tentacle-5x12-subvolume-pinning-2").name.endswith(
        "-pinning-2.json.gz"
    )

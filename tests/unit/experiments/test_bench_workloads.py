# SPDX-License-Identifier: LGPL-2.1-or-later
"""Workloads, the oracle's pins, and which cells are measured."""

import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.common.balancers import oracle
from experiments.common.cells import runner, store
from experiments.common.cells.cell import ResetError, compact
from experiments.common.cells.order import PROTOCOL, Cluster, Order
from experiments.common.workloads import MATRIX, WORKLOADS, accesslog, dbench
from experiments.common.workloads.endless import Endless
from experiments.common.workloads.private import EIGHTY_TWENTY
from experiments.matrix.__main__ import _arguments, _orders
from lab.clients import loadfile, weblog
from lab.errors import LabError

LINES = ["# head\n", 'Mkdir "\\A" NT_STATUS_OK\n', "ReadX 1 0 5 5 NT_STATUS_OK\n", "Close 1 NT_STATUS_OK\n"]


@pytest.fixture(autouse=True)
def load_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dbench's file is fetched from Debian; here is a short one of its format."""
    path = tmp_path / "client.txt"
    path.write_text("".join(LINES * 10))
    monkeypatch.setattr(dbench, "fetched", lambda: path)
    dbench.beginning.cache_clear()


def paths_of(name: str) -> dict[str, str]:
    return {sub: f"/volumes/_nogroup/{sub}/uuid-{sub}" for sub in WORKLOADS[name].subvolumes}


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_a_workload_has_its_clients_and_tells_the_oracle_about_them(name: str) -> None:
    workload, paths = WORKLOADS[name], paths_of(name)
    for phase in workload.phases:
        load = workload.load(phase, paths, "cell-1")
        assert len(load.clients) >= 8
        assert {client.path for client in load.clients} <= set(paths.values())
        replayed = {client.source for client in load.clients if client.source}
        assert replayed <= set(workload.inputs())
        if phase == "run":
            asked = [client for client in load.clients if client.job != "programs"]  # those cache as they do
            assert all(client.cached <= max(10, 0.03 * client.used_files) for client in asked)
            assert all(client.job != "mix" or client.operations for client in load.clients)
    demand = workload.demand(paths)
    assert min(demand.values()) > 0
    assert all(any(home.startswith(path.rpartition("/")[0]) for path in paths.values()) for home in demand)


def test_cells_that_make_files_make_them_apart() -> None:
    for name in ("md", "dbench", "churn", "programs"):
        one, two = (WORKLOADS[name].load("run", paths_of(name), tag) for tag in ("lunule-1", "lunule-2"))
        assert {c.home for c in one.clients}.isdisjoint(c.home for c in two.clients)


def test_the_mix_has_four_groups_of_the_same_size() -> None:
    load = WORKLOADS["mix"].load("run", paths_of("mix"), "t")
    groups = Counter(client.name.rstrip("0123456789") for client in load.clients)
    assert groups == {"cnn": 3, "nlp": 3, "web": 3, "zipf": 3}


def test_eighty_percent_of_the_draws_are_of_twenty_percent_of_the_files() -> None:
    weights = [rank**-EIGHTY_TWENTY for rank in range(1, 10_001)]
    assert sum(weights[:2000]) / sum(weights) == pytest.approx(0.8, abs=0.01)


def test_the_log_is_the_same_each_time_and_follows_zipf() -> None:
    lines = list(accesslog.lines(2000, 20_000, 0.8, seed=1))
    assert lines == list(accesslog.lines(2000, 20_000, 0.8, seed=1))
    assert lines != list(accesslog.lines(2000, 20_000, 0.8, seed=2))
    requests = list(weblog.requests(lines))
    assert len(requests) == 20_000
    assert sum(not r.found for r in requests) / 20_000 == pytest.approx(0.02, abs=0.005)
    counts = sorted(Counter(r.path for r in requests if r.found).values(), reverse=True)
    assert sum(counts[: len(counts) // 5]) > 0.6 * sum(counts)
    assert all(r.path.startswith("/") and not r.path.endswith("/") for r in requests)


def test_the_beginning_of_a_load_file_has_so_many_metadata_operations() -> None:
    text = dbench.beginning(5)
    assert len(list(loadfile.operations(text.splitlines()))) == 5


def fullest(demand: Mapping[str, float], pins: Mapping[str, int], ranks: int) -> float:
    """The fullest rank's operations over the mean: 1 is perfect. What no pin covers is on rank 0."""
    loads = [0.0] * ranks
    for path, operations in demand.items():
        above = [path, *(str(parent) for parent in PurePosixPath(path).parents)]
        loads[next((pins[place] for place in above if place in pins), 0)] += operations
    return max(loads) * ranks / sum(loads)


@given(st.dictionaries(st.integers(0, 30), st.floats(1, 100), min_size=1), st.integers(1, 8))
def test_the_oracle_is_within_grahams_bound_and_covers_everything(flat: dict[int, float], ranks: int) -> None:
    demand = {f"/v/g/d{number}": weight for number, weight in flat.items()}
    pins = oracle.spread(demand, ranks)
    assert set(pins.values()) <= set(range(ranks))
    mean, heaviest = sum(demand.values()) / ranks, max(demand.values())
    bound = max(1.02, (4 / 3) * max(1.0, heaviest / mean, (mean + heaviest) / mean * 0.75))
    assert fullest(demand, pins, ranks) <= bound + 1e-9


def test_the_oracle_takes_a_directory_apart_only_if_it_must() -> None:
    light = {f"/v/{name}/{k}": 1.0 for name in "abcd" for k in range(3)}
    assert set(oracle.spread(light, 2)) == {"/v/a", "/v/b", "/v/c", "/v/d"}
    assert fullest(light, oracle.spread(light, 2), 2) == 1.0
    heavy = {"/v/a": 2.0, "/v/a/x": 4.0, "/v/a/y": 2.0, "/v/b": 1.0, "/v/c": 1.0, "/v/d": 2.0}
    pins = oracle.spread(heavy, 3)
    assert fullest(heavy, pins, 3) == 1.0
    assert {"/v/a/x", "/v/a/y"} <= set(pins)


def test_the_oracle_has_the_parents_of_pinned_directories_on_the_highest_rank() -> None:
    flat = {f"/v/{k}": 1.0 for k in range(10)}
    pins = oracle.spread(flat, 5)
    assert pins.pop("/v") == 4
    assert sorted(pins.values()) == sorted([*range(5), *range(5)])


def test_the_oracle_keeps_what_it_takes_apart_on_the_highest_rank() -> None:
    demand = {"/v/w": 3.0} | {f"/v/w/{k}": 2.0 for k in range(6)}
    pins = oracle.spread(demand, 3)
    assert pins["/v/w"] == pins["/v"] == 2
    assert sorted(pins[f"/v/w/{k}"] for k in range(6)) == [0, 0, 0, 1, 1, 2]


def test_the_oracle_knows_what_ranks_can_do() -> None:
    flat = {f"/v/{k}": 1.0 for k in range(12)}
    pins = oracle.spread(flat, 4, (2 / 3, 2 / 3, 4 / 3, 4 / 3))
    del pins["/v"]
    assert Counter(pins.values()) == {0: 2, 1: 2, 2: 4, 3: 4}


def test_each_turn_of_the_jumps_is_even_under_the_oracle() -> None:
    workload, paths = WORKLOADS["jumps"], paths_of("jumps")
    pins = oracle.spread(workload.demand(paths), 5)
    clients = workload.load("run", paths, "").clients
    assert len(workload.load("run", paths, "").first) == 5
    for turn in range(5):
        hot = [client.path.rpartition("/")[0] for client in clients if client.turn == turn]
        assert sorted(pins[path] for path in hot) == [0, 1, 2, 3, 4]


def test_line_keeps_the_proportions_of_its_slides() -> None:
    workload, paths = WORKLOADS["line"], paths_of("line")
    clients = workload.load("run", paths, "").clients
    kinds = [client.name.rstrip("0123456789") for client in clients]
    files = {kind: client.dirs * client.files for kind, client in zip(kinds, clients, strict=True)}
    assert Counter(kinds) == {"light": 20, "moderate": 20, "heavy": 2}
    assert files == {"light": 50_000 // 250, "moderate": 500_000 // 250, "heavy": 5_000_000 // 250}
    assert sum(client.workers for client in clients) == 20 + 20 + 2 * 16
    writers = [kind for kind, client in zip(kinds, clients, strict=True) if "create" in client.mix]
    assert Counter(writers) == {"light": 10, "moderate": 10, "heavy": 1}


def test_the_oracle_takes_lines_heavy_subvolumes_apart() -> None:
    demand = WORKLOADS["line"].demand(paths_of("line"))
    assert fullest(demand, oracle.spread(demand, 8), 8) <= 1.02


@pytest.mark.parametrize(
    ("name", "at_work"),
    [
        ("leaving", {0: {"stay", "leave"}, 149: {"stay", "leave"}, 151: {"stay"}, 299: {"stay"}}),
        ("flash", {0: {"reader"}, 99: {"reader"}, 101: {"reader", "crowd"}, 201: {"reader"}}),
        ("cycle", {0: {"always"}, 81: {"always", "cycle"}, 121: {"always"}, 201: {"always", "cycle"}}),
    ],
)
def test_a_load_that_moves_does_so_at_its_time_and_as_after_five_minutes_before(
    name: str, at_work: dict[float, set[str]]
) -> None:
    clients = WORKLOADS[name].load("run", paths_of(name), "").clients
    for elapsed, kinds in at_work.items():
        working = {client.name.rstrip("0123456789") for client in clients if not client.pause(elapsed)}
        assert working == kinds
    period = max(client.turns * client.turn_seconds for client in clients if client.turns > 1)
    assert name == "cycle" or period == 300


@pytest.mark.parametrize("name", ["leaving", "flash", "cycle"])
def test_a_rank_is_filled_by_all_clients_of_a_load_that_moves(name: str) -> None:
    load = Endless(WORKLOADS[name]).calibration(paths_of(name))
    names = {client.name for client in WORKLOADS[name].load("run", paths_of(name), "").clients}
    assert load.first == names
    assert all(client.repeat and client.operations is None for client in load.clients)


@pytest.mark.parametrize("name", ["leaving", "cycle"])
def test_each_part_of_a_load_that_moves_is_even_under_the_oracle(name: str) -> None:
    workload, paths = WORKLOADS[name], paths_of(name)
    pins = oracle.spread(workload.demand(paths), 5)
    ranks: dict[int, list[int]] = {}
    for client in workload.load("run", paths, "").clients:
        ranks.setdefault(client.turns, []).append(pins[client.path.rpartition("/")[0]])
    assert len(ranks) == 2
    for group in ranks.values():
        assert len(set(Counter(group).values())) == 1 and set(group) == set(range(5))


def test_the_crowd_has_a_rank_to_itself_under_the_oracle() -> None:
    workload, paths = WORKLOADS["flash"], paths_of("flash")
    pins = oracle.spread(workload.demand(paths), 5)
    crowd = pins[paths["crowd"].rpartition("/")[0]]
    others = Counter(pins[path.rpartition("/")[0]] for name, path in paths.items() if name != "crowd")
    assert crowd not in others and sorted(others.values()) == [2, 2, 3, 3]


def test_web_tells_the_oracle_of_the_names_on_the_way_to_a_file() -> None:
    demand = WORKLOADS["web"].demand(paths_of("web"))
    root = paths_of("web")["web"]
    assert demand[root] == max(demand.values()) == 120_000, "every request passes through it"


def orders(tmp_path: Path, *extra: str) -> list[Order]:
    return _orders(_arguments(["--out", str(tmp_path), "--report-only", *extra]))


def test_the_matrix_has_the_first_run_of_everything_first_and_old_keys_stay(tmp_path: Path) -> None:
    found = orders(tmp_path)
    assert len({order.key for order in found}) == len(found) == 7 * 8 * 3
    assert {order.cluster.workload.name for order in found[:56]} == set(MATRIX)
    assert {order.run for order in found[:56]} == {1}
    assert {order.cluster.hook for order in found if order.balancer == "lunule-mindex"} == {True}
    cnn = [(o.run, o.balancer) for o in found if o.cluster.workload.name == "cnn" and not o.cluster.hook]
    assert cnn[:2] == [(1, "none"), (1, "builtin")]
    assert cnn[7:9] == [(2, "builtin"), (2, "greedyspill")], "the next one is first in the next block"
    (old,) = orders(
        tmp_path, "--workloads", "create-reread", "--balancers", "builtin", "--runs", "1",
        "--ranks", "4", "--mds-cpu", "15",
    )  # fmt: skip
    assert old.key == "create-reread-tentacle-4x15-builtin-1"
    assert (Path("docs/results/policies") / f"{old.key}.json.gz").exists()


class FakeStage:
    """Counts clusters; measuring fails as it is told to."""

    built: ClassVar[list[Cluster]] = []

    def __init__(self, cluster: Cluster, *, analyze: bool, progress: Any) -> None:
        self.built.append(cluster)

    def __enter__(self) -> "FakeStage":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []

    def measure(stage: Any, order: Order) -> dict[str, Any]:
        done.append(order.key)
        if order.balancer == "greedyspill":
            raise LabError("the clients do not get going")
        cell = {"key": order.key, "limit": order.limit, "settled": order.settled, "protocol": PROTOCOL}
        if order.balancer == "dir-hash":
            raise ResetError(cell, LabError("not back on rank 0"))
        return cell

    FakeStage.built = []
    monkeypatch.setattr(runner, "Stage", FakeStage)
    monkeypatch.setattr(runner, "measure", measure)
    return done


def test_cells_share_a_cluster_until_one_fails_and_finished_ones_are_kept(
    tmp_path: Path, measured: list[str]
) -> None:
    chosen = ("builtin", "greedyspill", "dir-hash", "oracle")
    todo = orders(tmp_path, "--workloads", "cnn", "--runs", "1", "--balancers", *chosen)
    failures = runner.run(todo, tmp_path)
    assert len(failures) == 1 and "greedyspill" in failures[0]
    assert len(FakeStage.built) == 3
    assert [store.path_of(tmp_path, order.key).exists() for order in todo] == [True, False, True, True]
    measured.clear()
    runner.run(todo, tmp_path)
    assert measured == ["cnn-tentacle-5x12-greedyspill-1"]


CLUSTER = Cluster(Endless(WORKLOADS["zipf"]), "tentacle", 5, 12)
TWO = [Order(CLUSTER, "builtin", run, 300.0, 300.0) for run in (1, 2)]
KEPT = {"key": TWO[0].key, "limit": 300.0, "settled": 300.0, "protocol": PROTOCOL}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"limit": 30.0}, "limit 30.0, not 300.0"),
        ({"limit": 30.0, "settled": 30.0}, "limit 30.0, not 300.0, settled 30.0, not 300.0"),
        ({"protocol": 2}, f"protocol 2, not {PROTOCOL}"),
        ({"limit": None}, "limit None, not 300.0"),
    ],
)
def test_a_cell_of_another_length_or_protocol_is_not_gone_on_with(
    tmp_path: Path, measured: list[str], other: dict[str, Any], said: str
) -> None:
    store.save(tmp_path, KEPT | other)
    with pytest.raises(LabError, match=f"{TWO[0].key}.json.gz is of {said}: give another --out"):
        runner.run(TWO, tmp_path)
    assert not measured
    store.save(tmp_path, KEPT)
    assert runner.run(TWO, tmp_path) == [] and measured == [TWO[1].key]


def test_cells_of_another_protocol_are_shown_and_those_of_another_length_are_not(tmp_path: Path) -> None:
    store.save(tmp_path, KEPT | {"protocol": 2})
    assert runner.run(TWO[:1], tmp_path) == [], "nothing is measured beside it"
    assert store.load_of(tmp_path, TWO[0])["protocol"] == 2
    store.save(tmp_path, KEPT | {"limit": 30.0})
    with pytest.raises(LabError, match=r"is of limit 30.0, not 300.0: give another --out"):
        store.load_of(tmp_path, TWO[0])
    cold = Order(CLUSTER, "builtin", 1, 300.0)
    store.save(tmp_path, {"key": cold.key})
    assert store.load_of(tmp_path, cold) == {"key": cold.key}, "older ones do not tell their length"


def test_what_is_not_comparable_is_told() -> None:
    assert store.mixed([KEPT, KEPT]) == ""
    told = store.mixed([KEPT, {}, KEPT | {"limit": 30.0, "protocol": 2}])
    assert told.startswith("Not comparable: the cells are of several limits, settled times, protocols (")


def test_a_workload_that_changes_its_data_gets_a_cluster_for_every_cell(
    tmp_path: Path, measured: list[str]
) -> None:
    todo = orders(
        tmp_path, "--workloads", "create-reread", "--runs", "2", "--balancers", "none", "lunule"
    )  # fmt: skip
    assert runner.run(todo, tmp_path) == []
    assert len(FakeStage.built) == len(measured) == 4


def test_the_clock_of_an_older_cell_begins_with_its_first_client(tmp_path: Path) -> None:
    older = {"key": "k", "spans": {"run": [20.0, 300.0]}, "done": {"a": [4.22, None], "b": [6.0, None]}}
    store.save(tmp_path, older)
    assert store.load(tmp_path, "k")["spans"] == {"run": [4.22, 300.0]}
    for other in ({"settled": 300.0}, {"spans": {"grow": [20.0, 60.0], "run": [60.0, 300.0]}}):
        store.save(tmp_path, older | other)
        assert store.load(tmp_path, "k") == older | other


def test_a_cell_is_written_whole(tmp_path: Path) -> None:
    store.save(tmp_path, {"key": "k", "x": [1, 2]})
    assert store.load(tmp_path, "k") == {"key": "k", "x": [1, 2]}
    first = store.path_of(tmp_path, "k").read_bytes()
    store.save(tmp_path, {"key": "k", "x": [1, 2]})
    assert store.path_of(tmp_path, "k").read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["client.txt", "k.json.gz"]


def test_a_map_of_subtrees_is_kept_where_it_changed() -> None:
    maps = [{"/": 0}, None, {"/": 0}, {"/": 0, "/a": 1}, None, {"/": 0}]
    kept = compact([{"t": t, "subtrees": m} for t, m in zip(itertools.count(), maps, strict=False)])
    assert [s["subtrees"] for s in kept] == [{"/": 0}, None, None, {"/": 0, "/a": 1}, None, {"/": 0}]

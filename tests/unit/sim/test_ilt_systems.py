# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ILT paper's three systems, request by request."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
import simpy

from sim.papers.ilt.cluster import Cluster
from sim.papers.ilt.hashed import Placement
from sim.papers.ilt.lazy_hybrid import LazyHybrid
from sim.papers.ilt.namespace import Namespace, grown
from sim.papers.ilt.parameters import Costs, Design, Load, Setting
from sim.papers.ilt.run import SYSTEMS, play
from sim.papers.ilt.server import Server, Work
from sim.papers.ilt.vesta import Vesta
from sim.papers.ilt.workload import Kind, Request, requests

SHORT = Setting(load=Load(duration=1_500.0, files=800, directories=40, renames_of_writes=0.1))


def cluster(setting: Setting) -> Cluster:
    rng = np.random.default_rng(setting.seed)
    return Cluster(simpy.Environment(), setting, grown(setting.load.directories, setting.load.files, rng))


def test_a_server_is_an_m_m_1_queue() -> None:
    env, rng = simpy.Environment(), Random(3)
    server, sojourns = Server(env), []
    arrivals, served = 0.8, 1.0

    def job() -> Work:
        came = env.now
        yield from server.serve(rng.expovariate(served))
        sojourns.append(env.now - came)

    def source() -> Work:
        for _ in range(60_000):
            yield env.timeout(rng.expovariate(arrivals))
            env.process(job())

    env.process(source())
    env.run()
    # 1 / (C - lambda) = 5 in the server, rho^2 / (1 - rho) = 3.2 waiting.
    assert np.mean(sojourns) == pytest.approx(5.0, rel=0.08)
    assert server.waited() / env.now == pytest.approx(3.2, rel=0.1)


def test_a_slow_server_takes_longer() -> None:
    env = simpy.Environment()
    env.process(Server(env, speed=0.25).serve(2.0))
    env.run()
    assert env.now == 8.0


def test_a_rename_changes_the_paths_of_all_below_and_of_nothing_else() -> None:
    # 0 / 1 / 2, and 3 beside 1.
    tree = Namespace([0, 0, 1, 0], [0, 1, 2, 3])
    before = [tree.file_hash(file) for file in range(4)]
    assert sorted(tree.rename(1)) == [1, 2]
    changed = [tree.file_hash(file) != old for file, old in enumerate(before)]
    assert changed == [False, True, True, False]
    with pytest.raises(ValueError, match="root"):
        tree.rename(0)


def test_nine_of_ten_requests_read_and_the_rate_is_kept() -> None:
    load = Load(duration=20_000.0)
    trace = requests(load, cluster(Setting(load=load)).namespace, np.random.default_rng(1))
    assert len(trace) == pytest.approx(load.rate * load.duration, rel=0.15)
    assert sum(request.kind is Kind.READ for request in trace) / len(trace) == pytest.approx(0.9, abs=0.01)
    assert all(a.at <= b.at for a, b in pairwise(trace))


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_request_is_answered_and_a_seed_says_all(system: str) -> None:
    first, again = play(system, SHORT), play(system, SHORT)
    assert not np.isnan(first.responses).any()
    assert first.responses.tobytes() == again.responses.tobytes()
    assert first.waiting.tobytes() == again.waiting.tobytes()
    other = play(system, replace(SHORT, seed=2))
    assert first.responses.tobytes() != other.responses.tobytes()


def test_without_load_a_read_takes_what_table_1_says() -> None:
    costs = Costs()
    load = Load(rate=0.02, reads=1.0, burst_share=0.0, duration=200_000.0, files=800, directories=40)
    setting = Setting(load=load, design=Design(access_time_updates=0.0))
    expected = costs.search + (1 - costs.hit_ratio) * costs.disk + costs.network
    for system in SYSTEMS:
        assert play(system, setting).responses.mean() == pytest.approx(expected, rel=0.05)


def test_a_replicated_write_is_done_by_every_server_a_hashed_one_by_one() -> None:
    load = replace(SHORT.load, reads=0.0, creates_of_writes=0.0, renames_of_writes=0.0, burst_share=0.0)
    setting = Setting(load=replace(load, rate=0.4))
    # The last of eight exponential searches takes sum(1/k) = 2.72 times the mean of one.
    replicated, hashed = play("ILT", setting).responses.mean(), play("Vesta", setting).responses.mean()
    assert replicated > hashed + 1.5 * Costs().search


def run(placed: Cluster, *work: Work) -> None:
    for each in work:
        placed.env.process(each)
    placed.env.run()


def is_whole(placed: Cluster, placement: Placement) -> bool:
    """Whether every file is on one server, the one that is known to have it."""
    held = [file for server in placed.servers for file in server.held]
    return sorted(held) == list(range(placed.namespace.files)) and all(
        file in placed.servers[placement.where(file)].held for file in held
    )


def test_lazily_moved_metadata_moves_when_it_is_asked_for_and_is_never_lost() -> None:
    placed = cluster(SHORT)
    system = LazyHybrid(placed)
    tree, placement = placed.namespace, system.placement
    files = range(tree.files)
    run(placed, system.handle(Request(0.0, Kind.RENAME, 1)))
    away = {file for file in files if placement.where(file) != placement.home(file)}
    assert away and away <= set(tree.below(1))
    assert placed.counts.metadata_moved == 0
    asked = sorted(away)[::2]
    # Three ask for each at once, while the directory is renamed again.
    calls = [Request(0.0, Kind.READ, file) for file in asked for _ in range(3)]
    run(placed, *map(system.handle, calls), system.handle(Request(0.0, Kind.RENAME, 1)))
    assert placed.counts.forwards >= len(asked)
    assert is_whole(placed, placement)
    run(placed, *(system.handle(Request(0.0, Kind.WRITE, file)) for file in files))
    assert is_whole(placed, placement)
    assert all(placement.where(file) == placement.home(file) for file in files)


def test_requests_that_wait_at_the_holder_while_the_metadata_leaves_are_sent_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    placed = cluster(replace(SHORT, design=Design(commit=5.0)))
    system = LazyHybrid(placed)
    run(placed, system.handle(Request(0.0, Kind.RENAME, 1)))
    below = placed.namespace.below(1)
    file = next(file for file in below if system.placement.where(file) != system.placement.home(file))
    update, updates = placed.times.update, []
    monkeypatch.setattr(placed.times, "update", lambda: updates.append(update()) or updates[-1])
    # All ten are at the holder long before the first is done there, and then it has the file no more: the
    # others must write where it has gone.
    run(placed, *(system.handle(Request(0.0, Kind.WRITE, file)) for _ in range(10)))
    assert len(updates) == 19
    assert is_whole(placed, system.placement)


def test_moved_at_once_metadata_is_where_its_hash_says_when_the_rename_is_done() -> None:
    placed = cluster(SHORT)
    system = Vesta(placed)
    placement = system.placement
    # Two renames that cross, one of what the other moves; and a server is added meanwhile.
    run(
        placed,
        system.handle(Request(0.0, Kind.RENAME, 1)),
        system.handle(Request(0.0, Kind.RENAME, 1)),
        system.add_server(),
    )
    assert is_whole(placed, placement)
    assert all(placement.where(file) == placement.home(file) for file in range(placed.namespace.files))
    assert placed.counts.metadata_moved >= placed.namespace.files * 7 // 9


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_added_server_gets_its_part(system: str) -> None:
    load = replace(SHORT.load, duration=6_000.0, renames_of_writes=0.0)
    outcome = play(system, replace(SHORT, load=load, design=Design(server_added_at=500.0)))
    assert outcome.waiting.shape[0] == 9
    assert outcome.waiting[8, -20:].sum() > 0
    assert outcome.added_for is not None

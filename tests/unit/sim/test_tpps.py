# SPDX-License-Identifier: LGPL-2.1-or-later
"""The model of the paper's cluster: load, placement, the strategy, whole windows."""

from dataclasses import replace

import numpy as np
import pytest

from sim.papers.tpps.caches import PrefetchedOnly, TwoQueues, lru
from sim.papers.tpps.layer import served, with_layer, without_layer
from sim.papers.tpps.load import Second, hot_spots, seconds
from sim.papers.tpps.placement import by_hash, by_subtree
from sim.papers.tpps.setting import Setting
from sim.papers.tpps.strategy import Period, algorithm_1, algorithm_2
from sim.papers.tpps.systems import SYSTEMS, trace

SHORT = Setting(window_s=120, sampled=50)


def even(files: int = 1_000) -> Second:
    return Second(np.zeros(0, dtype=np.int64), np.zeros(0), 1.0)


def crowd(file: int) -> Second:
    return Second(np.array([file]), np.array([0.8]), 0.2)


# load and placement


def test_shares_are_of_all_requests():
    for second in seconds(SHORT, hot_spots(SHORT, np.random.default_rng(0))):
        assert second.shares.sum() + second.rest == pytest.approx(1.0)
        assert len(set(second.files)) == len(second.files)


def test_every_kind_of_hot_spot_is_there_and_only_in_its_time():
    setting = Setting()
    spots = hot_spots(setting, np.random.default_rng(0))
    assert {spot.kind for spot in spots} == {"permanent", "cyclical", "sudden"}
    cyclical = [spot for spot in spots if spot.kind == "cyclical"]
    assert all(sum(spot.hot_at(t) for spot in cyclical) == 1 for t in range(setting.window_s))
    lives = [spot.end - spot.start for spot in spots if spot.kind == "sudden"]
    assert 0 < np.mean(lives) < 4 * setting.sudden_for_s


def test_a_sample_follows_the_shares():
    sample = crowd(7).sample(20_000, 1_000, np.random.default_rng(0))
    assert np.mean(sample == 7) == pytest.approx(0.8, abs=0.02)
    assert len(set(sample.tolist())) > 900


def test_a_directory_is_whole_by_subtree_and_spread_by_hash():
    setting = Setting()
    one = slice(0, setting.directory_files)
    assert len(set(by_subtree(setting)[one])) == 1
    assert len(set(by_hash(setting)[one])) > 3
    for nodes in (by_subtree(setting), by_hash(setting)):
        counts = np.bincount(nodes)
        assert len(counts) == setting.namenodes
        assert counts.min() > 0.9 * setting.files / setting.namenodes


# the layer


def test_a_crowd_on_one_file_is_held_up_by_its_namenode_and_freed_by_the_layer():
    setting = replace(SHORT, probe=0.5)
    window, nodes = [crowd(7)] * 30, by_subtree(setting)
    bare = without_layer(setting, window, nodes)
    assert bare.at_node[:, nodes[7]] == pytest.approx(np.full(30, 0.82))
    helped = with_layer(setting, window, nodes, lru(1_000), [], np.random.default_rng(0))
    assert served(setting, bare, 1_000).throughput[-1] == pytest.approx(setting.capacity / 0.82, rel=0.01)
    assert served(setting, helped, 1_000).throughput[-1] > 5 * served(setting, bare, 1_000).throughput[-1]


def test_a_layer_without_hits_costs_its_probes():
    window, nodes = [even()] * 10, by_subtree(SHORT)
    bare = without_layer(SHORT, window, nodes)
    useless = with_layer(SHORT, window, nodes, TwoQueues(1, 1), [], np.random.default_rng(0))
    ratio = served(SHORT, useless, 5_000).throughput / served(SHORT, bare, 5_000).throughput
    assert ratio == pytest.approx(np.full(10, 1 / 1.5), rel=0.02)


def watched(rule, seconds_of: int, file: int | None, warning: float = 1.5):
    setting = Setting(sampled=200, warning=warning)
    period = Period(setting, rule, 20.0, np.random.default_rng(0))
    second = even() if file is None else crowd(file)
    window = [second] * seconds_of
    random = np.random.default_rng(1)
    return with_layer(setting, window, by_subtree(setting), PrefetchedOnly(50), [period], random)


@pytest.mark.parametrize("rule", [algorithm_1, algorithm_2])
def test_the_strategy_leaves_an_even_load_alone(rule):
    assert watched(rule, 120, None, warning=2.0).chosen == ()


def test_the_strategy_finds_the_loaded_namenode_and_takes_its_hottest_file_away():
    found = watched(algorithm_1, 120, 7)
    node = int(by_subtree(Setting())[7])
    assert found.chosen[0][1] == node
    assert found.at_node[0, node] > 0.8
    assert found.at_node[-1, node] < 0.05
    assert found.read[:, node].sum() > 0


def test_each_namenode_is_looked_at_once_a_period():
    setting = Setting()
    period = Period(setting, lambda scores, n, warning: True, 20.0, np.random.default_rng(0))
    asked = np.arange(setting.files)
    choices = [period.step(t + 1.0, asked, by_subtree(setting)) for t in range(40)]
    looked = [choice.namenode for choice in choices if choice is not None]
    assert sorted(looked[:10]) == sorted(looked[10:]) == list(range(10))


@pytest.mark.parametrize("name", ["subtree", "ARC", "PARC", "2: T, T/2, T/4"])
def test_the_same_seed_gives_the_same_window_and_another_seed_another(name):
    first, again, other = (trace(SHORT, SYSTEMS[name], seed) for seed in (1, 1, 2))
    assert first.at_node.tobytes() == again.at_node.tobytes()
    assert first.fills.tobytes() == again.fills.tobytes()
    assert first.chosen == again.chosen
    assert first.at_node.tobytes() != other.at_node.tobytes()


def test_of_a_chosen_namenode_the_hottest_files_are_told_hottest_first():
    setting = Setting(prefetched=2)
    period = Period(setting, lambda scores, n, warning: True, 10.0, np.random.default_rng(0))
    asked = np.concatenate([np.arange(setting.files), [5, 7, 7]])
    choices = [period.step(t + 1.0, asked, by_subtree(setting)) for t in range(10)]
    told = {choice.namenode: choice.files for choice in choices if choice is not None}
    assert told[0] == [7, 5]
    assert all(len(files) == 2 for files in told.values())

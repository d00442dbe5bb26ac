# SPDX-License-Identifier: LGPL-2.1-or-later
"""The thesis's service times: where they meet arithmetic, bounds and the lab's record."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.papers import dgist
from sim.papers.dgist.lab import measured
from sim.papers.dgist.model import Reply, Sharing, clusters, creates, fullest_share, needed_round_trip, stats
from sim.papers.dgist.setting import Setting

SETTING = Setting()
times = st.floats(1e-6, 1e-2)


def factor(setting: Setting, name: str, reply: Reply, processes: int = 1) -> float:
    """A cluster's creates, of B's."""
    found = clusters(setting)
    return creates(setting, found[name], reply, processes) / creates(setting, found["B"], reply, processes)


def test_one_process_waits_for_every_part_of_a_create():
    early = creates(SETTING, clusters(SETTING)["B"], Reply.EARLY, 1)
    durable = creates(SETTING, clusters(SETTING)["A"], Reply.DURABLE, 1)
    assert early == pytest.approx(1 / (SETTING.slow + SETTING.create))
    assert durable == pytest.approx(1 / (2 * SETTING.slow + SETTING.fast + SETTING.create + SETTING.write))


@pytest.mark.parametrize("reply", list(Reply))
def test_many_processes_get_what_the_mds_works_off(reply):
    found = creates(SETTING, clusters(SETTING)["A"], reply, 2_000)
    assert found == pytest.approx(1 / SETTING.create, rel=0.01)


def test_an_early_reply_does_not_know_the_osd():
    slow_osd = replace(SETTING, write=1.0)
    assert factor(slow_osd, "A", Reply.EARLY) == 1.0
    assert factor(slow_osd, "C, the client's way as before", Reply.EARLY) == 1.0
    assert factor(SETTING, "A", Reply.DURABLE) < 1.0


@given(times, times, times, st.integers(1, 64), st.sampled_from(Reply))
def test_a_shorter_way_to_the_osd_alone_never_doubles_the_creates(slow, write, create, processes, reply):
    setting = replace(SETTING, slow=slow, write=write, create=create, local=0.0)
    assert factor(setting, "C, the client's way as before", reply, processes) < 2.0


@pytest.mark.parametrize("reply", list(Reply))
def test_the_round_trip_that_would_be_needed_brings_the_gain(reply):
    needed = needed_round_trip(SETTING, reply, 4.0)
    assert factor(replace(SETTING, slow=needed), "C", reply) == pytest.approx(4.0)


@pytest.mark.parametrize("sharing", list(Sharing))
def test_one_client_answers_itself(sharing):
    assert stats(SETTING, sharing, 1) == SETTING.processes / SETTING.cached


@pytest.mark.parametrize("clients", [2, 4, 7])
def test_the_less_may_be_cached_the_less_is_answered(clients):
    shared, asked, revoked = (stats(SETTING, sharing, clients) for sharing in Sharing)
    assert shared > asked > revoked
    assert asked <= 1 / SETTING.look_up
    assert revoked <= 1 / SETTING.slow * clients / (clients - 1)


def test_the_fullest_mds_has_everything_when_more_bring_nothing():
    assert fullest_share(1.0) == 1.0
    assert fullest_share(16.0) == 1 / 16


def test_the_labs_record_is_read_as_medians_by_delay_and_clients():
    found = measured()
    assert [one.delay for one in found.creates] == [0.0, 0.001, 0.004, 0.016]
    assert found.creates[0].rate == pytest.approx(2_571, abs=1)
    assert {n: round(rate) for n, rate in found.stats.items()} == {
        1: 66_900,
        2: 157_930,
        4: 211_327,
        7: 197_941,
    }


def test_the_report_is_the_same_twice_and_has_its_pictures(tmp_path):
    text = dgist.report(tmp_path)
    assert dgist.report(tmp_path) == text
    assert "$" not in text
    assert {path.name for path in tmp_path.iterdir()} == {"create.png", "stat.png"}

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The status page's text: what is known is told in words, and what is not is not told as 0."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from monitor_snapshots import NOW, rank, scheduler, snapshot, uneven

from mds_partitioner import clock
from mds_partitioner.monitor.page import page
from mds_partitioner.monitor.state import FsSample, Point, Snapshot


def shown(of: Snapshot) -> str:
    return page(of, 10.0)


def figures(sample: FsSample) -> dict[str, str]:
    """What the page tells of a file system in large, by name, with the note below."""
    text = shown(Snapshot(filesystems=(sample,)))
    found = re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", text)
    return {name: re.sub(r"<[^>]*>", " ", value).strip() for name, value in found}


@pytest.mark.parametrize(("epoch", "seconds"), [(1.0, 5), (7.0, 7), (86_400.0, 10)])
def test_the_page_is_asked_for_as_often_as_it_may_change(epoch: float, seconds: int) -> None:
    """Plans are told as they are now in each epoch, however long."""
    assert f'http-equiv="refresh" content="{seconds}"' in page(snapshot(), epoch)


def test_where_epochs_became_longer_the_line_goes_on() -> None:
    """And a pause is a gap; what is alone is a dot."""
    times = [*range(0, 600, 10), *range(600, 1500, 60), 2400, *range(3000, 3060, 10)]
    points = tuple(Point(NOW - 3100.0 + at, 0.5) for at in times)
    text = shown(snapshot(replace(uneven(), history=points)))
    lines = [line.split() for line in re.findall(r'<polyline class="line" points="([^"]*)"', text)]
    assert [len(line) for line in lines] == [75, 2, 6] and len(set(lines[1])) == 1


def test_a_rank_that_is_full_says_so_in_a_word() -> None:
    (full, busy, *idle), word = uneven().ranks, r'<td>(\d) <span class="dim">mds\.\w</span>(.*?)</td>'
    ranks = (full, replace(busy, load=600.0), *idle)
    marks = dict(re.findall(word, shown(snapshot(replace(uneven(), ranks=ranks)))))
    bad = ' <span class="bad">{}</span>'
    assert marks == {"0": bad.format("saturated"), "1": bad.format("near capacity"), "2": "", "3": ""}


def test_every_title_of_a_table_is_that_of_a_column() -> None:
    titles = re.findall(r"<th\b[^>]*>", shown(snapshot(replace(uneven(), scheduler=scheduler()))))
    assert len(titles) > 10 and all('scope="col"' in title for title in titles)


def test_what_could_not_be_observed_is_unknown_and_not_0() -> None:
    silent = FsSample("silent", NOW, (), None, problem="it does not answer")
    assert figures(silent) == {"Load": "unknown", "Active ranks": "unknown"}
    down = figures(replace(silent, problem=""))
    assert down["Load"].startswith("0/s") and down["Active ranks"] == "0"


def test_a_load_says_of_how_many_ranks_it_is() -> None:
    ranks = uneven().ranks
    assert figures(uneven())["Load"] == "655/s requests, all ranks"
    some = replace(uneven(), ranks=(replace(rank(0, 0.0), load=None), *ranks[1:]))
    assert figures(some)["Load"] == "43/s requests, of 3 of 4 ranks"
    none = replace(uneven(), ranks=tuple(replace(r, load=None) for r in ranks))
    assert figures(none)["Load"] == "unknown" and figures(none)["Active ranks"].startswith("4")


def test_what_fails_in_the_scheduler_is_told() -> None:
    state = replace(scheduler(), mode="rolling-back", why="undoes what it did", hot=None)
    well = shown(snapshot(replace(uneven(), scheduler=state)))
    assert "undoes what it did; 0 moves" in well and "Hot spot" not in well and "problem:" not in well
    text = shown(snapshot(replace(uneven(), scheduler=replace(state, problem="no <answer>"))))
    assert '<p class="bad">problem: no &lt;answer&gt;</p>' in text


def test_moments_are_those_of_the_commands_and_the_zone_is_told() -> None:
    decided = scheduler()
    text = shown(snapshot(replace(uneven(), scheduler=decided)))
    assert f"as of {clock.told(NOW)} {clock.zone(NOW)}, every 10 s" in text
    assert all(f"<td>{clock.told(at)}</td>" in text for at, _ in decided.last) and decided.last

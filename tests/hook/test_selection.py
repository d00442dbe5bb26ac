# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy's second answer decides which subtrees go."""

import re
from collections.abc import Iterator

import pytest
from hooked import inside, said, use, use_none
from support import Cluster, at_work, wait_for

from experiments.common.balancers.visits import forget
from lab.clients.spec import ClientSpec, LoadSpec

TOP = "/selection"
DIRS = 4
UNREAD = [f"{TOP}/unread{number}" for number in range(200)]
FILES = 20
UNCACHED, CACHED = 23, 24  # files of directories that no other test has
RANKS = 4
# One directory goes after the other: an order takes several beats.
MDS_CPU = 4  # %
SLOWLY = {"mds_max_export_size": "100K", "debug_mds_balancer": "5/5"}
ORDER = " extend_order mds.1 gets "
CHOSEN = re.compile(r" 0 subtrees as before, worth 0, and ([1-9]\d*) more ")
# One order, as soon as visits are expected where there was none: half of what nobody has visited.
UNVISITED_ONCE = """
history.beats = (history.beats or 0) + 1
local targets = {[0] = 0, 0, 0, 0}
if whoami == 0 and history.beats > 2 and not history.ordered then
  targets[1] = mds[0]["auth.meta_load"] / 2
end
return targets, function(candidate)
  history.ordered = history.ordered or candidate.l_s > 0 and candidate.visits == 0
  return candidate.unvisited
end
"""
HALF = """
local targets = {[0] = 0, 0, 0, 0}
if whoami == 0 then targets[1] = mds[0]["auth.meta_load"] / 2 end
return targets, %s
"""
OFFERED = "offered"  # and how many inodes nobody has visited there, of what nobody has
TELLING = f"""
local targets = {{[0] = 0, 0, 0, 0}}
if whoami == 0 then targets[1] = 10 end
return targets, function(candidate)
  if candidate.visits == 0 then BAL_LOG(0, string.format("{OFFERED} %d", candidate.unvisited)) end
  return 0
end
"""
FAILURES = {
    "return candidate.visited / nothing": "attempt to perform arithmetic on a nil value (global 'nothing')",
    "while true do pcall(function() while true do end end) end": "more than 10000000 instructions in a beat",
    "return 0 / 0": "it is no finite number from 0 on",
}


@pytest.fixture(scope="module")
def load(cluster: Cluster) -> LoadSpec:
    """Files come and go in some of many directories: visits are expected in the others, too."""
    cluster.fs_set("balance_automate", "false")  # only what a test chooses moves
    inside(cluster, "make", {TOP: 0, **dict.fromkeys(UNREAD, FILES)})
    forget(cluster.lab, RANKS)  # what made them, if a test before this one has them recording
    return busy_in(cluster, TOP)


def busy_in(cluster: Cluster, top: str) -> LoadSpec:
    """What makes and deletes files in directories of its own there."""
    inside(cluster, "make", {top: 0})
    load = LoadSpec((ClientSpec("busy", top, mix={"create": 1.0, "unlink": 1.0}, rate=100, dirs=DIRS),))
    cluster.lab.prepare(load)
    return load


def busy(top: str) -> list[str]:
    """These directories, as a client names them."""
    return [f"{top}/d{number:04d}" for number in range(DIRS)]


@pytest.fixture(autouse=True)
def balancing(cluster: Cluster) -> Iterator[None]:
    """No policy afterwards."""
    yield
    use_none(cluster)


def away(cluster: Cluster, directories: list[str]) -> list[str]:
    """Those that are subtrees of others than rank 0."""
    authority = cluster.authority()
    return [path for path in directories if authority.get(path, 0)]


@pytest.fixture
def slowly(cluster: Cluster) -> Iterator[None]:
    """Exports take long."""
    command = cluster.lab.monitor.command
    for name, value in SLOWLY.items():
        command("config set", who="mds", name=name, value=value)
    yield
    cluster.lab.set_mds_cpu(None)
    for name in SLOWLY:
        command("config rm", who="mds", name=name)


def order(cluster: Cluster) -> int:
    """Have one made; how many directories it has chosen for rank 1."""
    use(cluster, "unvisited_once.lua", UNVISITED_ONCE)
    # An MDS that takes too long to read it balances without one.
    wait_for("it is read", lambda: said(cluster, "mantle balancer version changed: unvisited_once.lua"))
    cluster.lab.set_mds_cpu(MDS_CPU)
    line = wait_for("an order", lambda: said(cluster, ORDER))[0]
    found = CHOSEN.search(line)
    assert found, line
    return int(found[1])


@pytest.mark.usefixtures("slowly")
def test_what_is_chosen_for_coming_visits_goes_all_of_it_though_no_load_asks_for_it_any_more(
    cluster: Cluster, load: LoadSpec
) -> None:
    with at_work(cluster, load):
        chosen = order(cluster)
        wait_for("it is gone", lambda: len(away(cluster, UNREAD)) >= chosen)
        assert not away(cluster, busy(TOP)), "all in what is busy was visited"


@pytest.mark.parametrize("score", FAILURES)
def test_by_heat_when_a_score_fails_and_the_log_says_why(cluster: Cluster, score: str) -> None:
    name = f"failing{list(FAILURES).index(score)}"
    top = f"/{name}"  # new directories are rank 0's: what went in the test before leaves it nothing to move
    with at_work(cluster, busy_in(cluster, top)):
        before = len(said(cluster, "no score of"))  # of the tests before, none of whose beats goes on so long
        use(cluster, f"{name}.lua", HALF % f"function(candidate) {score} end")
        last = wait_for("it is in the log", lambda: said(cluster, "no score of")[before:])[-1]
        # As a whole, where it has half of what this rank still counts of the test before.
        wait_for("what is busy goes", lambda: away(cluster, [top, *busy(top)]))
    assert FAILURES[score] in last
    assert last.endswith("heat")


@pytest.fixture
def forgetful(cluster: Cluster) -> Iterator[None]:
    """Rank 0 forgets each window as it ends."""
    cluster.tell(0, "config", "set", "mds_bal_mindex_idle", "1")
    yield
    cluster.tell(0, "config", "unset", "mds_bal_mindex_idle")


def goes_by_heat(cluster: Cluster, name: str, selection: str) -> None:
    """Does what is busy go, though nothing has a score?"""
    top = f"/{name}"
    with at_work(cluster, busy_in(cluster, top)):
        use(cluster, f"{name}.lua", HALF % selection)
        wait_for("what is busy goes", lambda: away(cluster, [top, *busy(top)]))


def test_by_heat_where_nothing_has_a_score(cluster: Cluster) -> None:
    goes_by_heat(cluster, "unscored", "function() return 0 end")


@pytest.mark.usefixtures("forgetful")
def test_by_heat_where_no_visit_is_known_after_the_first_beat(cluster: Cluster) -> None:
    goes_by_heat(cluster, "unseen", '"mindex"')


@pytest.fixture
def uncached(cluster: Cluster) -> str:
    """What has directories that are open, but have nothing in rank 0's cache, and one that has."""
    top = "/uncached"
    directories = [f"{top}/open{number}" for number in range(DIRS)]
    inside(cluster, "make", {top: 0, **dict.fromkeys(directories, UNCACHED)})
    cluster.tell(0, "cache", "drop")
    cluster.tell(0, "config", "set", "mds_dir_prefetch", "false")
    inside(cluster, "miss", [f"{path}/none" for path in directories])
    cluster.tell(0, "config", "unset", "mds_dir_prefetch")
    inside(cluster, "make", {f"{top}/cached": CACHED})
    return top


def offered(cluster: Cluster, files: int) -> bool:
    """Was a directory with so many files, all unvisited, there to be chosen?"""
    return any(line.endswith(f"{OFFERED} {files}") for line in said(cluster, OFFERED))


def test_what_an_importer_would_send_back_is_not_there_to_be_chosen(cluster: Cluster, uncached: str) -> None:
    with at_work(cluster, busy_in(cluster, uncached)):
        use(cluster, "telling.lua", TELLING)
        wait_for("visits are expected", lambda: offered(cluster, CACHED))
    assert not offered(cluster, UNCACHED)

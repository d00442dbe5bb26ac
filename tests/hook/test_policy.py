# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whatever a policy does, the MDSs live on, and the log says what was wrong with it."""

import re
from collections.abc import Iterator
from functools import partial

import pytest
from hooked import beats, log_of, said, use, use_none
from support import Cluster, wait_for

from lab.ranks import active

RANKS = 4
LOOP = "while true do end"
# What each does in a beat of its own, and what rank 0 says to that meanwhile.
ATTACKS = {
    "setmetatable({}, {__gc = function() error('in the end') end})": "a policy has no finalizers (__gc)",
    "_G.hook = nil setmetatable(_G, {__newindex = function() error('not new') end}) new = 1": "not new",
    f"while true do pcall(function() {LOOP} end) end": "instructions in a beat",
    f"xpcall(function() {LOOP} end, function() {LOOP} end)": "instructions in a beat",
    f"while true do coroutine.resume(coroutine.create(function() {LOOP} end)) end": "instructions in a beat",
    f"local co = coroutine.wrap(function() while true do pcall(function() {LOOP} end) end end) co()": (
        "instructions in a beat"
    ),
    "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end": "not enough memory",
    "error({})": "mantle could not execute script",
    "result[whoami] = 1000": "amount of 1000 for mds.0 is left out",
    "result[3] = nil result[300] = 1000": "amount of 1000 for mds.300 is left out",
    "result[3] = nil result[-2] = 1000": "amount of 1000 for mds.-2 is left out",
    "result[1] = 1/0": "amount of inf for mds.1 is left out",
    "history.all = history": "history is forgotten: a table in it is more than 16 deep, or in itself",
    "history.print = print": "history is forgotten: a function is in it",
    "history.long = ('x'):rep(2^21)": "history is forgotten: it has more than 1048576 bytes",
    "history = 1": "history is forgotten: it is no table",
    "setmetatable(history, {__index = error, __pairs = error, __len = error})": "",
}
ONE_A_BEAT = """
local result = {[0] = 0, 0, 0, 0}
local attacks = {%s}
local number = epoch %% #attacks + 1
BAL_LOG(0, "attack ", number)
attacks[number](result)
return result
"""
BEGINS = re.compile(r" mds\.mantle attack (\d+)$")
REMEMBERED = "[1 is an integer, and 2.5, and 'in it', and yes]"
REMEMBERING = """
local past = history.past
if not past then
  history.past = {1, 2.5, {deep = {"in it"}}, [true] = "yes"}
else
  BAL_LOG(0, "[", past[1], " is an ", math.type(past[1]), ", and ", past[2], ", and '", past[3].deep[1],
    "', and ", past[true], "]")
end
return {[0] = 0, 0, 0, 0}
"""


BEAT_S = 2  # an MDS waits for half of it, in whole seconds, for the policy's object


@pytest.fixture(autouse=True)
def quick_beats(cluster: Cluster) -> Iterator[None]:
    """And no policy afterwards."""
    with beats(cluster, RANKS, BEAT_S):
        yield
        use_none(cluster)


def processes(cluster: Cluster) -> dict[str, list[int]]:
    """Of each MDS: the mon takes one that has died for active for a while."""
    return {name: pids for name, pids in cluster.lab.daemons().items() if name.startswith("mds.")}


def outlived(cluster: Cluster, rank: int) -> Iterator[tuple[int, str]]:
    """The attacks, by number, after which this rank's MDS has met another one, each with all that it said."""
    attacks: list[tuple[int, list[str]]] = []
    for line in log_of(cluster, rank):
        if begins := BEGINS.search(line):
            attacks.append((int(begins[1]), []))
        if attacks:
            attacks[-1][1].append(line)
    for number, lines in attacks[:-1]:
        yield number, "\n".join(lines)


def test_no_policy_ends_an_mds(cluster: Cluster) -> None:
    before = active(cluster.lab), processes(cluster)
    functions = (f"function(result) {attack} end" for attack in ATTACKS)
    use(cluster, "attacks.lua", ONE_A_BEAT % ", ".join(functions))

    def answered(rank: int, number: int, answer: str) -> bool:
        assert processes(cluster) == before[1], "all of them live on"
        return any(met == number and answer in lines for met, lines in outlived(cluster, rank))

    for rank in range(RANKS):
        for number, (attack, answer) in enumerate(ATTACKS.items(), 1):
            # Some are none to a rank other than the one that they name.
            case = (rank, number, answer if rank == 0 else "")
            wait_for(f"rank {rank} outlives {attack}, and says {case[2]!r}", partial(answered, *case))
    assert (active(cluster.lab), processes(cluster)) == before


def test_history_is_plain_data_that_is_there_again(cluster: Cluster) -> None:
    use(cluster, "remembering.lua", REMEMBERING)
    wait_for("it is remembered", lambda: said(cluster, REMEMBERED))


RECALLING = """
BAL_LOG(0, "%s recalls ", history.past and "what was" or "nothing")
return {[0] = 0, 0, 0, 0}
"""


def test_a_policy_that_is_told_something_else_remembers_and_another_one_does_not(cluster: Cluster) -> None:
    """By its object's name, up to the last dot."""
    use(cluster, "told.1", f"BAL_LOG(0, 'it is told')\n{REMEMBERING}")
    wait_for("it has had a beat", lambda: said(cluster, "it is told"))
    use(cluster, "told.2", RECALLING % "the same")
    wait_for("it is remembered still", lambda: said(cluster, "the same recalls what was"))
    use(cluster, "other.2", RECALLING % "another")
    wait_for("it begins anew", lambda: said(cluster, "another recalls nothing"))

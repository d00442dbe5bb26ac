# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whatever a policy does, the MDSs live on, and the log says what was wrong with it."""

from collections.abc import Iterator

import pytest
from hooked import beats, said, use, use_none
from support import Cluster, wait_for

from lab.ranks import active

RANKS = 4
LOOP = "while true do end"
# What each does in a beat of its own, and what rank 0 says to that.
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
attacks[epoch %% #attacks + 1](result)
return result
"""
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


def test_no_policy_ends_an_mds(cluster: Cluster) -> None:
    before = active(cluster.lab)
    functions = (f"function(result) {attack} end" for attack in ATTACKS)
    use(cluster, "attacks.lua", ONE_A_BEAT % ", ".join(functions))
    for attack, answer in ATTACKS.items():
        wait_for(f"it is said of {attack}", lambda answer=answer: said(cluster, answer))
    assert active(cluster.lab) == before


def test_history_is_plain_data_that_is_there_again(cluster: Cluster) -> None:
    use(cluster, "remembering.lua", REMEMBERING)
    wait_for("it is remembered", lambda: said(cluster, REMEMBERED))

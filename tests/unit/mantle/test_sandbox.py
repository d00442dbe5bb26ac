# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox refuses what would make an MDS fall back, hang or die, and nothing gets out of it."""

from __future__ import annotations

import os
import resource
import time

import pytest

from mds_partitioner.policy.sandbox import child
from mds_partitioner.policy.sandbox.decide import Hooked, Sandbox, decide
from mds_partitioner.policy.sandbox.refusals import PolicyError, SandboxError
from mds_partitioner.policy.sandbox.vet import vet
from tests.unit.mantle.support import metrics

CASE = metrics([1.0, 2.0])
STILL = "{[0] = 0, [1] = 0}"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = = 1", "is not Lua 5.3: policy:1: unexpected symbol near '='"),
        ("error('boom')", "rank 0 of 2 fails: policy:1: boom"),
        ("error({})", "fails: an error that is a table"),
        ("return 5", "returns 5; allowed: a table with a finite number for each of the 2 ranks"),
        ("return print", "returns a function"),
        ("return", "returns nil"),
        ("return {1, 2}", "returns the key 2"),
        ("return {[0] = 0}", "returns 1 numbers"),
        ("return {[0] = 0/0, [1] = 0}", "returns NaN for rank 0"),
        ("return {[0] = 1/0, [1] = 0}", "returns Infinity for rank 0"),
        ("return {[0] = '1', [1] = 0}", 'returns "1" for rank 0'),
        ("return {[0] = 0, [1] = 0, x = 1}", 'returns the key "x"'),
        ("if whoami == 1 then error('only here') end return {[0] = 0, [1] = 0}", "on rank 1 of 2 fails"),
        (
            "local t = {[0] = 0, [1] = 0} t[whoami] = 1000 return t",
            "returns 1000 for rank 0, which is itself",
        ),
        ("while true do end", "it runs for too long"),
        ("while true do pcall(function() while true do end end) end", "it runs for too long"),
        (
            "while true do xpcall(function() while true do end end, function() end) end",
            "it runs for too long",
        ),
        ("coroutine.wrap(function() while true do end end)()", "it runs for too long"),
        (
            "local c = coroutine.create(function() while true do pcall(coroutine.yield) end end) "
            "while true do coroutine.resume(c) end",
            "it runs for too long",
        ),
        ("coroutine.yield()", "attempt to yield from outside a coroutine"),
        ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end", "not enough memory"),
        ("return ('x'):rep(1e9)", "not enough memory"),
        ("return io.open('/etc/hostname')", "global 'io'"),
        ("os.exit(1)", "global 'os'"),
        ("debug.sethook()", "global 'debug'"),
        ("return load('return os.exit')()", "global 'os'"),
        ("return dofile('/etc/hostname')", "global 'dofile'"),
        ("return require('x')", "global 'require'"),
        ("return load(string.dump(function() end), 'x', 'b')()", "attempt to call a nil value"),
        ("\x1bLua", "attempt to load a binary chunk"),
    ],
)
def test_a_policy_that_an_mds_could_not_use_is_refused_with_the_reason(source: str, why: str) -> None:
    with pytest.raises(PolicyError) as refused:
        decide(source, [CASE])
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "source",
    [
        "string.find(('a'):rep(30), ('a?'):rep(30) .. ('a'):rep(30))",
        "coroutine.wrap(function() string.find(('a'):rep(30), ('a?'):rep(30) .. ('a'):rep(30)) end)()",
        "setmetatable({}, {__gc = function() while true do end end}) collectgarbage()",
    ],
)
def test_a_policy_that_hangs_where_nothing_is_counted_is_killed(source: str) -> None:
    with Sandbox(source) as sandbox:
        sandbox.see(CASE)
        process = sandbox._child._process
        # On a machine that has no second of CPU for it in half a minute it is killed by the clock.
        with pytest.raises(PolicyError, match=r"it did not end within (1 s of CPU time|30 s)"):
            sandbox.decide(0)
        assert process.returncode is not None
        with pytest.raises(SandboxError, match="has ended"):
            sandbox.decide(0)


def test_a_process_that_does_not_answer_is_given_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox(f"return {STILL}") as sandbox:
        monkeypatch.setattr(child, "DEADLINE", 0.2)
        os.kill(sandbox._child._process.pid, 19)  # SIGSTOP
        began = time.monotonic()
        with pytest.raises(PolicyError, match=r"within 0.2 s"):
            sandbox.see(CASE)
        assert time.monotonic() - began >= 0.2
        assert sandbox._child._process.returncode is not None


@pytest.mark.parametrize(
    ("what", "most"),
    [
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, child.MEMORY),
    ],
)
def test_a_policys_process_may_open_start_and_write_nothing_more(what: int, most: int) -> None:
    with child.LuaChild() as process:
        assert resource.prlimit(process._process.pid, what) == (most, most)


def test_what_the_kernel_charged_for_earlier_requests_is_not_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It charges whole ticks, so it can be far more than the process has used."""
    monkeypatch.setattr(child, "_charged", lambda pid: 41.7)
    with child.LuaChild() as process:
        process.request("finish", "")
        soft, hard = resource.prlimit(process._process.pid, resource.RLIMIT_CPU)
    assert (soft, hard) == (42 + child.CPU_SECONDS, resource.RLIM_INFINITY)


def test_the_kernel_tells_what_it_charged() -> None:
    began, used = child._charged(os.getpid()), time.process_time()
    while child._charged(os.getpid()) < began + 0.1:
        assert time.process_time() < used + 60.0
    assert began > 0.0


def test_a_policys_process_never_has_a_higher_priority_than_whoever_began_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    monkeypatch.setattr(child, "NICENESS", own - 1)
    with Sandbox(f"return {STILL}") as sandbox:
        assert os.getpriority(os.PRIO_PROCESS, sandbox._child._process.pid) == own


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "if hook then while true do end end return " + STILL,
            "MDS with the hook, fails: it runs for too long",
        ),
        ("if history then os.exit() end return " + STILL, "global 'os'"),
        ("if #(rank_mask or {}) > 0 and epoch and now then error('seen') end return " + STILL, "seen"),
        (
            "if history then history.n = (history.n or 0) + 1 assert(history.n < 2) end return " + STILL,
            "assert",
        ),
        (f"return {STILL}, function() while true do end end", "score function fails: it runs for too long"),
        (f"return {STILL}, function() while true do pcall(error) end end", "it runs for too long"),
        (f"return {STILL}, function(s) return s.l_t / s.visits end", "score NaN"),
        (f"return {STILL}, function(s) return -s.heat end", "score -50000"),
        (f"return {STILL}, function(s) return s.nothing + 1 end", "field 'nothing'"),
        (f"return {STILL}, 'mindx'", 'selects by "mindx"; allowed as a second value: "heat", "mindex"'),
        ("if loadfile then while true do end end return " + STILL, "it runs for too long"),
        ("if dofile then dofile('/x.lua') end return " + STILL, "/x.lua:1: unexpected symbol near '1234.56'"),
        ("setmetatable({}, {__gc = print}) return " + STILL, "a policy has no finalizers (__gc)"),
        (
            "if hook then history.f = print end return " + STILL,
            "its history cannot be kept: a function is in it",
        ),
        (
            "if hook then history.t = history end return " + STILL,
            "its history cannot be kept: tables too deep",
        ),
        ("if hook then history = nil end return " + STILL, "its history cannot be kept: a nil is in it"),
    ],
)
def test_what_only_an_mds_with_the_hook_would_meet_is_refused(source: str, why: str) -> None:
    assert decide(source, [CASE])[0][0].selection == "heat", "a stock MDS has no quarrel with it"
    with pytest.raises(PolicyError) as refused:
        vet(source, [CASE])
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "source",
    [
        "return {[0] = -1, [1] = -1}",  # an MDS ignores amounts under 10
        f"return {STILL}, 'mindex'",
        f"return {STILL}, function(s) return s.mindex + s.size end",
        "print('x') for name in pairs(string) do string[name] = error end "
        f"getmetatable('').__index = error return {STILL}",
    ],
)
def test_what_an_mds_can_use_is_allowed(source: str) -> None:
    vet(source, [CASE, CASE])


def test_a_policy_cannot_answer_for_the_sandbox() -> None:
    source = """
    print('0.0 {"targets":[0,0]}')
    getmetatable("").__index = function() return function() return '{}' end end
    string.format, table.concat, next, type = nil, nil, nil, nil
    return {[whoami] = 0, [1 - whoami] = 5}
    """
    assert [answer.targets for answer in decide(source, [CASE, CASE])[1]] == [(0, 5), (5, 0)]


def test_a_policy_sees_what_mantle_shows_and_is_new_in_every_beat() -> None:
    source = r"""
    seen = (seen or 0) + 1
    string.seen = (string.seen or 0) + 1
    BAL_LOG(2, "rank ", whoami, " of ", #mds + 1, ", run ", seen, (" \200\n"):rep(string.seen))
    local t = {[0] = mds[0]["req_rate"], [1] = mds[1]["auth.meta_load"]}
    t[whoami] = 0
    return t
    """
    for case in decide(source, [CASE, CASE]):
        assert [answer.targets for answer in case] == [(0, 14.0), (1.0, 0)]
        assert case[1].log == ((2, "rank 1 of 2, run 1 \ufffd\n"),)


def test_history_is_kept_for_each_rank_and_forgotten_with_the_policy() -> None:
    source = "history.n = (history.n or 0) + 1 BAL_LOG(1, history.n) return {[0] = 0, [1] = 0}"
    told = []
    with Sandbox(source) as sandbox:
        for text in (source, source):
            sandbox.load(text)
            sandbox.see(CASE)
            told += [sandbox.decide(r, Hooked(e, 0.0, (0, 1))).log[0][1] for r, e in ((0, 1), (0, 2), (1, 2))]
    assert told == ["1", "2", "1"] * 2


def test_scores_are_told() -> None:
    with Sandbox(f"return {STILL}, function(s) return 2 * s.heat end") as sandbox:
        sandbox.see(CASE)
        answer = sandbox.decide(0, Hooked(1, 0.0, (0, 1)), [{"heat": 2.0}, {"heat": 0.1}])
    assert (answer.selection, answer.scores) == ("function", (4.0, 0.2))


def test_without_lua_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match=r"install the package lua5\.3"):
        decide(f"return {STILL}", [CASE])

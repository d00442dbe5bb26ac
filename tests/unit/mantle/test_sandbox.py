# SPDX-License-Identifier: LGPL-2.1-or-later
"""The sandbox refuses what would make an MDS fall back, or hang."""

import pytest
from engine.errors import BadInputError
from engine.policy import policy

from tests.unit.mantle.support import metrics

CASE = metrics([1.0, 2.0])


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = = 1", "is not Lua 5.3: policy:1: unexpected symbol near '='"),
        ("error('boom')", "rank 0 of 2 fails: policy:1: boom"),
        ("return 5", "returns 5; allowed: a table with a finite number for each of the 2 ranks"),
        ("return", "returns None"),
        ("return {1, 2}", "returns the key 2"),
        ("return {[0] = 1}", "returns 1 numbers"),
        ("return {[0] = 0/0, [1] = 0}", "returns nan for rank 0"),
        ("return {[0] = 1/0, [1] = 0}", "returns inf for rank 0"),
        ("return {[0] = '1', [1] = 0}", "returns '1' for rank 0"),
        ("return {[0] = 0, [1] = 0, x = 1}", "returns the key 'x'"),
        ("if whoami == 1 then error('only here') end return {[0] = 0, [1] = 0}", "on rank 1 of 2 fails"),
        ("while true do end", "it runs for too long"),
        ("while true do pcall(function() while true do end end) end", "it runs for too long"),
        ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) end", "not enough memory"),
        ("return io.open('/etc/hostname')", "global 'io'"),
        ("os.exit(1)", "global 'os'"),
        ("return dofile('/etc/hostname')", "global 'dofile'"),
        ("return require('x')", "global 'require'"),
        ("return python.eval('1')", "global 'python'"),
        ("\27Lua", "attempt to load a binary chunk"),
    ],
)
def test_a_policy_that_an_mds_could_not_use_is_refused_with_the_reason(source: str, why: str) -> None:
    with pytest.raises(BadInputError) as refused:
        policy({"source": source.replace("\27", "\x1b"), "cases": [CASE]})
    assert why in str(refused.value)


def test_a_policy_sees_what_mantle_shows_and_is_new_in_every_beat() -> None:
    source = """
    seen = (seen or 0) + 1
    BAL_LOG(2, "rank ", whoami, " of ", #mds + 1, ", run ", seen)
    return {[0] = mds[0]["req_rate"], [1] = mds[1]["auth.meta_load"]}
    """
    answers = policy({"source": source, "cases": [CASE]})["answers"]
    assert answers == [
        [
            {"rank": 0, "targets": [1.0, 14.0], "log": [[2, "rank 0 of 2, run 1"]]},
            {"rank": 1, "targets": [1.0, 14.0], "log": [[2, "rank 1 of 2, run 1"]]},
        ]
    ]


@pytest.mark.parametrize("name", ["load", "req_rate "])
def test_an_unknown_metric_is_named(name: str) -> None:
    with pytest.raises(BadInputError, match="allowed: numbers named auth"):
        policy({"source": "return {[0] = 0}", "cases": [[{name: 1.0}]]})

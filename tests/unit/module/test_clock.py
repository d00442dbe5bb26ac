# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moments as people read them."""

from __future__ import annotations

import time

import pytest

from mds_partitioner import clock

DAY = 86_400


def told_in_utc(at: float, now: float) -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        told = clock.told(at, now)
    time.tzset()
    return told


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("at", [0.0, clock.LAST, 1e11, 1e18, 1e300])
def test_whatever_moment_was_kept_it_can_be_told(
    monkeypatch: pytest.MonkeyPatch, zone: str, at: float
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", zone)
        time.tzset()
        assert len(clock.told(at)) == len("9999-12-31 23:59:59")
    time.tzset()


def test_moments_are_told_in_one_zone_which_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "XYZ-3")
        time.tzset()
        assert (clock.told(0.0, 0.0), clock.time_of_day(0.0)) == ("01-01 03:00:00", "03:00:00")
        assert clock.zone(0.0) == "XYZ"
    time.tzset()


@pytest.mark.parametrize(("days", "told"), [(0, "07-14 02:40"), (200, "01-30 02:40"), (-200, "12-26 02:40")])
def test_a_moment_of_another_year_that_is_near_needs_no_year(days: int, told: str) -> None:
    assert told_in_utc(1.5e9 + days * DAY, 1.5e9) == f"{told}:00"


@pytest.mark.parametrize(
    ("days", "told"), [(365, "2018-07-14 02:40"), (3650, "2027-07-12 02:40"), (-365, "2016-07-14 02:40")]
)
def test_of_a_moment_that_is_a_year_away_the_year_is_told(days: int, told: str) -> None:
    assert told_in_utc(1.5e9 + days * DAY, 1.5e9) == f"{told}:00"

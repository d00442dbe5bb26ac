# SPDX-License-Identifier: LGPL-2.1-or-later
"""Moments as people read them."""

from __future__ import annotations

import time

import pytest

from mds_partitioner import clock


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("at", [0.0, clock.LAST, 1e11, 1e18, 1e300])
def test_whatever_moment_was_kept_it_can_be_told(
    monkeypatch: pytest.MonkeyPatch, zone: str, at: float
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", zone)
        time.tzset()
        assert len(clock.told(at)) == len("12-31 23:59:59")
    time.tzset()


def test_moments_are_told_in_one_zone_which_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "XYZ-3")
        time.tzset()
        assert (clock.told(0.0), clock.time_of_day(0.0)) == ("01-01 03:00:00", "03:00:00")
        assert clock.zone(0.0) == "XYZ"
    time.tzset()

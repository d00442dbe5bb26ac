# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the scheduler may act: the hours and weekdays of mgr/balancer (its ``time_permit``)."""

import re
from datetime import datetime

from .options import SchedulerSettings

HHMM = re.compile(r"([01][0-9]|2[0-3])[0-5][0-9]")
MIDNIGHT = "2400"  # as an end


def misread(settings: SchedulerSettings) -> str:
    """Which option is no time of day, and what is allowed, in one sentence; "" when all are."""
    s = settings
    if not HHMM.fullmatch(s.begin_time):
        return f"begin_time is '{s.begin_time}': give a time of day as HHMM, 0000 to 2359"
    if not HHMM.fullmatch(s.end_time) and s.end_time != MIDNIGHT:
        return f"end_time is '{s.end_time}': give a time of day as HHMM, 0000 to {MIDNIGHT}"
    return ""


def closed(at: datetime, settings: SchedulerSettings) -> str:
    """Why nothing may be begun at a local time, in one sentence; "" when it may.

    Equal ends are no limit. A window may go over midnight, or over the end of the week.
    """
    s, why = settings, misread(settings)
    if why:
        return why
    if not _within(f"{at:%H%M}", s.begin_time, s.end_time):
        return f"it acts from {s.begin_time} to {s.end_time} only (begin_time, end_time)"
    if not _within(f"{at.isoweekday() % 7}", str(s.begin_weekday), str(s.end_weekday)):
        return f"it acts from weekday {s.begin_weekday} to {s.end_weekday} only (begin_weekday, end_weekday)"
    return ""


def _within(now: str, begin: str, end: str) -> bool:
    if begin == end:
        return True
    return begin <= now < end if begin < end else now >= begin or now < end

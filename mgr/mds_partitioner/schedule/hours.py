# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the scheduler may act: the hours and weekdays of mgr/balancer (its ``time_permit``)."""

import re
from datetime import datetime

from .options import SchedulerSettings

HHMM = re.compile(r"([01][0-9]|2[0-3])[0-5][0-9]|2400")


def closed(at: datetime, settings: SchedulerSettings) -> str:
    """Why nothing may be begun at a local time, in one sentence; "" when it may.

    Equal ends are no limit. A window may go over midnight, or over the end of the week.
    """
    s = settings
    for name, text in (("begin_time", s.begin_time), ("end_time", s.end_time)):
        if not HHMM.fullmatch(text):
            return f"{name} is '{text}': give a time of day as HHMM"
    if not _within(f"{at:%H%M}", s.begin_time, s.end_time):
        return f"it acts from {s.begin_time} to {s.end_time} only (begin_time, end_time)"
    if not _within(f"{at.isoweekday() % 7}", str(s.begin_weekday), str(s.end_weekday)):
        return f"it acts from weekday {s.begin_weekday} to {s.end_weekday} only (begin_weekday, end_weekday)"
    return ""


def _within(now: str, begin: str, end: str) -> bool:
    if begin == end:
        return True
    return begin <= now < end if begin < end else now >= begin or now < end

# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the scheduler may act: the hours and weekdays of mgr/balancer (its ``time_permit``)."""

import re
from datetime import datetime

from .options import SchedulerSettings

HHMM = re.compile(r"([01][0-9]|2[0-3])[0-5][0-9]|2400")
MIDNIGHT = {"2400": "0000"}  # as a begin


def misread(settings: SchedulerSettings) -> str:
    """Which option is no time of day, and what is allowed, in one sentence; "" when all are."""
    for name, text in (("begin_time", settings.begin_time), ("end_time", settings.end_time)):
        if not HHMM.fullmatch(text):
            return f"{name} is '{text}': give a time of day as HHMM, 0000 to 2400"
    return ""


def closed(at: datetime, settings: SchedulerSettings) -> str:
    """Why nothing may be begun at a local time, in one sentence; "" when it may.

    Equal ends are no limit. A window may go over midnight, or over the end of the week.
    """
    s, why = settings, misread(settings)
    if why:
        return why
    if not _within(f"{at:%H%M}", MIDNIGHT.get(s.begin_time, s.begin_time), s.end_time):
        return f"it acts from {s.begin_time} to {s.end_time} only (begin_time, end_time)"
    if not _on(at.isoweekday() % 7, s.begin_weekday, s.end_weekday):
        return f"it acts from weekday {s.begin_weekday} to {s.end_weekday} only (begin_weekday, end_weekday)"
    return ""


def _on(today: int, begin: int, end: int) -> bool:
    """The last day counts where the week does not end in between: so mgr/balancer has it."""
    if begin == end:
        return True
    return begin <= today <= end if begin < end else today >= begin or today < end


def _within(now: str, begin: str, end: str) -> bool:
    if begin == end:
        return True
    return begin <= now < end if begin < end else now >= begin or now < end

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The module's commands, as the demo uses them."""

import json
from collections.abc import Mapping
from typing import Any

from lab import ranks
from lab.api import Lab
from lab.errors import LabError
from lab.monitor import CommandError
from lab.waiting import until

NAME = "mds_partitioner"
_ENABLE_S = 60
_LEARNED = (f"mgr/{NAME}/capacity/", f"mgr/{NAME}/scheduler/")


def enable(lab: Lab, options: Mapping[str, str]) -> None:
    """Enable the module, set its options, and return when it answers."""
    for name, value in options.items():
        set_option(lab, name, value)
    lab.monitor.command("mgr module enable", module=NAME)
    wait(lab)


def disable(lab: Lab) -> None:
    """Disable the module; the manager restarts."""
    lab.monitor.command("mgr module disable", module=NAME)


def begin_anew(lab: Lab) -> None:
    """As it is when it is enabled for the first time: no option is set, no capacity was learned, and no
    scheduler has acted, which remembers that, too."""
    disable(lab)
    until(lambda: ask_or_none(lab, "status") is None, _ENABLE_S, f"{NAME} has ended")
    for option in lab.monitor.json("config dump"):
        if option["name"].startswith(f"mgr/{NAME}/"):
            unset_option(lab, option["name"].rpartition("/")[2])
    for key in lab.monitor.json("config-key ls"):
        if key.startswith(_LEARNED):
            lab.monitor.command("config-key rm", key=key)
    _end_mounts(lab)
    enable(lab, {})


def _end_mounts(lab: Lab) -> None:
    """Of managers. The mon does not always have those of one that has ended evicted: MDSs wait a minute for
    what they hold, and who lists ``/volumes`` next with them."""
    managers = {name.partition(".")[2] for name in lab.daemons() if name.startswith("mgr.")}
    for mds, _ in ranks.holders(lab).values():
        for session in json.loads(lab.monitor.command("session ls", target=mds, format="json")):
            if session["client_metadata"].get("entity_id") in managers:
                lab.monitor.command("session evict", target=mds, filters=[f"id={session['id']}"])


def unset_option(lab: Lab, name: str) -> None:
    """It has its default again."""
    lab.monitor.command("config rm", who="mgr", name=f"mgr/{NAME}/{name}")


def set_option(lab: Lab, name: str, value: str) -> None:
    """Set one of the module's options."""
    lab.monitor.command("config set", who="mgr", name=f"mgr/{NAME}/{name}", value=value)


def wait(lab: Lab) -> None:
    """Return when the module answers: enabling one restarts the manager."""
    problems: list[LabError] = []

    def answers() -> bool:
        try:
            ask(lab, "status")
            ask(lab, "imbalance")
        except LabError as e:
            problems.append(e)
            return False
        return True

    until(answers, _ENABLE_S, lambda: f"{NAME} answers after it was enabled: {problems[-1]}")


def text(lab: Lab, command: str, **args: Any) -> str:
    """The answer to a command, for people."""
    return lab.monitor.command(f"{NAME} {command}", target="mgr", timeout=60, **args)


def ask(lab: Lab, command: str, **args: Any) -> dict[str, Any]:
    """The answer to a command as plain data (a list under "rows")."""
    value = json.loads(text(lab, command, format="json", **args))
    return value if isinstance(value, dict) else {"rows": value}


def ask_or_none(lab: Lab, command: str, **args: Any) -> dict[str, Any] | None:
    """The same, but None when a busy MDS or manager did not answer this time."""
    try:
        return ask(lab, command, **args)
    except CommandError:
        return None

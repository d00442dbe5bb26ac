# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/commands.md says what the module declares; `make docs` mends it."""

import pytest

from docs.reference import PAGE, check_rows, command_rows, filled, option_rows, tables
from mds_partitioner.monitor import health


def test_the_page_has_what_the_module_declares() -> None:
    page = PAGE.read_text()
    assert page == filled(page, tables()), "run 'make docs'"


def test_a_command_is_shown_as_it_is_typed() -> None:
    shown = [usage for usage, _ in command_rows()]
    assert "`ceph mds_partitioner partition rm PLAN [FS]`" in shown
    assert "`ceph mds_partitioner scheduler stop [FS] [--rollback]`" in shown
    (on,) = (usage for usage in shown if "balance on" in usage)
    assert on.endswith("[FS] [--policy POLICY] [--to-auth] [--force] [-i FILE]`")


def test_an_option_is_shown_with_its_unit_and_its_limits() -> None:
    rows = {name: (default, allowed) for name, default, allowed, _ in option_rows()}
    assert rows["`epoch`"] == ("10 s", "1 to 86400 s")
    assert rows["`arrival_timeout`"] == ("300 s", "at least 1 s")
    assert rows["`tell_concurrency`"] == ("8", "1 to 64")
    assert rows["`selection`"] == ("mindex", "mindex, heat")
    assert rows["`engine_memory`"] == ("2048 MiB", "at least 256 MiB")
    assert rows["`rank_capacity`"] == ("0", "at least 0")


def test_every_health_check_has_a_meaning() -> None:
    codes = {v for v in vars(health).values() if isinstance(v, str) and v.startswith("MDS_PARTITIONER_")}
    assert {code.strip("`") for code, _ in check_rows()} == codes


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="end of options"):
        filled("# Options\n", {"options": "| none |"})

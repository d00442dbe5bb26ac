# SPDX-License-Identifier: LGPL-2.1-or-later
"""What valgrind says of the MDSs that it runs."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.api import Lab
from lab.errors import LabError
from lab.hook_cost import counted

LIST = """use --pid=446 for ceph-mds --tool=callgrind --instr-atstart=no /var/log/ceph/idle/ceph-mds -i b
use --pid=482 for ceph-mds --tool=callgrind --instr-atstart=no /var/log/ceph/stock/ceph-mds -i a
"""


class Valgrind:
    """Answers as vgdb does, and writes a dump for each that is asked for."""

    def __init__(self, log_dir: Path, totals: str = "totals: {}\n") -> None:
        self.log_dir, self._totals = log_dir, totals
        self.counted: list[str] = []
        self.alive = True
        self._dumps = 0

    def exec(self, argv: Sequence[str], **_: Any) -> SimpleNamespace:
        *_, last = argv
        if last == "-l":
            return SimpleNamespace(stdout=LIST, stderr="")
        pid = argv[2].removeprefix("--pid=")
        if last == "dump" and self.alive:
            self._dumps += 1
            dump = self.log_dir / f"callgrind.{pid}.{self._dumps}"
            dump.write_text(f"events: Ir\n{self._totals.format(1000 * self._dumps)}")
        elif list(argv[3:]) == ["instrumentation", "on"]:
            self.counted.append(pid)
        return SimpleNamespace(stdout="", stderr="")


def counters(valgrind: Valgrind) -> counted.Counters:
    return counted.Counters(cast(Lab, valgrind), Path("/var/log/ceph"))


def test_instructions_are_those_of_the_newest_dump_of_each_daemon(tmp_path: Path) -> None:
    valgrind = Valgrind(tmp_path)
    mdss = counters(valgrind)
    mdss.start()
    assert sorted(valgrind.counted) == ["446", "482"]
    for _ in range(4):
        mdss.read()
    assert mdss.read() == {"mds.b": 11_000, "mds.a": 12_000}


def test_a_dump_without_totals_is_an_error(tmp_path: Path) -> None:
    mdss = counters(Valgrind(tmp_path, totals=""))
    with pytest.raises(LabError, match=r"totals in callgrind\.446\.1"):
        mdss.read()


def test_a_dump_that_is_not_written_is_not_taken_from_an_earlier_one(tmp_path: Path) -> None:
    valgrind = Valgrind(tmp_path)
    mdss = counters(valgrind)
    mdss.read()
    valgrind.alive = False
    with pytest.raises(LabError, match="no dump of process 446"):
        mdss.read()


def test_a_missing_valgrind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_TOOLS", tmp_path / "valgrind")
    with pytest.raises(LabError, match="install the package valgrind"):
        counted.check_installed()

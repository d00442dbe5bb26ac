# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an analysis found is read by the next manager, or not at all."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import asdict, replace

import pytest
from verdicts import UNKNOWN, verdict

from mds_partitioner.judge import archive
from mds_partitioner.judge.analysis import FINISHED, Asked, ended, restored
from mds_partitioner.judge.archive import PART, Archive, Found, decode
from mds_partitioner.judge.history import History
from mds_partitioner.judge.judgement import Caveats, DirectoryJudgement, Judgement, RankJudgement
from mds_partitioner.judge.window import Checkpoint, Observed, Window
from mds_partitioner.model import Directory, DirectoryFacts, Observation, RankSample, SubtreeSample
from mds_partitioner.schedule.record import ACT, Capacity, Kept, Turn

SUBVOLUMES = 3000
LIMIT = 64 * 1024  # of the mon, a key


class Mon:
    """Keys and values; refuses what is too long, and dies after so many writes."""

    def __init__(self, writes: int = 1_000_000) -> None:
        self.data: dict[str, str] = {}
        self.writes = writes

    def _write(self) -> None:
        if self.writes == 0:
            raise ConnectionError
        self.writes -= 1

    def put(self, key: str, value: str) -> None:
        """Store one."""
        self._write()
        assert len(value.encode()) < LIMIT
        self.data[key] = value

    def delete(self, key: str) -> None:
        """Remove one; one that is not there is no error."""
        self._write()
        self.data.pop(key, None)

    def items(self, prefix: str) -> dict[str, str]:
        """By prefix."""
        return {key: value for key, value in self.data.items() if key.startswith(prefix)}


def found(directories: int = 3, fs: str = "cephfs") -> Found:
    chosen = random.Random(1)
    rows = tuple(
        DirectoryJudgement(
            Observed(
                Directory(f"/volumes/_nogroup/{chosen.getrandbits(128):032x}", f"s{i} \udcff", 1000 + i),
                wss=float(chosen.randrange(10**6)), requests=chosen.random() * 1e3,
                rentries=chosen.randrange(10**7), sessions=3, ranks=(0, i % 7), pin=-1, ephemeral=False,
                shared=bool(i % 2),
            ),
            workload=chosen.random() * 10, klass="light",
        )
        for i in range(directories)
    )  # fmt: skip
    judgement = Judgement(
        fs=fs, verdict=verdict(None, UNKNOWN), ranks=(RankJudgement(0, 1.5, 2.0, 0.01, 5, 4, 3, 2, True),),
        directories=rows, recommended=None, recommended_reason="not known", cache_limit=4 << 30,
        caveats=Caveats(60, 2, 0.25, 1, 1),
    )  # fmt: skip
    return Found(fs, 600, 60, FINISHED, 1_795_000_000.0, judgement)


def shelf(mon: Mon) -> Archive[Found]:
    return Archive(mon, "judgement/", Found)


def exact(value: Found) -> Found:
    """As the archive rounds it."""
    rows = tuple(
        replace(
            row,
            workload=float(f"{row.workload:.6g}"),
            seen=replace(row.seen, requests=float(f"{row.seen.requests:.6g}")),
        )
        for row in value.judgement.directories
    )
    return replace(value, judgement=replace(value.judgement, directories=rows))


def test_the_next_manager_reads_what_was_found() -> None:
    mon, value = Mon(), found()
    assert shelf(mon).save(7, value)
    assert shelf(mon).load() == {7: exact(value)}
    analysis = restored(value)
    assert (analysis.state, analysis.progress(0.0), analysis.epochs) == (FINISHED, 1.0, 60)
    assert ended(analysis, value.state) == value


def test_3000_subvolumes_fit_a_few_keys() -> None:
    mon = Mon()
    assert shelf(mon).save(7, found(SUBVOLUMES))
    assert len(mon.data) <= 8 and all(len(part) <= PART for part in mon.data.values())
    kept = shelf(mon).load()[7]
    assert isinstance(kept, Found) and len(kept.judgement.directories) == SUBVOLUMES


class Behind(Mon):
    """What it lists is from before the writes that it has taken and not carried out yet."""

    def items(self, prefix: str) -> dict[str, str]:
        """By prefix."""
        return {}


def test_a_seal_whose_write_is_not_answered_yet_is_removed_as_well() -> None:
    mon = Behind()
    kept = shelf(mon)
    kept.save(7, found())
    kept.forget(7)
    assert "judgement/7/seal" not in mon.data


@pytest.mark.parametrize("writes", range(8))
def test_a_manager_that_dies_while_saving_leaves_the_one_before(writes: int) -> None:
    mon, old, new = Mon(), found(2), found(SUBVOLUMES)
    shelf(mon).save(7, old)
    mon.writes = writes
    with suppress(ConnectionError):
        shelf(mon).save(7, new)
    kept = shelf(mon).load()[7]
    assert isinstance(kept, Found) and len(kept.judgement.directories) in (2, SUBVOLUMES)
    mon.writes = 1000
    shelf(mon).save(7, old)
    assert len(mon.data) == 2  # nothing of the interrupted one is left


def test_what_is_kept_again_and_again_is_written_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = tuple(Turn(1e9 + i, ACT, f"{i}", (), (), i, 1.5, 2.0) for i in range(4))
    mind = Kept("cephfs", ACT, 1e9, turns[:3], capacities=(Capacity("m0", 12.5),))
    mon, written = Mon(), list[object]()
    shelf, dumps = Archive(mon, "scheduler/", Kept, often=Turn), archive._dumps
    monkeypatch.setattr(archive, "_dumps", lambda value: written.append(value) or dumps(value))
    for kept, new in ((mind, 3), (replace(mind, turns=turns[1:]), 1), (replace(mind, turns=()), 0)):
        written.clear()
        shelf.save(1, kept)
        assert sum(isinstance(value, Turn) for value in written) == new
        assert Archive(mon, "scheduler/", Kept).load() == {1: kept}


def test_what_is_damaged_is_an_error_and_hides_no_other() -> None:
    mon = Mon()
    shelf(mon).save(7, found())
    shelf(mon).save(8, found(fs="other"))
    part = next(key for key in mon.data if key.startswith("judgement/7/") and not key.endswith("seal"))
    mon.data[part] = mon.data[part][:-9]
    kept = shelf(mon).load()
    assert isinstance(kept[7], ValueError) and isinstance(kept[8], Found)


def test_a_judgement_of_another_version_is_refused_not_misread() -> None:
    with pytest.raises(TypeError, match="duration"):
        decode(Found, {"fs": "cephfs"})


def test_what_an_analysis_did_not_list_is_read_again_and_missing_in_an_older_one() -> None:
    mon, value = Mon(), found()
    caveats = replace(value.judgement.caveats, unlisted={"/volumes/\udcff": 150_000})
    shelf(mon).save(7, replace(value, judgement=replace(value.judgement, caveats=caveats)))
    kept = shelf(mon).load()[7]
    assert isinstance(kept, Found) and kept.judgement.caveats == caveats
    older = asdict(caveats)
    del older["unlisted"]
    assert decode(Caveats, older) == replace(caveats, unlisted={})


def test_what_an_older_manager_did_not_know_yet_is_as_it_is_at_the_beginning() -> None:
    kept = decode(Kept, {"fs": "cephfs", "mode": "act", "since": 5.0})
    assert kept == Kept("cephfs", "act", 5.0)


def test_a_running_analysis_goes_on_from_its_checkpoint() -> None:
    seen = SubtreeSample(Directory("/a", "a", 7), 30.0, 4.0, 1, (0,), False, True)
    samples = (RankSample(0, "m0", 4.0, 0.001, 10, 5, 1, 0.0, 0.0, 1),)
    window = Window("cephfs")
    for _ in range(3):
        window.add(Observation("cephfs", (seen,), missing=(0,)), History().plus(samples, 1.0))
    kept = Archive(Mon(), "checkpoint/", Checkpoint)
    kept.save(7, window.checkpoint(600.0))
    checkpoint = kept.load()[7]
    assert isinstance(checkpoint, Checkpoint) and checkpoint.elapsed == 600.0
    resumed = Window.resumed("cephfs", checkpoint)
    resumed.add(Observation("cephfs", (replace(seen, wss=9.0, requests=0.0),)), History().plus(samples, 9.0))
    summary = resumed.summary({"/a": DirectoryFacts(seen.directory, 99, -1)})
    (row,) = summary.directories
    assert (summary.epochs, summary.missing, row.wss, row.requests, row.shared) == (4, 3, 30.0, 3.0, True)
    assert summary.loads == {0: 4.0}


def test_a_key_of_nobodys_and_a_value_without_end_spoil_nothing_else() -> None:
    mon = Mon()
    kept: Archive[Found] = Archive(mon, "found/", Found)
    assert kept.save(1, found()) and kept.save(2, found())
    mon.data |= {"found/x/seal": "{}", "found/mine": "1", "found/2/seal": "[" * 60_000}
    read = kept.load()
    assert read.keys() == {1, 2}
    assert isinstance(read[1], Found) and isinstance(read[2], ValueError)


@pytest.mark.parametrize(
    "text", ["[" * 60_000, "[1]", "{}", '{"fs": "a", "duration": 1e999, "directories": []}']
)
def test_what_was_asked_for_and_cannot_be_read_is_told_as_that(text: str) -> None:
    with pytest.raises(ValueError, match=r"Error|string"):
        Asked.from_json(text)

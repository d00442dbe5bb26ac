# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of clients, run on a directory of this machine in place of CephFS."""

import contextlib
import itertools
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import cephfs
import pytest

from lab.clients import loadfile, weblog
from lab.clients.jobs.base import Job, Stopped, UnexpectedError
from lab.clients.jobs.churn import Churn
from lab.clients.jobs.dbench import Dbench, Replay
from lab.clients.jobs.mix import Mix
from lab.clients.jobs.programs import Place, Programs
from lab.clients.jobs.scan import Scan
from lab.clients.jobs.weblog import WebLog
from lab.clients.latency_histogram import bucket, merged, middle, percentile
from lab.clients.prepare import Prepare
from lab.clients.spec import ClientSpec
from lab.clients.work import Run
from lab.waiting import until
from tests.unit.lab.hostfs import HostFs

LOG = """\
10.1.2.3 - - [23/Aug/2013:10:00:00 -0400] "GET /courses/ HTTP/1.1" 200 512
10.1.2.3 - - [23/Aug/2013:10:00:01 -0400] "GET /~smith/cv.pdf?x=1 HTTP/1.1" 304 0 "-" "Mozilla"
10.1.2.4 - - [23/Aug/2013:10:00:02 -0400] "POST /cgi HTTP/1.1" 200 5
10.1.2.4 - - [23/Aug/2013:10:00:03 -0400] "GET /gone.html HTTP/1.0" 404 208
10.1.2.4 - - [23/Aug/2013:10:00:04 -0400] "GET /moved HTTP/1.0" 301 20
nonsense
10.1.2.4 - - [23/Aug/2013:10:00:05 -0400] "GET /courses/ HTTP/1.1" 200 512
"""
LOADFILE = r"""
# what a Windows client did
Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\A.DOC" 0x40 0x1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\A.DOC" 0x40 0x2 3 NT_STATUS_OK
WriteX 3 0 65536 65536 NT_STATUS_OK
QUERY_FILE_INFORMATION 3 258 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
SET_FILE_INFORMATION 3 1004 NT_STATUS_OK
LockX 3 2147483538 1 NT_STATUS_OK
UnlockX 3 2147483538 1 NT_STATUS_OK
Flush 3 NT_STATUS_OK
Close 3 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\B.DOC" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
Rename "\clients\client1\A.DOC" "\clients\client1\B.DOC" NT_STATUS_OK
FIND_FIRST "\clients\client1\<.JNK" 260 1366 0 NT_STATUS_NO_SUCH_FILE
QUERY_PATH_INFORMATION "\clients\client1\b.doc" 1004 NT_STATUS_OK
Unlink "\clients\client1\B.DOC" 0x6 NT_STATUS_OK
NTCreateX "\clients\client1\LEFT.OPEN" 0x40 0x5 4 NT_STATUS_OK
Deltree "\clients\client1" NT_STATUS_OK
"""

_OF_A_DIRECTORY = {"mkdir": 1, "create": 2, "stat": 2, "unlink": 2, "rmdir": 1}


def client(**fields: Any) -> ClientSpec:
    return ClientSpec(
        **{"name": "c", "path": "/volumes/g/s/u", "workers": 3, "dirs": 3, "files": 5, **fields}
    )


def prepared(root: Path, spec: ClientSpec) -> HostFs:
    fs = HostFs(root)
    assert Prepare(fs, spec, threading.Event()).run()
    fs.calls.clear()
    return fs


def do(job: Job, workers: int = 3) -> Counter[str]:
    """Workers take turns, as threads would."""
    job.begin()
    counts: Counter[str] = Counter()
    rounds = [job.steps(worker) for worker in range(workers)]
    while rounds:
        for steps in list(rounds):
            step = next(steps, None)
            if step is None:
                rounds.remove(steps)
            else:
                step[1]()
                counts[step[0]] += 1
    for op, act in job.last():
        act()
        counts[op] += 1
    return counts


def test_programs_are_run_line_by_line_in_a_directory_of_each_worker(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("make mkdir a && touch a/b\nlook test -e a/b\nfail ls c 2> /dev/null\n")
    place = Place(tmp_path / "mount", threading.Event())
    job = Programs(place, client(job="programs", source=str(tmp_path / "lines"), home="/here"), 1)
    job.begin()
    for worker in range(2):
        (make, first), (look, second), (fail, third) = job.steps(worker)
        first()
        second()
        with pytest.raises(UnexpectedError, match="`ls c 2> /dev/null` ended with"):
            third()
        assert (make, look, fail) == ("make", "look", "fail")
        assert (tmp_path / f"mount/here/w{worker}/a/b").exists()


def test_a_program_that_is_stopped_leaves_nothing_that_runs(tmp_path: Path) -> None:
    stop = threading.Event()
    place = Place(tmp_path, stop)

    def when_it_works() -> None:
        while not (pid := tmp_path / "pid").exists() or not pid.read_text().strip():
            pass
        stop.set()

    threading.Thread(target=when_it_works).start()
    with pytest.raises(Stopped):
        place.run("sleep 1000 & echo $! > pid; wait", "")
    until(lambda: _gone(int((tmp_path / "pid").read_text())), 60, "what it started has ended")


def _gone(pid: int) -> bool:
    """Ended; it may be that nobody has asked for its exit status."""
    with contextlib.suppress(FileNotFoundError):
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    return True


@pytest.mark.parametrize("start", [0.0, 0.4, 0.99])
def test_a_scan_lists_every_directory_and_touches_every_file_once(tmp_path: Path, start: float) -> None:
    spec = client(job="scan", touch="stat", start=start, record="/records/c")
    fs = prepared(tmp_path, spec)
    counts = do(Scan(fs, spec, 1))
    touched = Counter(path for name, path in fs.calls if name == "stat")
    assert sorted(touched) == sorted(f"/d{d:04d}/f{f:05d}" for d in range(3) for f in range(5))
    assert set(touched.values()) == {1}
    listed = [path for name, path in fs.calls if name == "opendir"]
    assert set(listed) == {"/d0000", "/d0001", "/d0002"}
    assert counts == {"stat": 15, "readdir": len(listed), "record": 1}
    assert len((tmp_path / "records/c").read_text().splitlines()) == 15


@pytest.mark.parametrize(("dirs", "below"), [(1, []), (3, ["/d1", "/d2"])])
def test_churn_makes_uses_and_removes_one_tree_after_the_other(
    tmp_path: Path, dirs: int, below: list[str]
) -> None:
    fs = HostFs(tmp_path)
    job = Churn(fs, client(job="churn", dirs=dirs, files=2, home="/trees"), 1)
    job.begin()
    steps = job.steps(0)
    for turn in range(2):
        places = [f"/trees/c.0.{turn}{name}" for name in ("", *below)]
        done: Counter[str] = Counter()
        for op, act in itertools.islice(steps, dirs * (2 + 3 * 2)):
            act()
            done[op] += 1
            if op == "stat":
                found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("f*"))
                assert found == sorted(f"{place}/f{k}"[1:] for place in places for k in range(2))
        assert done == {op: dirs * much for op, much in _OF_A_DIRECTORY.items()}
        assert list((tmp_path / "trees").iterdir()) == []


def test_a_scan_goes_in_order_and_begins_where_it_is_told(tmp_path: Path) -> None:
    spec = client(job="scan", touch="stat", start=0.4, workers=1)
    fs = prepared(tmp_path, spec)
    do(Scan(fs, spec, 1), workers=1)
    order = [path for name, path in fs.calls if name == "stat"]
    files = [f"/d{d:04d}/f{f:05d}" for d in range(3) for f in range(5)]
    assert order == files[6:] + files[:6]


def test_a_log_names_its_files_and_is_read_in_order(tmp_path: Path) -> None:
    source = tmp_path / "access.log"
    source.write_text(LOG)
    root = tmp_path / "mount"
    root.mkdir()
    spec = client(job="weblog", source=str(source), home="/www", workers=1)
    assert weblog.files(LOG.splitlines()) == ["/courses/index.html", "/~smith/cv.pdf"]
    fs = prepared(root, spec)
    assert do(WebLog(fs, spec, 1), workers=1) == {"open": 3, "miss": 1}
    opened = [path.removeprefix("/www") for name, path in fs.calls if name == "open"]
    assert opened == ["/courses/index.html", "/~smith/cv.pdf", "/gone.html", "/courses/index.html"]


def test_a_file_that_the_server_had_not_must_not_be_there(tmp_path: Path) -> None:
    source = tmp_path / "access.log"
    source.write_text(LOG)
    spec = client(job="weblog", source=str(source))
    fs = prepared(tmp_path, spec)
    (tmp_path / "gone.html").touch()
    with pytest.raises(UnexpectedError):
        do(WebLog(fs, spec, 1))


def test_dbench_replays_its_file_for_each_worker_apart(tmp_path: Path) -> None:
    source = tmp_path / "client.txt"
    source.write_text(LOADFILE)
    root = tmp_path / "mount"
    root.mkdir()
    spec = client(job="dbench", source=str(source), home="/run", workers=2)
    counts = do(Dbench(HostFs(root), spec, 1), workers=2)
    assert counts["NTCreateX"] == 2 * 4 and counts["Rename"] == 2 and "WriteX" not in counts
    assert sorted(p.relative_to(root).as_posix() for p in root.rglob("*")) == [
        "run", "run/w0", "run/w0/clients", "run/w1", "run/w1/clients",
    ]  # fmt: skip


def test_dbench_tells_what_ended_otherwise_than_recorded(tmp_path: Path) -> None:
    fs = HostFs(tmp_path)
    there, absent, unopened = loadfile.operations(
        [
            r'QUERY_PATH_INFORMATION "\X" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND',
            r'QUERY_PATH_INFORMATION "\Y" 1004 NT_STATUS_OK',
            "Close 7 NT_STATUS_OK",
        ]
    )
    (tmp_path / "x").touch()
    with pytest.raises(UnexpectedError):
        Replay(fs, "", 0).do(there)
    with pytest.raises(cephfs.ObjectNotFound):
        Replay(fs, "", 0).do(absent)
    with pytest.raises(UnexpectedError):
        Replay(fs, "", 0).do(unopened)


def test_operations_are_shared_by_the_workers(tmp_path: Path) -> None:
    spec = client(mix={"create": 1.0}, operations=20, home="/md")
    counts = do(Mix(HostFs(tmp_path), spec, 1))
    assert counts == {"create": 20}
    assert len([p for p in tmp_path.rglob("*") if p.is_file()]) == 20


def test_a_run_says_when_its_work_was_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = client(job="scan", touch="stat")
    fs = prepared(tmp_path, spec)
    capfd.readouterr()
    assert Run(fs, spec, 1, threading.Event()).run(None)
    *seconds, whole = map(json.loads, capfd.readouterr().out.splitlines())
    assert (
        whole["done"]["stat"]
        == 15
        == sum(second["latency_ms"].get("stat", {"n": 0})["n"] for second in seconds)
    )
    assert whole["ended"] >= whole["began"]
    counted = sum(sum(second["histogram"].values()) for second in seconds)
    assert counted == sum(whole["done"].values())


def test_a_stopped_run_has_no_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = client(mix={"stat": 1.0})
    fs = prepared(tmp_path, spec)
    assert Run(fs, spec, 1, threading.Event()).run(0.2)
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["ended"] is None


def test_what_repeats_has_no_end_and_does_all_each_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = client(job="scan", dirs=2, files=3, workers=2, repeat=True, record="/record")
    fs = HostFs(tmp_path)
    Prepare(fs, spec, threading.Event()).run()
    assert Run(fs, spec, 1, threading.Event()).run(0.5)
    whole = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert whole["ended"] is None
    done = whole["done"]
    assert done["open"] > 2 * 6 and done["readdir"] >= done["open"] // 3, (
        "all files of a directory, and then again"
    )


def test_histograms_add_up_and_keep_percentiles() -> None:
    values = [i / 1000 for i in range(1, 1001)]
    halves = [Counter(map(bucket, values[::2])), Counter(map(bucket, values[1::2]))]
    total = merged([{str(k): v for k, v in half.items()} for half in halves])
    assert sum(total.values()) == 1000
    for percent in (50, 95, 99):
        assert percentile(total, percent) == pytest.approx(percent / 100, rel=0.045)
    assert percentile({}, 50) is None
    assert middle(bucket(0.0123)) == pytest.approx(0.0123, rel=0.023)

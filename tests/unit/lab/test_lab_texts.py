# SPDX-License-Identifier: LGPL-2.1-or-later
"""Texts the lab writes and reads: ceph.conf, keyrings, recipes, mirrors, command lines, messages."""

import base64
import dataclasses
import fcntl
import os
import struct
from collections import deque
from pathlib import Path

import pytest

from lab import aptconf, cephconf, daemons, lifecycle, process, releases, rootfs, sandbox
from lab.cluster import Shape
from lab.errors import LabError


@pytest.mark.parametrize(("cipher", "kind", "length"), [("aes", 1, 16), ("aes256k", 2, 32)])
def test_a_key_is_laid_out_as_ceph_wants_it(cipher: str, kind: int, length: int) -> None:
    raw = base64.b64decode(cephconf.make_key(cipher))
    got_kind, _, nanoseconds, got_length = struct.unpack("<HIIH", raw[:12])
    assert (got_kind, got_length, len(raw)) == (kind, length, 12 + length)
    assert nanoseconds < 1_000_000_000
    assert cephconf.make_key(cipher) != cephconf.make_key(cipher)


def test_a_keyring_has_the_capabilities_of_each() -> None:
    text = cephconf.keyring({"mgr.x": "K1", "client.load": "K2"})
    assert '[mgr.x]\n\tkey = K1\n\tcaps mon = "allow profile mgr"\n' in text
    assert '[client.load]\n\tkey = K2\n\tcaps mon = "allow r"\n\tcaps mds = "allow rw"\n' in text


def test_the_users_options_go_over_the_labs() -> None:
    text = cephconf.ceph_conf("F", {"mds_beacon_grace": "60", "debug_mds": "20"})
    assert text.count("mds_beacon_grace") == 1
    assert "mds_beacon_grace = 60\n" in text and "debug_mds = 20\n" in text and "fsid = F\n" in text


def test_options_are_parsed_as_ceph_spells_them() -> None:
    assert cephconf.parse_option("mds bal-interval = 5 ") == ("mds_bal_interval", "5")
    assert cephconf.parse_option("a=b=c") == ("a", "b=c")


@pytest.mark.parametrize("text", ["", "debug_mds", "=1", "a\nb=1", "a=1\n[mds]", "[mds]=1"])
def test_bad_options_are_refused(text: str) -> None:
    with pytest.raises(LabError, match="bad option"):
        cephconf.parse_option(text)


def test_names_of_daemons() -> None:
    assert cephconf.mds_names(28)[-3:] == ["z", "aa", "ab"]
    assert len(set(cephconf.mds_names(256))) == 256
    assert cephconf.mgr_names(5) == ["x", "y", "z", "x1", "x2"]


def test_the_key_of_a_root_changes_with_its_recipe() -> None:
    release = releases.get("reef")
    assert rootfs.key(release) == rootfs.key(release)
    for other in (
        dataclasses.replace(release, suite="sid"),
        dataclasses.replace(release, packages=(*release.packages, "strace")),
        dataclasses.replace(release, wheels=()),
    ):
        assert rootfs.key(other) != rootfs.key(release)


def test_an_unknown_release_is_named_with_the_known_ones() -> None:
    with pytest.raises(LabError, match=r"no release 'quincy': the lab knows reef, tentacle"):
        releases.get("quincy")


def test_a_root_is_ready_only_with_marker_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    release = releases.get("tentacle")
    root = rootfs.cache_dir() / rootfs.key(release) / "root"
    for name in releases.get("tentacle").key_files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    assert not rootfs.is_ready(release)
    (root.parent / "built.json").touch()
    assert rootfs.is_ready(release)
    (root / "usr/bin/ceph-mds").unlink()
    assert not rootfs.is_ready(release)


def test_prune_removes_roots_and_leftovers_but_not_those_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = rootfs.cache_dir()
    for name in ("locks", "used-1/root", "free-1/root", "building-free-1-xyz/root", "building-used-1-xyz"):
        (cache / name).mkdir(parents=True)
    (cache / "locks/free-1.lock").touch()
    with (cache / "locks/used-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert rootfs.prune() == (["free-1"], ["used-1"])
    assert sorted(p.name for p in cache.iterdir()) == ["building-used-1-xyz", "locks", "used-1"]
    assert rootfs.prune() == (["used-1"], [])


@pytest.mark.parametrize(
    ("lines", "mirror"),
    [
        ([], []),
        (["http://a/debian/ Debian bookworm"], ["http://a/debian"]),
        (["http://s/security Debian bookworm-security", "https://a/d Debian trixie"], ["https://a/d"]),
        (["http://x/repo Some Vendor stable", "cdrom:[x] Debian bookworm"], []),
    ],
)
def test_the_mirror_is_the_machines_own_main_archive(lines: list[str], mirror: list[str]) -> None:
    assert aptconf.pick_mirror(lines) == mirror


@pytest.mark.parametrize(
    ("command", "daemon"),
    [
        ("ceph-mds -i a", "mds.a"),
        ("/usr/bin/ceph-osd --conf x -i 0", "osd.0"),
        ("ceph-mds -i", None),
        ("ceph -i a", None),
        ("ceph-fuse -i a", None),
        ("mds -i a", None),
        ("", None),
    ],
)
def test_a_daemon_is_known_by_its_command_line(command: str, daemon: str | None) -> None:
    cmdline = "".join(f"{word}\0" for word in command.split())
    assert daemons.daemon_of(cmdline.encode()) == daemon


@pytest.mark.parametrize("name", ["mds", "mds.", ".a", "fuse.a", ""])
def test_bad_daemon_names(name: str) -> None:
    with pytest.raises(LabError, match="bad daemon name"):
        daemons.split(name)


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (Shape(mds=0), "--mds 0 is out of range"),
        (Shape(standby=-1), "--standby -1 is out of range"),
        (Shape(mgr=0), "--mgr 0 is out of range"),
    ],
)
def test_impossible_shapes_are_refused(shape: Shape, says: str) -> None:
    with pytest.raises(LabError, match=says):
        lifecycle.Order("x", releases.get("reef"), shape)


def test_impossible_orders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="CPU quota of 0 %"):
        lifecycle.Order("x", releases.get("reef"), Shape(), mds_cpu=0)
    with pytest.raises(LabError, match="bad lab name"):
        lifecycle.Order("../x", releases.get("reef"), Shape())
    with pytest.raises(LabError, match="is not a program"):
        lifecycle.Order("x", releases.get("reef"), Shape(), mds_binary=tmp_path / "none")


def test_commands_enter_the_cgroup_before_the_sandbox() -> None:
    inside = sandbox.Sandbox(123)
    plain = inside.command(["ceph-mds", "-i", "a"])
    assert plain[-4:] == ["--", "ceph-mds", "-i", "a"] and "123" in plain
    grouped = inside.command(["ceph-mds", "-i", "a"], Path("/cg/mds.a"))
    assert grouped[:1] == ["/bin/sh"] and "/cg/mds.a/cgroup.procs" in grouped
    assert grouped[-len(plain) :] == plain


def test_the_callers_environment_stays_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPH_ARGS", "--id other")
    monkeypatch.setenv("TERM", "xterm")
    env = sandbox.environment({"PYTHONPATH": "/x"})
    assert "CEPH_ARGS" not in env and env["TERM"] == "xterm" and env["PYTHONPATH"] == "/x"


def test_a_pipeline_hands_on_data_and_shows_lines(tmp_path: Path) -> None:
    lines: list[str] = []
    out = tmp_path / "out"
    producer = ["sh", "-c", "echo data; echo step 1 >&2; echo step 2 >&2"]
    process.pipeline(producer, ["sh", "-c", f"cat > {out}"], os.environ, lines.append)
    assert out.read_text() == "data\n"
    assert lines == ["step 1", "step 2"]


@pytest.mark.parametrize(
    ("producer", "consumer", "says"),
    [
        (
            ["env", "--", "sh", "-c", "echo 'E: no such package' >&2; exit 3"],
            ["cat"],
            "sh failed: E: no such package",
        ),
        (["yes"], ["sh", "-c", "echo full >&2; exit 1"], "^sh failed: full$"),
        (["sh", "-c", "exit 1"], ["false"], "^sh failed: it said nothing; false failed: it said nothing$"),
    ],
)
def test_a_broken_pipeline_says_which_end_and_why(
    producer: list[str], consumer: list[str], says: str
) -> None:
    with pytest.raises(LabError, match=says):
        process.pipeline(producer, consumer, os.environ, lambda line: None)


def test_an_interrupted_pipeline_leaves_no_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.pipeline(
            ["sh", "-c", f"echo $$ > {pid_file}; echo >&2; sleep 60"], ["cat"], os.environ, interrupt
        )
    assert not Path(f"/proc/{pid_file.read_text().strip()}").exists()


def test_the_cause_of_a_failed_bootstrap_is_its_first_error() -> None:
    said = ("I: running", "E: Unable to locate package ceph-mon", "E: setup failed")
    lines = deque(f"{line}\n" for line in said)
    assert process.explain(lines) == "E: Unable to locate package ceph-mon"
    assert process.explain(deque(["I: x\n", "\n"])) == "I: x"
    assert process.last_line("") == "it said nothing"

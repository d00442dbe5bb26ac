# SPDX-License-Identifier: LGPL-2.1-or-later
"""A ceph-mds is used only if it was built of the patches that are here."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import releases
from lab.errors import LabError
from lab.progress import Progress
from mds import build
from mds.build import OPTIMIZED, Recipe, built


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Of an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return Recipe(releases.get("tentacle"))


def put_program(recipe: Recipe, digest: str) -> None:
    recipe.program.parent.mkdir(parents=True)
    recipe.program.touch()
    recipe.built.write_text(digest)


def test_a_program_that_was_not_built_is_asked_for(recipe: Recipe) -> None:
    with pytest.raises(LabError, match="no ceph-mds with the hook for tentacle: build it with"):
        built("tentacle")


def test_a_program_of_other_patches_is_refused(recipe: Recipe) -> None:
    put_program(recipe, "of yesterday")
    with pytest.raises(LabError, match="is of other patches than these: build it with"):
        built("tentacle")


def test_a_program_of_these_patches_is_used(recipe: Recipe) -> None:
    put_program(recipe, recipe.digest())
    assert built("tentacle") == recipe.program


def test_the_stock_program_has_a_place_of_its_own_and_no_patches(recipe: Recipe) -> None:
    stock = Recipe(recipe.release, stock=True)
    assert stock.program != recipe.program
    assert stock.series() == [] != recipe.series()


def test_the_optimized_program_is_another_one(recipe: Recipe) -> None:
    put_program(recipe, recipe.digest())
    with pytest.raises(LabError, match="--flags=-O2"):
        built("tentacle", OPTIMIZED)
    optimized = Recipe(recipe.release, flags=OPTIMIZED)
    put_program(optimized, optimized.digest())
    assert built("tentacle", OPTIMIZED) == optimized.program != recipe.program


class Notes(Progress):
    """Keeps what is noted."""

    def __init__(self) -> None:
        super().__init__()
        self.noted = threading.Event()

    def note(self, text: str) -> None:
        self.noted.set()


def test_two_builds_in_one_folder_are_one_after_the_other(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, made = threading.Event(), threading.Event(), list[str]()

    def make(*_: Any) -> None:
        made.append("begin")
        begun.set()
        may_end.wait(10)
        made.append("end")

    root = SimpleNamespace(path=Path("/"), release=lambda: None)
    monkeypatch.setattr(build.rootfs, "acquire", lambda *_: root)
    monkeypatch.setattr(build, "_make", make)
    first, second = Notes(), Notes()
    threads = [threading.Thread(target=build.build, args=(recipe, 1, notes)) for notes in (first, second)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    assert second.noted.wait(10), "it says what it waits for"
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert made == ["begin", "end"] * 2

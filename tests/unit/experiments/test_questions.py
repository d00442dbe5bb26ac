# SPDX-License-Identifier: LGPL-2.1-or-later
"""pyproject.toml, which says what may import what, knows every question and every folder with code."""

from pathlib import Path
from typing import Any

import tomllib

HOME = Path(__file__).resolve().parents[3]
LINTER: dict[str, Any] = tomllib.loads((HOME / "pyproject.toml").read_text())["tool"]["importlinter"]


def test_every_question_is_independent_of_the_others() -> None:
    (independent,) = (one["modules"] for one in LINTER["contracts"] if one["type"] == "independence")
    questions = {path.parent.name for path in (HOME / "experiments").glob("*/__init__.py")} - {"common"}
    assert set(independent) == {f"experiments.{name}" for name in questions}


def test_every_folder_with_a_package_is_looked_at() -> None:
    packages = {path.parent.name for path in HOME.glob("*/__init__.py")}
    assert packages <= set(LINTER["root_packages"])
    assert "lab" in packages

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What runs before a commit is what tox's lint environment runs."""

import configparser
from pathlib import Path

import yaml

HOME = Path(__file__).resolve().parents[3]


def test_the_linters_are_those_of_make_lint() -> None:
    tox = configparser.RawConfigParser()
    tox.read(HOME / "tox.ini")
    commands = tox["testenv"]["commands"].replace("{[venv]bin}", ".venv/bin").splitlines()
    lint = [command.removeprefix("lint: ") for command in commands if command.startswith("lint: ")]
    hooks = yaml.safe_load((HOME / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == lint
    assert lint != []

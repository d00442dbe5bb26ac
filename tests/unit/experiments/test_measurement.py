# SPDX-License-Identifier: LGPL-2.1-or-later
"""What programs that measure keep of it."""

import json
from pathlib import Path

import pytest

from experiments.common import measurement


def test_a_result_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results/x.json"
    measurement.save(path, {"runs": [1]})

    def half(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[: len(text) // 2])
        raise OSError("No space left on device")

    with monkeypatch.context() as full, pytest.raises(OSError, match="No space"):
        full.setattr(Path, "write_text", half)
        measurement.save(path, {"runs": [1, 2]})
    assert json.loads(path.read_text()) == {"runs": [1]}
    measurement.save(path, {"runs": [1, 2]})
    assert json.loads(path.read_text()) == {"runs": [1, 2]}
    assert [one.name for one in path.parent.iterdir()] == ["x.json"]

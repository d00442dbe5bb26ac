# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the documents claim is what the raw results say."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.claims import __main__ as claims
from docs.claims import markers, texts
from docs.claims.claim import Claim
from docs.claims.results import Results
from experiments.common import provenance
from experiments.common.provenance import age
from lab.errors import LabError
from lab.sandbox import checkout

DOCUMENT = "a <!-- claims: one -->1<!-- end --> b\n\n<!-- claims: two -->\n| x |\n<!-- end -->\n"


def test_the_documents_of_this_checkout_agree_with_their_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["--check"]) == 0, capsys.readouterr().err


def test_what_is_between_the_marks_is_rendered_anew() -> None:
    text = {"one": "7", "two": "| y |"}
    assert [place.name for place in markers.places(DOCUMENT)] == ["one", "two"]
    assert markers.differences(DOCUMENT, text.__getitem__) == ["one", "two"]
    new = markers.filled(DOCUMENT, text.__getitem__)
    assert new == DOCUMENT.replace("1", "7").replace("| x |", "| y |")
    assert markers.differences(new, text.__getitem__) == []
    twice = f"{new}<!-- claims: one -->8<!-- end -->"
    assert markers.differences(twice, text.__getitem__) == ["one"]
    empty = "<!-- claims: two -->\n<!-- end -->\n"
    assert markers.filled(empty, text.__getitem__) == "<!-- claims: two -->\n| y |\n<!-- end -->\n"


@pytest.mark.parametrize(
    "text", ["<!-- claims: one -->1", "<!-- claims: one -->1<!-- claims: two -->2<!-- end -->"]
)
def test_a_mark_without_an_end_is_named(text: str) -> None:
    with pytest.raises(LabError, match="claims: one"):
        markers.filled(text, lambda name: name)


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with the demo's results, and one claim."""
    (tmp_path / "docs/results").mkdir(parents=True)
    for path in (checkout() / "docs/results").glob("demo-*.json"):
        shutil.copy(path, tmp_path / "docs/results")
    (tmp_path / "README.md").write_text("<!-- claims: demo -->\n<!-- end -->\n")
    monkeypatch.setattr(claims, "CLAIMS", {"demo": texts.CLAIMS["demo"]})
    yield tmp_path


def test_a_document_that_differs_is_named_and_mended(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["--check"], top) == 1
    assert "README.md: demo" in capsys.readouterr().err
    assert claims.main([], top) == 0
    text = (top / "README.md").read_text()
    assert "| throughput of all clients |" in text
    assert claims.main(["--check"], top) == 0
    (top / "README.md").write_text(text.replace(" op/s |", "1 op/s |"))
    assert claims.main(["--check"], top) == 1


def test_a_claim_without_its_result_fails(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (top / "docs/results").glob("*"):
        path.unlink()
    assert claims.main([], top) == 1
    assert "demo: no result is there for demo-" in capsys.readouterr().err


def test_a_claim_that_no_document_has_fails(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "README.md").write_text("nothing\n")
    assert claims.main([], top) == 1
    assert "no document has demo" in capsys.readouterr().err


def test_a_mark_of_an_unknown_claim_fails(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (top / "README.md").open("a") as readme:
        readme.write("<!-- claims: dmeo --><!-- end -->\n")
    assert claims.main([], top) == 1
    assert "no claim 'dmeo', but demo" in capsys.readouterr().err


def test_a_headline_of_other_files_is_told_and_fails_when_strict(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = top / "docs/results/demo-1.json"
    first.write_text(json.dumps(json.loads(first.read_text()) | {"version": "abc", "digests": {"demo": "0"}}))
    assert claims.main([], top) == 0
    told = capsys.readouterr().out
    # Beside others, if the demo's results are of other code as well.
    assert re.search(
        r"demo was not measured with today's files\. Measured at: .*\babc\b.* \(\d of 3, by", told
    )
    assert claims.main(["--strict"], top) == 1


def test_a_result_of_todays_files_needs_no_version() -> None:
    kept = provenance.made_by(("policy",))
    assert provenance.measured_at(kept) is None
    assert str(Claim("x", [kept])) == "x"
    other = {"version": "v1-2-gabc", "digests": {"policy": "0" * 16}}
    assert provenance.measured_at(other) == "v1-2-gabc"
    assert provenance.measured_at({}) == provenance.BEFORE
    told = "(2 of 3, by other code than today's)"
    assert age([kept, other, {}]) == f"Measured at: before digests, v1-2-gabc {told}."
    assert str(Claim("x", [other])) == "x\n\nMeasured at: v1-2-gabc (1 of 1, by other code than today's)."
    assert str(Claim("x", [other], table=False)) == "x", "a figure within a line"


def test_old_results_are_counted_by_balancer() -> None:
    kept = provenance.made_by(("policy",)) | {"balancer": "builtin"}
    other = {"version": "v1", "digests": {"policy": "0"}}
    ours = [other | {"balancer": "scheduler"}] * 2
    told = age([kept, kept, other | {"balancer": "builtin"}, *ours])
    assert told == "Measured at: v1 (scheduler 2 of 2, builtin 1 of 3, by other code than today's)."


def test_many_versions_are_counted() -> None:
    many = [{"version": f"v{k}", "digests": {"policy": "0"}} for k in range(4)]
    assert age([*many, many[0]]).startswith("Measured at: 4 versions, each cell tells its own (5 of 5, ")


def test_a_digest_is_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "mantle/__pycache__").mkdir(parents=True)
    policy = tmp_path / "mantle/lunule.lua"
    policy.write_text("return 1")
    first = provenance.digest("policy", tmp_path)
    (tmp_path / "mantle/__pycache__/x.pyc").write_text("left by an interpreter")
    assert provenance.digest("policy", tmp_path) == first
    policy.write_text("return 2")
    second = provenance.digest("policy", tmp_path)
    policy.rename(tmp_path / "mantle/other.lua")
    assert len({first, second, provenance.digest("policy", tmp_path)}) == 3


def test_every_part_that_a_digest_is_of_is_there() -> None:
    for places in provenance.PARTS.values():
        assert all((checkout() / place).exists() for place in places)


def test_what_does_not_count_in_the_matrix() -> None:
    text = texts.CLAIMS["left-out"](Results(checkout() / "docs/results")).text
    assert [line.split(" | ")[0] for line in text.splitlines()[2:]] == [
        *("| cnn, oracle, run 1", "| cnn, oracle, run 3", "| nlp, oracle, run 2"),
        *("| nlp, lunule-mindex, run 2", "| zipf, subvolume-pinning, run 3"),
    ]

# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m docs.claims`: render what the documents claim out of the raw results, or check it."""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from docs.claims import markers
from docs.claims.claim import Claim
from docs.claims.pictures import PICTURES
from docs.claims.results import Results
from docs.claims.texts import CLAIMS
from experiments.common.measurement import exit_status
from experiments.common.provenance import age
from lab.errors import LabError
from lab.sandbox import checkout

HEADLINE = "README.md"


def main(argv: Sequence[str], top: Path | None = None) -> int:
    """Render or check; the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m docs.claims", description=__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document differs")
    parser.add_argument(
        "--strict", action="store_true", help=f"fail if {HEADLINE} claims what other files than today's did"
    )
    args = parser.parse_args(argv)
    return exit_status("claims", lambda: _work(top or checkout(), args.check, args.strict))


def _work(top: Path, check: bool, strict: bool) -> None:
    results = Results(top / "docs/results")

    @cache
    def claim(name: str) -> Claim:
        if name not in CLAIMS:
            raise LabError(f"there is no claim {name!r}, but {', '.join(CLAIMS)}")
        try:
            return CLAIMS[name](results)
        except LabError as e:
            raise LabError(f"{name}: {e}") from None

    documents = {path: path.read_text() for path in (top / HEADLINE, *sorted((top / "docs").rglob("*.md")))}
    missing = set(CLAIMS) - {place.name for text in documents.values() for place in markers.places(text)}
    if missing:
        raise LabError(f"no document has {', '.join(sorted(missing))}")
    wrong = [
        f"{path.relative_to(top)}: {name}"
        for path, text in documents.items()
        for name in markers.differences(text, lambda name: str(claim(name)))
    ]
    if check and wrong:
        raise LabError(f"not what the data say (`make claims` renders them): {'; '.join(wrong)}")
    for path, text in documents.items():
        new = markers.filled(text, lambda name: str(claim(name)))
        if new != text:
            path.write_text(new)
    for picture in () if check else PICTURES:
        if any(picture.place in text for text in documents.values()):
            picture.draw(results, top)
    print(f"{len(CLAIMS)} claims agree with the data; rendered anew: {'; '.join(wrong) or 'none'}")
    headline = [place.name for place in markers.places(documents[top / HEADLINE])]
    _tell_age({name: claim(name) for name in headline}, strict)


def _tell_age(claims: dict[str, Claim], strict: bool) -> None:
    """Say which of the headline's claims were measured with other files. :raises LabError: and strict"""
    old = {name: versions for name, claim in claims.items() if (versions := age(claim.made_of))}
    for name, versions in old.items():
        print(f"{HEADLINE}: {name} was not measured with today's files. {versions}")
    if old and strict:
        raise LabError(f"{HEADLINE} claims what was measured with other files: {', '.join(old)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What made a page, so that it can be told whether it is of today's files."""

from experiments.common import provenance

PARTS = ("simulator", "scheduler", "policy")


def stamp() -> str:
    """The commit, and digests of the files, as a sentence."""
    made = provenance.made_by(PARTS)
    digests = ", ".join(f"{part} {digest}" for part, digest in made["digests"].items())
    return f"Made at {made['version']}; digests (`experiments/common/provenance.py`): {digests}."

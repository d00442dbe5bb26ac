# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write what is checked in: `python3 -m monitoring`."""

from pathlib import Path

from .alerts import rules

HERE = Path(__file__).parent


def main() -> None:
    """Write the rules."""
    (HERE / "prometheus_alerts.yml").write_text(rules())


main()

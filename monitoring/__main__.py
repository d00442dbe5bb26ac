# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write what is checked in: `python3 -m monitoring`."""

from pathlib import Path

from .alerts import rules
from .dashboards import dashboards

HERE = Path(__file__).parent


def main() -> None:
    """Write the rules and the dashboards."""
    (HERE / "prometheus_alerts.yml").write_text(rules())
    for name, text in dashboards().items():
        (HERE / "grafana" / name).write_text(text)


main()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sources of the Prometheus alerts and the Grafana dashboards; `python3 -m monitoring` writes the files."""

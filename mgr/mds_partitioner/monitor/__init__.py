# SPDX-License-Identifier: LGPL-2.1-or-later
"""What operators watch: metrics, a status page, health checks. Everything here only reads."""

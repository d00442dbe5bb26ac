# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions, one folder each, that are answered on clusters of the lab."""

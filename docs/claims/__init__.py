# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the documents claim, rendered out of the raw results."""

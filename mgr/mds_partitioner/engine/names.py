# SPDX-License-Identifier: LGPL-2.1-or-later
"""Words that the engine and the module share. Nothing compiled is imported here: the module reads it too."""

HEAVY, MODERATE, LIGHT = "heavy", "moderate", "light"  # classes of subvolumes
MASK, FANOUT = "mask", "fanout"  # how heavy subvolumes get several ranks
MODES = (MASK, FANOUT)

DEBIANS = "(Debian's names; elsewhere see docs/install.md)"  # after packages that are to be installed

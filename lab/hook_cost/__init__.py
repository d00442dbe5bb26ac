# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the hook costs an MDS, against stock source built with the same flags."""

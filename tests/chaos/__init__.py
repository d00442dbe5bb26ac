# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plans on a real cluster where everything may happen at any moment, and what must hold afterwards."""

# SPDX-License-Identifier: LGPL-2.1-or-later
"""The paper's figures as measured here; one module a kind of picture."""

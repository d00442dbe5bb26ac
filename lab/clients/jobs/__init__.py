# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the workers of a client do, operation by operation; one module a kind of job."""

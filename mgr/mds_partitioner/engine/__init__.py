# SPDX-License-Identifier: LGPL-2.1-or-later
"""The numeric engine: pure functions behind a JSON-lines protocol, in a process of its own
(docs/design.md, "Why an engine process").

Run as ``python3 -m engine`` with the directory above this package on PYTHONPATH.
"""

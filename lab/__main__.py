# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python3 -m lab`."""

import sys

from lab.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

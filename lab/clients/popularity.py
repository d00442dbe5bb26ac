# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which file is used next."""

import itertools
import random
from bisect import bisect_right


class Popularity:
    """Draws from a working set: a fixed random sample of all files, uniform or by Zipf's law."""

    def __init__(self, total: int, used: int, zipf: float, seed: int) -> None:
        """Choose used of total files; popularity falls with the power zipf of a file's place among them."""
        self.working_set = random.Random(seed).sample(range(total), used)
        self._cumulative = (
            [] if zipf == 0 else list(itertools.accumulate((i + 1) ** -zipf for i in range(used)))
        )

    def draw(self, rng: random.Random) -> int:
        """The next file's number."""
        if not self._cumulative:
            return rng.choice(self.working_set)
        point = rng.random() * self._cumulative[-1]
        return self.working_set[min(bisect_right(self._cumulative, point), len(self.working_set) - 1)]

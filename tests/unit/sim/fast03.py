# SPDX-License-Identifier: LGPL-2.1-or-later
"""ARC(c) as published: Megiddo and Modha, FAST'03, Figure 4, case by case. It judges the one that is used."""

from collections import OrderedDict

Queue = OrderedDict[int, None]


class Arc:
    """Oldest first in every queue."""

    def __init__(self, c: int) -> None:
        self.c = c
        self.p = 0.0
        self.t1: Queue = OrderedDict()
        self.t2: Queue = OrderedDict()
        self.b1: Queue = OrderedDict()
        self.b2: Queue = OrderedDict()

    def request(self, x: int) -> bool:
        """Whether x was cached."""
        hit = x in self.t1 or x in self.t2
        if hit:  # Case I
            self.t1.pop(x, None)
            self.t2.pop(x, None)
        elif x in self.b1:  # Case II
            self.p = min(self.c, self.p + max(len(self.b2) / len(self.b1), 1.0))
            self._replace(x)
            del self.b1[x]
        elif x in self.b2:  # Case III
            self.p = max(0.0, self.p - max(len(self.b1) / len(self.b2), 1.0))
            self._replace(x)
            del self.b2[x]
        else:
            self._miss(x)
            self.t1[x] = None
            return False
        self.t2[x] = None
        return hit

    def _miss(self, x: int) -> None:  # Case IV
        first = len(self.t1) + len(self.b1)
        both = first + len(self.t2) + len(self.b2)
        if first == self.c:  # A
            if len(self.t1) < self.c:
                self.b1.popitem(last=False)
                self._replace(x)
            else:
                self.t1.popitem(last=False)
        elif both >= self.c:  # B
            if both == 2 * self.c:
                self.b2.popitem(last=False)
            self._replace(x)

    def _replace(self, x: int) -> None:
        if self.t1 and (len(self.t1) > self.p or (x in self.b2 and len(self.t1) == self.p)):
            self.b1[self.t1.popitem(last=False)[0]] = None
        else:
            self.b2[self.t2.popitem(last=False)[0]] = None

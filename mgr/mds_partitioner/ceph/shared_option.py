# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of all MDSs of the cluster that several users of ours may want at once.

option/NAME/USER   a claim: what the user wants it to be, and what it was without all of us

Users are plans, schedulers and policies. Whoever is last puts back what was there. A claim is durable before
its user sets the option, and goes after the last user has put it back; who looks at both looks until the
claims have not changed meanwhile. Of two that let go at once the later one sees that nobody is left, and who
sees that somebody came sets the option again. So no lock is held while the mon is waited for; only what comes
just between two that let go at once can take their value for an operator's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ..errors import Unavailable
from ..store import Store
from .host import Host

_PREFIX = "option/"
LOOKS = 3  # in which an operator may set it anew while claims are written


@dataclass(frozen=True)
class SharedOption:
    """An option (``ceph config set mds NAME VALUE``) as one user sees it.

    :ivar user: who; "" looks only
    :ivar wanted: the value that users of ours set
    """

    host: Host
    name: str
    user: str
    wanted: str

    def read(self) -> str:
        """The value, "" when none is set; for who has no claim, what it would be without the others'."""
        present, claims = self._look()
        return present if self.user in claims else self._without(present, claims)

    def take(self, may: Callable[[], bool] = lambda: True) -> None:
        """Set it to what is wanted, until it is given back.

        :param may: asked right before it is set, as what comes before takes the mon's time
        :raises Unavailable: it may not; a claim stays, as its user is about to set the option all the same
        """
        for _ in range(LOOKS):
            claimed = self._claim_all()
            if self.host.mds_option(self.name) in (claimed, self.wanted):
                break
        else:
            raise Unavailable(f"{self.name} was not set: somebody else sets it again and again")
        self._set(self.wanted, may)

    def _claim_all(self) -> str:
        """Claim it, and have all claims say what an operator has set since. Returns the value that was read
        before: a slow mon takes a while for each claim."""
        present, claims = self._look()
        if self.user not in claims:
            old = self._without(present, claims)
            self.claim(old)
            for other, theirs in claims.items():
                if present not in (theirs, self.wanted):  # an operator has set it since: that is to come back
                    self._claim(other, present)
        elif present not in (claims[self.user], self.wanted):  # likewise
            for user in claims:
                self._claim(user, present)
        return present

    def give_back(self, old: str, may: Callable[[], bool] = lambda: True) -> None:
        """Put back what was there when no other user is left. ``old``: if there is no claim that says it

        :param may: as for ``take``
        """
        claims = self._claims()
        old = claims.pop(self.user, old)
        alone = not claims
        if alone:
            self._set(old, may)
        self.let_go()
        if alone == bool(self._claims()):
            self.host.set_mds_option(self.name, self.wanted if alone else old)

    def leave(self) -> None:
        """From now on it is an operator's as it is, if this user has set it: no other one puts back what was
        there before. The claim goes with its user."""
        claims = self._claims()
        if claims.pop(self.user, None) is not None and self.is_set():
            for other in claims:
                self._claim(other, self.wanted)

    def is_operators(self) -> bool:
        """Is it left to an operator as it is (see ``leave``)?"""
        return self.replaced() == self.wanted

    def let_go(self) -> None:
        """The option is not this user's any more, and is left as it is. A claim that was not answered yet may
        not show: it goes, too, as the mon takes one after the other."""
        self.host.store.delete(self._key(self.user))

    def claim(self, old: str) -> None:
        """This user has set it, or is about to; ``old``: what it is to put back."""
        self._claim(self.user, old)

    def is_set(self) -> bool:
        """To what is wanted, by whomever."""
        return self.host.mds_option(self.name) == self.wanted

    def replaced(self) -> str | None:
        """What this user is to put back; None: it has no claim."""
        return self._claims().get(self.user)

    def _set(self, value: str, may: Callable[[], bool]) -> None:
        if not may():
            raise Unavailable(f"{self.name} was not set: it is not wanted any more")
        self.host.set_mds_option(self.name, value)

    def _without(self, present: str, claims: dict[str, str]) -> str:
        return next(iter(claims.values())) if claims and present == self.wanted else present

    def _look(self) -> tuple[str, dict[str, str]]:
        """The value, and the claims that were there before and after it was read."""
        claims = self._claims()
        while True:
            present = self.host.mds_option(self.name)
            before, claims = claims, self._claims()
            if before == claims:
                return present, claims

    def _claims(self) -> dict[str, str]:
        """What each user of ours is to put back, by user."""
        prefix, found = self._key(""), {}
        for key, value in self.host.store.items(prefix).items():
            try:
                claim = json.loads(value)
                if claim["value"] == self.wanted:
                    found[key.removeprefix(prefix)] = str(claim["old"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # of nobody who could be asked
        return found

    def _claim(self, user: str, old: str) -> None:
        self.host.store.put(self._key(user), json.dumps({"value": self.wanted, "old": old}))

    def _key(self, user: str) -> str:
        return f"{_PREFIX}{self.name}/{user}"


def users(store: Store, name: str) -> list[str]:
    """Who has claims on an option."""
    prefix = f"{_PREFIX}{name}/"
    return [key.removeprefix(prefix) for key in store.items(prefix)]


def sweep(store: Store, kinds: Collection[str], users: Callable[[], Collection[str]]) -> None:
    """Claims of users of these kinds ("plan", ...) that are not there any more go; the options are left.

    :param users: those that are there; asked after the claims were read, as a user comes before its claim
    """
    claims = store.items(_PREFIX)
    there = users()
    for key in claims:
        user = key.removeprefix(_PREFIX).partition("/")[2]
        if user.partition("/")[0] in kinds and user not in there:
            store.delete(key)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""Options of all MDSs of the cluster that several users of ours may want at once.

option/NAME/USER   a claim: what the user wants it to be, and what it was without all of us

Users are plans, schedulers and policies. Whoever is last puts back what was there. Each claim is durable
before its user sets the option, and users look at the claims after they looked at the option: so nobody
takes what another user has set for an operator's. No lock is needed: of two that let go at once the later one
sees that nobody is left, and who sees that somebody came meanwhile sets the option again.
"""

import json
from dataclasses import dataclass

from ..host import Host
from ..store import Store

_PREFIX = "option/"


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
        present, claims = self.host.mds_option(self.name), self._claims()
        if present != self.wanted or self.user in claims or not claims:
            return present
        return next(iter(claims.values()))

    def write(self, value: str) -> None:
        """Set what is wanted, or go back to what was there; that is done when no other user is left."""
        if value == self.wanted:
            self._take()
        else:
            self._give_back(value)

    def let_go(self) -> None:
        """The option is not this user's any more, and is left as it is."""
        if self.user in self._claims():
            self.host.store.delete(self._key(self.user))

    def replaced(self) -> str | None:
        """What this user is to put back; None: it has no claim."""
        return self._claims().get(self.user)

    def _take(self) -> None:
        present, claims = self.host.mds_option(self.name), self._claims()
        if self.user not in claims:
            old = present if present != self.wanted or not claims else next(iter(claims.values()))
            self._claim(self.user, old)
            for other, theirs in claims.items():
                if old not in (theirs, self.wanted):  # an operator has set it since: that is to come back
                    self._claim(other, old)
        self.host.set_mds_option(self.name, self.wanted)

    def _give_back(self, value: str) -> None:
        claims = self._claims()
        old = claims.pop(self.user, value)
        alone = not claims
        if alone:
            self.host.set_mds_option(self.name, old)
        self.host.store.delete(self._key(self.user))
        if alone == bool(self._claims()):
            self.host.set_mds_option(self.name, old if not alone else self.wanted)

    def _claims(self) -> dict[str, str]:
        """What each user of ours is to put back, by user."""
        prefix = self._key("")
        found = {k.removeprefix(prefix): json.loads(v) for k, v in self.host.store.items(prefix).items()}
        return {user: str(claim["old"]) for user, claim in found.items() if claim["value"] == self.wanted}

    def _claim(self, user: str, old: str) -> None:
        self.host.store.put(self._key(user), json.dumps({"value": self.wanted, "old": old}))

    def _key(self, user: str) -> str:
        return f"{_PREFIX}{self.name}/{user}"


def forget(store: Store, user: str) -> None:
    """Nobody remembers this user: its claims go, and the options are left as they are."""
    for key in store.items(_PREFIX):
        if key.removeprefix(_PREFIX).partition("/")[2] == user:
            store.delete(key)

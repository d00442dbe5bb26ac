# SPDX-License-Identifier: LGPL-2.1-or-later
"""Questions about directories, side by side and each round for a while only.

A full MDS lets each question wait, and one about what is being exported is not answered until that has gone.
What is not answered in time is not asked again meanwhile; its answer is taken in when it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Union

from ..ceph.filesystem import FileSystem
from ..ceph.host import Host
from ..errors import PartitionerError
from ..model import FsState

WITHIN = 5.0  # s that are waited for in a round
SOON = 2.5  # s: the same, before the first decision
FRESH = 60.0  # s, for which what was read is good

Lesson = Callable[[], None]
"""Takes in what was read: in the loop's thread."""
About = tuple[str, Union[int, str]]
"""What a question is about: what is asked, and the inode number or path of what."""
Questions = dict[About, Callable[[FileSystem], Lesson]]


def fresh(at: float, now: float, within: float = FRESH) -> bool:
    """Is it so lately that it was read? Not where that is yet to come: the clock was put back."""
    return 0.0 <= now - at <= within


class Asking:
    """Of one file system. Not more than one question about the same thing is under way."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._pending: dict[About, Future[Lesson]] = {}

    def pending(self, what: str) -> set[int]:
        """Inode numbers of what this was asked of, and not answered yet."""
        return {of for asked, of in self._pending if asked == what and isinstance(of, int)}

    def ask(
        self, fs: FsState, questions: Questions, within: float = WITHIN, *, patient: bool = False
    ) -> dict[About, PartitionerError]:
        """Ask, and take in what was answered, also of earlier questions. What failed, and why.

        :param patient: earlier questions are waited for as well
        :raises Exception: what nobody expects of a question
        """
        new = {about: question for about, question in questions.items() if about not in self._pending}
        begun = {about: self._host.begin_on_fs(fs, question) for about, question in new.items()}
        self._pending |= begun
        wait((self._pending if patient else begun).values(), within)
        failed: dict[About, PartitionerError] = {}
        unexpected: Exception | None = None
        for about, future in list(self._pending.items()):
            if not future.done() and not future.cancel():
                continue
            del self._pending[about]
            if future.cancelled():
                continue  # it was not begun: all threads hang
            try:
                future.result()()
            except PartitionerError as e:
                failed[about] = e
            except Exception as e:  # the other answers count all the same
                unexpected = e
        if unexpected is not None:
            raise unexpected
        return failed

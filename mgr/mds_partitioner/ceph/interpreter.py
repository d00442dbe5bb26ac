# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keeps classes of C extensions that all of a manager's modules share apart from the classes of this one.

Each module of a manager has a Python interpreter of its own, but Ceph's own extensions (cephfs, rados, rbd)
are loaded once, and all interpreters have the same classes of them. Since Python 3.12 each one numbers
classes by itself, from the same number on, and finds attributes by a class's number and a name
(Objects/typeobject.c: ``assign_version_tag``, ``_PyType_Lookup``). A shared class keeps the number that the
first interpreter gave it, which in another one is the number of some other class, too: each may then be given
the other's ``__init__``, or any other attribute. Seen with 3.13: ``Prediction(...)`` called
``cephfs.OSError.__init__``.
"""

import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader

SINCE = (3, 12)
BEYOND = 200_000  # numbers: more than any other module's interpreter comes to
EACH = 500  # of one class; after 1,000 it is given none any more


def keep_apart() -> None:
    """Give every shared class a number of this interpreter, one that no other interpreter comes to."""
    if sys.version_info < SINCE:
        return
    _skip(BEYOND)
    for shared in _classes():
        try:
            shared.__doc__ = shared.__doc__  # what is changed is given a new number
        except (AttributeError, TypeError):
            continue  # of a fixed type: numbered for the whole process
        _ = shared.__str__  # looked up, and so numbered: now, and by this interpreter
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        sys._clear_type_cache()  # what was found by the numbers of before


def _skip(numbers: int) -> None:
    for _ in range(numbers // EACH):

        class Numbered:
            value = 0

        for value in range(EACH):
            Numbered.value = value
            _ = Numbered.value


def _classes() -> Iterator[type]:
    for module in list(sys.modules.values()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if isinstance(loader, ExtensionFileLoader):
            yield from (value for value in list(vars(module).values()) if isinstance(value, type))

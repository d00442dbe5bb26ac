# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where ``ceph.dir.pin.distributed`` puts a directory's fragments (Ceph: src/mds/MDCache.cc)."""

WORD = (1 << 64) - 1


def _mixed(key: int) -> int:
    """``rjhash64`` of src/include/hash.h."""
    key = (~key + (key << 21)) & WORD
    key ^= key >> 24
    key = (key + (key << 3) + (key << 8)) & WORD
    key ^= key >> 14
    key = (key + (key << 2) + (key << 4)) & WORD
    key ^= key >> 28
    return (key + (key << 31)) & WORD


def _bucket(key: int, buckets: int) -> int:
    """Jump consistent hash (Lamping and Veach, 2014), as in ``MDCache::hash_into_rank_bucket``."""
    found = following = 0
    while following < buckets:
        found = following
        key = (key * 2862933555777941757 + 1) & WORD
        following = int((found + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return found


def fragment_ranks(ino: int, max_mds: int, factor: float) -> tuple[int, ...]:
    """The rank of each fragment of a directory that is distributed: equal parts of its names.

    :param factor: ``mds_export_ephemeral_distributed_factor``
    """
    wanted, bits = int(max_mds * factor) if max_mds > 1 else 1, 0
    while 1 << bits < wanted:
        bits += 1
    if not bits:
        return (_bucket(_mixed(ino), max_mds),)
    values = (i << (24 - bits) for i in range(1 << bits))  # frag_t keeps them in the upper bits of 24
    return tuple(_bucket(_mixed((_mixed(ino) + _mixed(value)) & WORD), max_mds) for value in values)

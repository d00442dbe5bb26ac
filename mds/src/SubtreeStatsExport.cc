// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The visits of a dirfrag and of the inodes in it travel with it when it is
 * exported; of inodes that are trimmed already, only the number of visits.
 *
 * They are behind what struct_v says that there is, where any MDS skips them,
 * in an encoding of their own. So the next version of the dirfrag's is free.
 */

#include "SubtreeStats.h"

#include "CDentry.h"
#include "CDir.h"
#include "CInode.h"
#include "include/encoding.h"

namespace {

/// "mindex" and a version's worth of nothing: what begins otherwise is somebody else's
constexpr uint64_t MAGIC = 0x7865646e696d0000;

} // anonymous namespace

void SubtreeStats::encode_visits(CDir *dir, ceph::bufferlist& bl) const
{
  using ceph::encode;
  auto it = ids.find(dir->dirfrag());
  if (!recording() || it == ids.end())
    return;
  const auto& frag = frags[it->second];
  encode(MAGIC, bl);
  ENCODE_START(1, 1, bl);
  encode(uint32_t(WINDOWS), bl);
  for (unsigned age = 0; age < WINDOWS; age++)
    encode(frag.visits[(epoch - age) % WINDOWS], bl);
  encode(frag.firsts, bl);
  uint32_t count = 0;
  ceph::bufferlist visited;
  for (const auto& [key, dn] : *dir) {
    if (!dn->get_linkage()->is_primary())
      continue;
    const inodeno_t ino = dn->get_linkage()->get_inode()->ino();
    auto seen = inodes.find(ino);
    if (seen == inodes.end() || seen->second.frag != it->second)
      continue;
    encode(ino, visited);
    encode(uint8_t(seen->second.windows), visited);
    encode(uint32_t(seen->second.hash), visited);
    count++;
  }
  encode(count, bl);
  bl.claim_append(visited);
  ENCODE_FINISH(bl);
}

/**
 * end: of the dirfrag's encoding.
 * A dirfrag that comes back within the windows finds what it left here. That is
 * in what is sent, too, so the latter takes its place.
 */
void SubtreeStats::decode_visits(const CDir *dir, ceph::bufferlist::const_iterator& p, unsigned end)
{
  using ceph::decode;
  uint64_t magic;
  if (p.get_off() + sizeof(magic) > end)
    return;
  decode(magic, p);
  if (magic != MAGIC)
    return;
  DECODE_START(1, p);
  std::vector<uint32_t> visits;
  decode(visits, p);
  visits.resize(WINDOWS);
  uint32_t firsts, count;
  decode(firsts, p);
  decode(count, p);
  const uint32_t id = recording() ? id_of(dir->dirfrag()) : MAX_FRAGS;
  if (id < MAX_FRAGS) {
    auto& frag = frags[id];
    for (unsigned age = 0; age < WINDOWS; age++)
      frag.visits[(epoch - age) % WINDOWS] = visits[age];
    frag.firsts = firsts;
  }
  for (uint32_t i = 0; i < count; i++) {
    inodeno_t ino;
    uint8_t seen;
    uint32_t hash;
    decode(ino, p);
    decode(seen, p);
    decode(hash, p);
    if (id >= MAX_FRAGS)
      continue;
    auto& own = inodes[ino];
    own.frag = id;
    own.windows = seen;
    own.here = 0;
    own.hash = hash;
  }
  DECODE_FINISH(p);
}

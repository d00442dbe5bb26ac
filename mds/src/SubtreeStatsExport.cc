// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The visits of a dirfrag and of the inodes in it travel with it when it is
 * exported; of inodes that are trimmed already, only the number of visits.
 */

#include "SubtreeStats.h"

#include "CDentry.h"
#include "CDir.h"
#include "CInode.h"
#include "include/encoding.h"

/// Without a recording, that there are no windows.
void SubtreeStats::encode_visits(CDir *dir, ceph::bufferlist& bl) const
{
  using ceph::encode;
  auto it = ids.find(dir->dirfrag());
  if (!recording() || it == ids.end()) {
    encode(uint32_t(0), bl);
    return;
  }
  const auto& frag = frags[it->second];
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
}

/**
 * A dirfrag that comes back within the windows finds what it left here. That is
 * in what is sent, too, so the latter takes its place.
 */
void SubtreeStats::decode_visits(const CDir *dir, ceph::bufferlist::const_iterator& p)
{
  using ceph::decode;
  uint32_t windows;
  decode(windows, p);
  if (!windows)
    return;
  std::vector<uint32_t> visits(windows);
  for (auto& n : visits)
    decode(n, p);
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
}

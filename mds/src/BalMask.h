// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ceph.dir.bal.mask: the ranks that the balancer may keep a directory and what
 * is below it on. It is an ordinary extended attribute of the inode, so it is
 * journaled, stored, replicated and exported as such, by any MDS.
 */
#ifndef CEPH_MDS_BALMASK_H
#define CEPH_MDS_BALMASK_H

#include <bitset>
#include <string>
#include <string_view>

#include "include/mempool.h"
#include "mdstypes.h"

class CInode;

class BalMask {
public:
  using ranks_t = std::bitset<MAX_MDS>;
  using xattrs_t = xattr_map<mempool::mds_co::pool_allocator>;
  static constexpr const char *XATTR = "ceph.dir.bal.mask";

  /// "0,1,3", "0x3", or "-1" for none; false, and why, for anything else
  static bool parse(std::string_view text, ranks_t *ranks, std::string *why);
  static std::string to_string(const ranks_t& ranks);

  /// Of extended attributes that a client has sent all at once, with a create or as it gives
  /// back its capability, the mask is not the client's: nobody has looked at what it may do.
  /// before: what there was, if anything; after: what the client sent
  static void keep(const xattrs_t *before, xattrs_t& after);

  /// what an inode's extended attributes say
  static bool of(const xattrs_t& xattrs, ranks_t *ranks);
  /// the directory's own, as it will be when what is being changed is in the journal
  static bool get_own(CInode *in, ranks_t *ranks);
  /// the nearest, of it or above it
  static bool find(CInode *in, ranks_t *ranks);
};

#endif

// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which ranks clients are told to look up names of a directory at.
 */

#include "CDir.h"
#include "MDBalancer.h"
#include "MDSRank.h"

#include "messages/MClientReply.h"

/// Other ranks have a dirfrag as the bound of a subtree of theirs, from when it
/// was theirs, or replicated for its heat; few have its dentries, and they pass
/// lookups on. A client that is not told who has a directory asks any rank that
/// it knows the directory's inode from. A policy spreads heat by moving subtrees.
void MDBalancer::name_authority(const CDir *dir, DirStat *ds) const
{
  if (clock::now() >= by_score_until || !dir->is_auth())
    return;
  ds->auth = mds->get_nodeid();
  ds->dist = {mds->get_nodeid()};
}

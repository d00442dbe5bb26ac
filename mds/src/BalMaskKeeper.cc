// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later

#include "BalMask.h"

#include <vector>

#include "CDir.h"
#include "CInode.h"
#include "MDBalancer.h"
#include "MDCache.h"
#include "MDSMap.h"
#include "MDSRank.h"
#include "Migrator.h"
#include "Server.h"

#include "common/debug.h"

#define dout_context g_ceph_context
#define dout_subsys ceph_subsys_mds_balancer
#undef dout_prefix
#define dout_prefix *_dout << "mds." << mds->get_nodeid() << ".mask " << __func__ << " "

bool BalMask::get_own(CInode *in, ranks_t *ranks)
{
  const auto& xattrs = in->get_projected_xattrs();
  return xattrs && of(*xattrs, ranks);
}

bool BalMask::find(CInode *in, ranks_t *ranks)
{
  while (in && !in->is_base()) {
    if (get_own(in, ranks))
      return true;
    CDir *dir = in->get_projected_parent_dir();
    in = dir ? dir->get_inode() : nullptr;
  }
  return false;
}

int Server::bal_mask_xattr_validate(CInode *cur, const InodeStoreBase::xattr_map_const_ptr xattrs,
				    XattrOp *xattr_op)
{
  if (int r = default_xattr_validate(cur, xattrs, xattr_op); r < 0)
    return r;
  std::string why;
  BalMask::ranks_t ranks;
  if (!cur->is_dir() || cur->is_base())
    why = "only a directory below the root can have one; for all of it there is bal_rank_mask";
  else if (xattr_op->op == CEPH_MDS_OP_SETXATTR &&
	   !(xattr_op->flags & (CEPH_XATTR_REMOVE | CEPH_XATTR_REMOVE2)))
    BalMask::parse(xattr_op->xattr_value.to_str(), &ranks, &why);
  if (!why.empty()) {
    dout(0) << "refused '" << xattr_op->xattr_value.to_str() << "' as ceph.dir.bal.mask of "
	    << cur->ino() << ": " << why << dendl;
    return -EINVAL;
  }
  mds->balancer->note_bal_mask(cur, true);
  return 0;
}

void Server::bal_mask_setxattr_handler(CInode *cur, InodeStoreBase::xattr_map_ptr xattrs,
				       const XattrOp &xattr_op)
{
  std::string why;
  BalMask::ranks_t ranks;
  BalMask::parse(xattr_op.xattr_value.to_str(), &ranks, &why);
  if (ranks.none()) {
    xattr_rm(xattrs, xattr_op.xattr_name);
    return;
  }
  bufferlist bl;
  bl.append(BalMask::to_string(ranks));
  xattr_set(xattrs, xattr_op.xattr_name, bl);
}

/// in has come into the cache, or (about_to) is about to get or lose a mask
void MDBalancer::note_bal_mask(CInode *in, bool about_to)
{
  BalMask::ranks_t ranks;
  if (about_to || (in->is_dir() && BalMask::get_own(in, &ranks)))
    bal_masked.insert(in->ino());
}

bool MDBalancer::may_export(CDir *dir, mds_rank_t target) const
{
  BalMask::ranks_t ranks;
  if (!BalMask::find(dir->get_inode(), &ranks))
    return true;
  return target >= 0 && target < MAX_MDS && ranks.test(target);
}

/**
 * Make every masked directory of mine a subtree of its own, so that what is
 * above it leaves without it, and send away what is outside its mask.
 * An export pin beats a mask.
 */
void MDBalancer::handle_bal_masks()
{
  for (auto it = bal_masked.begin(); it != bal_masked.end(); ) {
    CInode *in = mds->mdcache->get_inode(*it);
    if (in && handle_bal_mask(in))
      ++it;
    else
      it = bal_masked.erase(it);
  }
  for (CDir *dir : mds->mdcache->get_auth_subtrees()) {
    CInode *diri = dir->get_inode();
    BalMask::ranks_t ranks;
    if (!diri->is_base() && !diri->is_stray() && diri->get_export_pin() == MDS_RANK_NONE &&
	BalMask::find(diri, &ranks) && !ranks.test(mds->get_nodeid()))
      export_into_mask(dir, ranks);
  }
}

/// The dirfrags of one directory; false when there is no mask, and no trace of one.
bool MDBalancer::handle_bal_mask(CInode *in)
{
  BalMask::ranks_t ranks;
  const bool has_mask = BalMask::get_own(in, &ranks);
  bool again = has_mask;
  if (in->get_export_pin() != MDS_RANK_NONE)
    return has_mask;
  for (CDir *dir : in->get_dirfrags()) {
    if (!dir->is_auth())
      continue;
    if (has_mask && ranks.test(mds->get_nodeid())) {
      keep_apart(dir);
    } else if (has_mask) {
      export_into_mask(dir, ranks);
    } else if (dir->state_test(CDir::STATE_AUXSUBTREE)) {
      if (dir->is_frozen() || dir->is_freezing()) {
	again = true;
	continue;
      }
      dir->state_clear(CDir::STATE_AUXSUBTREE);
      mds->mdcache->try_subtree_merge(dir);
    }
  }
  return again;
}

/// As handle_export_pins does with a directory that is pinned to this rank.
void MDBalancer::keep_apart(CDir *dir)
{
  if (dir->state_test(CDir::STATE_AUXSUBTREE) || dir->state_test(CDir::STATE_CREATING) ||
      dir->is_frozen() || dir->is_freezing())
    return;
  dir->state_set(CDir::STATE_AUXSUBTREE);
  if (!dir->is_subtree_root())
    mds->mdcache->adjust_subtree_auth(dir, mds->get_nodeid());
  dout(10) << *dir << dendl;
}

/// To the active rank in the mask that its number hashes to.
void MDBalancer::export_into_mask(CDir *dir, const std::bitset<MAX_MDS>& mask)
{
  std::vector<mds_rank_t> ranks;
  for (mds_rank_t rank = 0; rank < mds->mdsmap->get_max_mds(); rank++)
    if (mask.test(rank) && mds->mdsmap->is_active(rank))
      ranks.push_back(rank);
  if (ranks.empty() || dir->get_num_head_items() == 0 || dir->is_frozen() || dir->is_freezing() ||
      dir->state_test(CDir::STATE_EXPORTING) || mds->is_cluster_degraded())
    return;
  const mds_rank_t target = ranks[(dir->ino() + dir->get_frag().value()) % ranks.size()];
  dout(5) << "to mds." << target << ", out of mask " << BalMask::to_string(mask) << ": " << *dir << dendl;
  mds->mdcache->migrator->export_dir(dir, target);
}

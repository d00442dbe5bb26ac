// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which subtrees go, when a policy wants them chosen by something other than
 * heat: the searches of Wang et al., "Lunule", SC '21, section 3.3.
 */

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "CDir.h"
#include "CInode.h"
#include "MDBalancer.h"
#include "MDCache.h"
#include "MDSMap.h"
#include "MDSRank.h"
#include "Mantle.h"
#include "Migrator.h"

#include "common/debug.h"

#define dout_context g_ceph_context
#define dout_subsys ceph_subsys_mds_balancer
#undef dout_prefix
#define dout_prefix *_dout << "mds." << mds->get_nodeid() << ".bal " << __func__ << " "

namespace {

/// meta_load below which nothing is moved, as MIN_OFFLOAD
constexpr double LEAST = 10;

void hand_over(MDCache *cache, const std::vector<std::pair<dirfrag_t, mds_rank_t>>& order)
{
  for (const auto& [df, target] : order)
    if (CDir *dir = cache->get_dirfrag(df); dir)
      cache->migrator->export_dir_nicely(dir, target);
}

} // anonymous namespace

MDBalancer::~MDBalancer() = default;

/// Every dirfrag with statistics, its score, and what hangs below it.
struct MDBalancer::Candidates {
  /// a subtree or a set matches an amount within this part of it
  const double tolerance = g_conf().get_val<double>("mds_bal_select_tolerance");
  /// for scores and searches together
  const MDBalancer::time deadline = MDBalancer::clock::now() +
    std::chrono::duration_cast<MDBalancer::clock::duration>(
      std::chrono::duration<double>(g_conf().get_val<double>("mds_bal_select_time")));

  bool out_of_time() const {
    return MDBalancer::clock::now() > deadline;
  }

  std::map<CDir*, std::vector<CDir*>> children;
  std::map<CDir*, double> scores;
  std::vector<CDir*> top;
  std::vector<CDir*> chosen;
  std::set<CDir*> taken;	// what is chosen
  std::set<CDir*> broken;	// what something was chosen from

  bool is_whole(CDir *dir) const {
    return !broken.count(dir);
  }
  void take(CDir *dir) {
    chosen.push_back(dir);
    taken.insert(dir);
    for (CDir *above = dir; above && broken.insert(above).second; )
      above = above->get_inode()->get_parent_dir();
  }

  double score(CDir *dir) const {
    auto it = scores.find(dir);
    return it == scores.end() ? 0 : it->second;
  }
  double total(const std::vector<CDir*>& dirs) const {
    return std::accumulate(dirs.begin(), dirs.end(), 0.0,
			   [this](double sum, CDir *dir) { return sum + score(dir); });
  }
};

std::vector<mds_rank_t> MDBalancer::ranks_in_mask() const
{
  std::vector<mds_rank_t> ranks;
  const auto& mask = mds->mdsmap->get_bal_rank_mask_bitset();
  for (unsigned rank = 0; rank < mds->get_mds_map()->get_num_in_mds(); rank++)
    if (mask.test(rank))
      ranks.push_back(mds_rank_t(rank));
  return ranks;
}

/// A policy may name any rank, and any number: what no export can follow is none.
void MDBalancer::drop_impossible(balance_state_t& state) const
{
  for (auto& [target, amount] : state.targets) {
    if (std::isfinite(amount) && amount < LEAST)
      continue;
    if (std::isfinite(amount) && target != mds->get_nodeid() && mds->mdsmap->is_active(target))
      continue;
    dout(0) << "WARNING: mantle's amount of " << amount << " for mds." << target
	    << " is left out: it takes a finite one for another active rank" << dendl;
    amount = 0;
  }
}

/// Export what the policy's score says; false: by heat, as ever.
bool MDBalancer::export_by_score(balance_state_t& state, Mantle& mantle)
{
  if (clock::now() >= by_score_until)
    ordered.clear();	// long ago
  if (mantle.get_selection() == Mantle::Selection::HEAT || g_conf()->mds_thrash_exports) {
    by_score_until = clock::zero();
    return false;
  }
  by_score_until = clock::now() + std::chrono::seconds(
    g_conf().get_val<uint64_t>("mds_bal_select_beats") * g_conf().get_val<int64_t>("mds_bal_interval"));
  handle_bal_masks();
  stats.ask();
  // a beat is decided with what was seen up to it
  end_window(0.5);
  carry_on();
  if (std::none_of(state.targets.begin(), state.targets.end(),
		   [](const auto& to) { return to.second >= LEAST; })) {
    hand_over(mds->mdcache, ordered);
    return false;
  }
  // The monitors learn of targets at the next tick: of all at once, as exports wait for it one after the other.
  for (auto [target, amount] : state.targets)
    if (amount >= LEAST)
      mds->hit_export_target(target);
  if (!stats.ready()) {
    dout(5) << "no visit is known yet: nothing moves in this beat" << dendl;
    return true;
  }
  Candidates all;
  if (!score_all(all, mantle))
    return false;
  double heat = 0;
  for (CDir *dir : all.top)
    heat += dir->pop_auth_subtree.meta_load();
  const double scored = all.total(all.top);
  if (heat <= 0 || scored <= 0) {
    dout(5) << "nothing has a score: nothing more moves" << dendl;
    hand_over(mds->mdcache, ordered);
    return true;
  }
  extend_order(all, state, scored / heat);
  hand_over(mds->mdcache, ordered);
  return true;
}

/// Add to what stands of the last order what is missing from this one's amounts, which are rate times as much in scores.
void MDBalancer::extend_order(Candidates& all, const balance_state_t& state, double rate)
{
  std::map<mds_rank_t, std::vector<CDir*>> sets;
  for (auto [df, target] : ordered) {
    sets[target].push_back(mds->mdcache->get_dirfrag(df));
    all.take(sets[target].back());
  }
  for (auto [target, amount] : state.targets) {
    if (amount < LEAST || target == mds->get_nodeid())
      continue;
    auto& set = sets[target];
    const size_t before = all.chosen.size();
    const double need = amount * rate, promised = all.total(set);
    if (need - promised > all.tolerance * need)
      choose(all, all.top, target, need - promised);
    dout(5) << "mds." << target << " gets " << set.size() << " subtrees as before, worth " << promised
	    << ", and " << all.chosen.size() - before << " more for " << need << dendl;
    set.insert(set.end(), all.chosen.begin() + before, all.chosen.end());
  }
  // Few are handed over at a time: every importer gets one before any gets its second.
  ordered.clear();
  for (size_t nth = 0; ordered.size() < all.chosen.size(); nth++)
    for (const auto& [target, dirs] : sets)
      if (nth < dirs.size())
	ordered.emplace_back(dirs[nth]->dirfrag(), target);
}

/**
 * What stands of the last order: what is still here and nobody has visited. It
 * was chosen for the visits that will come, and is in none of the loads that
 * this beat decides by; the rest of what was queued is forgotten, as ever.
 */
void MDBalancer::carry_on()
{
  std::erase_if(ordered, [this](const auto& order) {
    CDir *dir = mds->mdcache->get_dirfrag(order.first);
    const auto *sum = dir ? stats.get(dir) : nullptr;
    return !dir || !dir->is_auth() || dir->get_inode()->get_export_pin() != MDS_RANK_NONE ||
      !may_export(dir, order.second) || (sum && sum->visits);
  });
}

/// My subtrees that may go; of one that may not, as it holds the root, what is below.
std::vector<CDir*> MDBalancer::exportable_roots()
{
  std::vector<CDir*> roots;
  for (CDir *dir : mds->mdcache->get_fullauth_subtrees()) {
    CInode *diri = dir->get_inode();
    if (diri->is_mdsdir() || diri->is_stray() || diri->get_export_pin(false) != MDS_RANK_NONE ||
	dir->is_freezing() || dir->is_frozen())
      continue;
    roots.push_back(dir);
  }
  return roots;
}

/// Fill in all of it; false: by heat.
bool MDBalancer::score_all(Candidates& all, Mantle& mantle)
{
  const auto below = stats.children();
  std::string error;
  std::vector<CDir*> todo = exportable_roots();
  for (CDir *dir : todo)
    if (!dir->get_inode()->is_base())
      all.top.push_back(dir);
  while (!todo.empty()) {
    if (all.out_of_time()) {
      dout(0) << "scores take too long: heat" << dendl;
      return false;
    }
    CDir *dir = todo.back();
    todo.pop_back();
    all.scores[dir] = score(dir, mantle, &error);
    if (!error.empty()) {
      dout(0) << "no score of " << dir->dirfrag() << " (" << error << "): heat" << dendl;
      return false;
    }
    auto it = below.find(dir);
    if (it == below.end())
      continue;
    for (CDir *child : it->second) {
      if (!child->is_auth() || child->is_subtree_root() || child->is_freezing() || child->is_frozen())
	continue;
      all.children[dir].push_back(child);
      todo.push_back(child);
      if (dir->get_inode()->is_base())
	all.top.push_back(child);
    }
  }
  return true;
}

double MDBalancer::score(CDir *dir, Mantle& mantle, std::string *error)
{
  static const SubtreeStats::Summary none;
  const auto *sum = stats.get(dir);
  if (!sum)
    sum = &none;
  if (mantle.get_selection() == Mantle::Selection::MINDEX)
    return sum->mindex;
  auto table = sum->table();
  table["heat"] = dir->pop_auth_subtree.meta_load();
  table["size"] = dir->get_frag_size();
  table["rank"] = mds->get_nodeid();
  return mantle.score(table, error);
}

/**
 * The three searches: one subtree that matches the need; else a part of the
 * least of those that are larger; else the fewest that make up the need, within
 * a tenth where there are such, and without those that are worth less than a
 * tenth of the best. What is chosen when the time is over stays chosen.
 * need is in units of the score.
 */
void MDBalancer::choose(Candidates& all, const std::vector<CDir*>& from, mds_rank_t target, double need)
{
  std::vector<std::pair<double, CDir*>> left;
  for (CDir *dir : from) {
    if (all.out_of_time()) {
      dout(0) << "the search for mds." << target << " takes too long: no more for it" << dendl;
      return;
    }
    if (const double score = all.score(dir); score > 0 && !all.taken.count(dir) && may_export(dir, target))
      left.emplace_back(score, dir);
  }
  // largest first
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->dirfrag() < b.second->dirfrag();
  });
  CDir *match = nullptr, *larger = nullptr;
  double least_off = 0;
  for (auto [score, dir] : left) {
    const double off = std::abs(score - need);
    if (off <= all.tolerance * need && all.is_whole(dir) && (!match || off < least_off)) {
      match = dir;
      least_off = off;
    }
    if (score > need)
      larger = dir;
  }
  if (match) {
    all.take(match);
    return;
  }
  if (larger) {
    auto it = all.children.find(larger);
    if (it != all.children.end()) {
      // the parts may be worth more than the whole, as beta is a ratio: take the same share
      const double parts = all.total(it->second);
      const size_t before = all.chosen.size();
      choose(all, it->second, target, need * std::max(1.0, parts / all.score(larger)));
      if (all.chosen.size() > before)
	return;
    }
  }
  // What is left is not made up of many that are worth little: all would move for nothing.
  const double enough = all.tolerance * need;
  double least = 0;
  for (auto [score, dir] : left) {
    if (need <= enough || score < least)
      break;
    if (score > need * (1 + all.tolerance) || !all.is_whole(dir))
      continue;
    all.take(dir);
    need -= score;
    least = std::max(least, all.tolerance * score);
  }
  // nearer to it with the least of those that are too large than without
  for (auto it = left.rbegin(); it != left.rend() && need > enough; ++it)
    if (it->first > need && all.is_whole(it->second)) {
      if (it->first < 2 * need)
	all.take(it->second);
      return;
    }
}

// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later

#include "SubtreeStats.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <set>

#include "CDentry.h"
#include "CDir.h"
#include "CInode.h"
#include "MDBalancer.h"
#include "MDCache.h"
#include "MDSRank.h"

#include "common/debug.h"

#define dout_context g_ceph_context
#define dout_subsys ceph_subsys_mds_balancer
#undef dout_prefix
#define dout_prefix *_dout << "mds." << mds->get_nodeid() << ".stats "

namespace {

/// splitmix64: the same choice in every run
uint64_t mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t inodes_below(const CDir *dir)
{
  const auto& rstat = dir->get_fnode()->rstat;
  return std::max<int64_t>(0, rstat.rfiles + rstat.rsubdirs);
}

} // anonymous namespace

/// Lunule, equation 4; without any visit beta is as if there had been one
void SubtreeStats::Summary::score()
{
  alpha = visited ? double(revisited) / visited : 0;
  beta = double(unvisited) / std::max<uint64_t>(1, visits);
  mindex = alpha * visits + beta * l_s();
}

void SubtreeStats::Summary::dump(ceph::Formatter *f) const
{
  f->dump_unsigned("visits", visits);
  f->dump_unsigned("first_visits", first_visits);
  f->dump_unsigned("visited", visited);
  f->dump_unsigned("revisited", revisited);
  f->dump_unsigned("unvisited", unvisited);
  f->dump_unsigned("working_set", working_set);
  f->dump_float("alpha", alpha);
  f->dump_float("beta", beta);
  f->dump_unsigned("l_t", visits);
  f->dump_float("l_s", l_s());
  f->dump_float("mindex", mindex);
}

std::map<std::string, double> SubtreeStats::Summary::table() const
{
  return {{"visits", visits}, {"first_visits", first_visits},
	  {"visited", visited}, {"revisited", revisited},
	  {"unvisited", unvisited}, {"working_set", working_set},
	  {"alpha", alpha}, {"beta", beta}, {"l_t", visits}, {"l_s", l_s()},
	  {"mindex", mindex}};
}

void SubtreeStats::ask()
{
  wanted = g_conf().get_val<uint64_t>("mds_bal_mindex_idle");
}

uint32_t SubtreeStats::id_of(dirfrag_t df)
{
  auto [it, is_new] = ids.try_emplace(df, 0);
  if (!is_new)
    return it->second;
  if (unused.empty()) {
    it->second = frags.size();
    frags.emplace_back();
  } else {
    it->second = unused.back();
    unused.pop_back();
    frags[it->second] = Frag();
  }
  frags[it->second].df = df;
  frags[it->second].used = true;
  return it->second;
}

void SubtreeStats::record(CInode *in, CDir *dir)
{
  if (!dir->is_auth() || in->last != CEPH_NOSNAP || dir->get_inode()->is_stray())
    return;
  uint32_t id = id_of(dir->dirfrag());
  if (id >= MAX_FRAGS)
    return;
  auto& seen = inodes[in->ino()];
  auto& frag = frags[id];
  frag.visits[epoch % WINDOWS]++;
  if (!seen.windows)
    frag.firsts++;
  seen.frag = id;
  seen.windows |= 1;
  if (!seen.here) {
    seen.here = 1;
    visited_here++;
  }
  seen.hash = in->get_parent_dn()->get_hash();
  dout(20) << "visit " << in->ino() << " in " << dir->dirfrag() << dendl;
}

void SubtreeStats::end_window()
{
  if (!recording())
    return;
  if (--wanted == 0) {
    dout(5) << "nobody asks: recording no more" << dendl;
    clear();
    return;
  }
  for (auto& frag : frags) {
    frag.sum = Summary();
    frag.visited = frag.revisited = 0;
  }
  follow_fragmentation();
  count_inodes();
  const uint32_t recorded = frags.size();
  for (uint32_t id = 0; id < recorded; id++)
    if (frags[id].used)
      sum_up(id);
  count_nested();
  count_unvisited();
  credit_siblings();
  nested.clear();
  for (auto& frag : frags)
    frag.sum.score();
  dout(10) << "window " << epoch << " ends: " << inodes.size() << " inodes in " << ids.size()
	   << " dirfrags" << dendl;
  next_window();
}

void SubtreeStats::clear()
{
  frags = decltype(frags)();	// {} would keep the memory
  unused = decltype(unused)();
  ids = decltype(ids)();
  inodes = decltype(inodes)();
  known = false;
  visited_here = 0;
}

/// Give the visits of dirfrags that have split or merged to those that there are now.
void SubtreeStats::follow_fragmentation()
{
  const uint32_t before = frags.size();
  for (uint32_t id = 0; id < before; id++) {
    if (!frags[id].used)
      continue;
    const dirfrag_t df = frags[id].df;
    CInode *diri = mds->mdcache->get_inode(df.ino);
    if (!diri || diri->dirfragtree.is_leaf(df.frag))
      continue;
    frag_vec_t now;
    frag_t leaf = diri->dirfragtree[df.frag.value()];
    if (leaf.contains(df.frag))
      now.push_back(leaf);
    else
      diri->dirfragtree.get_leaves_under(df.frag, now);
    move_visits(id, now);
  }
}

void SubtreeStats::move_visits(uint32_t from, const frag_vec_t& to)
{
  const inodeno_t ino = frags[from].df.ino;
  for (size_t i = 0; i < to.size(); i++) {
    uint32_t id = id_of(dirfrag_t(ino, to[i]));
    auto share = [&](uint32_t n) { return n * (i + 1) / to.size() - n * i / to.size(); };
    for (unsigned w = 0; w < WINDOWS; w++)
      frags[id].visits[w] += share(frags[from].visits[w]);
    frags[id].firsts += share(frags[from].firsts);
  }
  frags[from].visits.fill(0);
  frags[from].firsts = 0;
}

void SubtreeStats::count_inodes()
{
  // looked up once a dirfrag: there are many more inodes
  std::vector<CInode*> refragmented(frags.size());
  for (uint32_t id = 0; id < refragmented.size(); id++) {
    CInode *diri = frags[id].used ? mds->mdcache->get_inode(frags[id].df.ino) : nullptr;
    if (diri && !diri->dirfragtree.is_leaf(frags[id].df.frag))
      refragmented[id] = diri;
  }
  for (auto& [ino, seen] : inodes) {
    if (CInode *diri = refragmented[seen.frag])
      seen.frag = id_of(dirfrag_t(diri->ino(), diri->dirfragtree[seen.hash]));
    auto& frag = frags[seen.frag];
    frag.visited++;
    if (std::popcount(uint32_t(seen.windows)) > 1)
      frag.revisited++;
  }
}

/// The dirfrag and all above it; what is not in cache hangs where it did.
std::vector<dirfrag_t> SubtreeStats::path_of(dirfrag_t df)
{
  std::vector<dirfrag_t> path;
  while (true) {
    path.push_back(df);
    auto& frag = frags[id_of(df)];
    if (CDir *dir = mds->mdcache->get_dirfrag(df); dir) {
      CDir *pdir = dir->get_inode()->get_parent_dir();
      frag.has_parent = pdir != nullptr;
      if (pdir)
	frag.parent = pdir->dirfrag();
    }
    if (!frag.has_parent || path.size() > 1000)
      return path;
    df = frag.parent;
  }
}

/// Add a dirfrag's own numbers to it and to all above it, up to the subtree's root.
void SubtreeStats::sum_up(uint32_t id)
{
  uint64_t visits = 0;
  for (auto n : frags[id].visits)
    visits += n;
  if (!visits && !frags[id].visited)
    return;
  auto path = path_of(frags[id].df);
  bool seen_cached = false, same_subtree = true;
  for (auto df : path) {
    CDir *dir = mds->mdcache->get_dirfrag(df);
    if (dir && !seen_cached && !dir->is_auth())
      return;			// exported since
    seen_cached = seen_cached || dir;
    const auto& own = frags[id];
    auto& sum = frags[id_of(df)].sum;
    sum.working_set += own.visited;
    if (same_subtree) {
      sum.visits += visits;
      sum.first_visits += own.firsts;
      sum.visited += own.visited;
      sum.revisited += own.revisited;
    }
    if (dir && dir->is_subtree_root())
      same_subtree = false;
  }
}

uint64_t SubtreeStats::unvisited(const CDir *dir) const
{
  auto it = ids.find(dir->dirfrag());
  uint64_t visited = it == ids.end() ? 0 : frags[it->second].sum.visited;
  uint64_t all = inodes_below(dir);
  if (auto n = nested.find(dir); n != nested.end())
    visited += n->second;	// no business of this subtree
  return all > visited ? all - visited : 0;
}

/// Recursive statistics do not stop where another subtree begins: how much of them is of such.
void SubtreeStats::count_nested()
{
  for (CDir *root : mds->mdcache->get_auth_subtrees()) {
    std::set<CDir*> bounds;
    mds->mdcache->get_subtree_bounds(root, bounds);
    for (CDir *bound : bounds) {
      CInode *diri = bound->get_inode();
      const auto& rstat = diri->get_inode()->rstat;
      // a directory counts itself; of its fragments each has its share
      const auto below = std::max<int64_t>(0, rstat.rfiles + rstat.rsubdirs - 1) >> bound->get_frag().bits();
      for (CDir *dir = diri->get_parent_dir(); dir; dir = dir->get_inode()->get_parent_dir()) {
	nested[dir] += below;
	if (dir == root)
	  break;
      }
    }
  }
}

void SubtreeStats::count_unvisited()
{
  for (auto& frag : frags) {
    if (!frag.used)
      continue;
    CDir *dir = mds->mdcache->get_dirfrag(frag.df);
    if (dir && dir->is_auth())
      frag.sum.unvisited = unvisited(dir);
  }
}

/// Where there were first visits, expect some in siblings too (Lunule 3.3).
void SubtreeStats::credit_siblings()
{
  std::map<CDir*, std::vector<CDir*>> siblings;
  const auto max_draws = g_conf().get_val<uint64_t>("mds_bal_mindex_draws");
  const uint32_t before = frags.size();
  for (uint32_t id = 0; id < before; id++) {
    if (!frags[id].used || !frags[id].sum.first_visits)
      continue;
    CDir *dir = mds->mdcache->get_dirfrag(frags[id].df);
    CDir *pdir = dir ? dir->get_inode()->get_parent_dir() : nullptr;
    if (!pdir)
      continue;
    auto [it, is_new] = siblings.try_emplace(pdir);
    if (is_new)
      it->second = siblings_of(pdir);
    credit(id, it->second, max_draws);
  }
}

/// max_draws: of a sibling for a dirfrag; each stands for its part of the first visits
void SubtreeStats::credit(uint32_t id, const std::vector<CDir*>& siblings, uint64_t max_draws)
{
  const inodeno_t ino = frags[id].df.ino;
  const uint64_t firsts = frags[id].sum.first_visits;
  const uint64_t draws = std::min(firsts, max_draws);
  for (uint64_t i = 0; i < draws && !siblings.empty(); i++) {
    const uint64_t chance = mix(ino ^ mix(epoch * max_draws + i));
    CDir *sibling = siblings[(chance >> 1) % siblings.size()];
    if (!(chance & 1) || sibling->ino() == ino)
      continue;
    uint32_t other = id_of(sibling->dirfrag());
    frags[other].parent = sibling->get_inode()->get_parent_dir()->dirfrag();
    frags[other].has_parent = true;
    frags[other].sum.unvisited = unvisited(sibling);
    frags[other].sum.sibling_visits += double(firsts) / draws;
  }
}

/// Dirfrags of the directories in pdir that are ours and hold something unvisited.
std::vector<CDir*> SubtreeStats::siblings_of(CDir *pdir)
{
  std::vector<CDir*> found;
  uint64_t left = g_conf().get_val<uint64_t>("mds_bal_mindex_siblings");
  for (auto& [key, dn] : *pdir) {
    if (left-- == 0)
      break;
    CInode *in = dn->get_linkage()->is_primary() ? dn->get_linkage()->get_inode() : nullptr;
    if (!in || !in->is_dir() || in->last != CEPH_NOSNAP)
      continue;
    for (CDir *dir : in->get_dirfrags())
      if (dir->is_auth() && unvisited(dir) > 0)
	found.push_back(dir);
  }
  std::sort(found.begin(), found.end(),
	    [](CDir *a, CDir *b) { return a->dirfrag() < b->dirfrag(); });
  return found;
}

void SubtreeStats::next_window()
{
  epoch++;
  known = !inodes.empty();
  for (auto it = inodes.begin(); it != inodes.end(); ) {
    it->second.windows <<= 1;
    if (it->second.windows)
      ++it;
    else
      inodes.erase(it++);
  }
  if (inodes.size() * 4 < inodes.bucket_count())
    inodes.rehash(0);
  for (auto& frag : frags) {
    frag.visits[epoch % WINDOWS] = 0;
    frag.firsts = 0;
    bool quiet = !frag.sum.visits && !frag.sum.working_set && frag.sum.l_s() == 0;
    if (!frag.used || !quiet || frag.visited ||
	std::any_of(frag.visits.begin(), frag.visits.end(), [](auto n) { return n > 0; }))
      continue;
    frag.used = false;
    unused.push_back(ids.at(frag.df));
    ids.erase(frag.df);
  }
  if (ids.size() * 4 < frags.size())
    shrink();
}

/// Give back the memory of dirfrags that are recorded no more.
void SubtreeStats::shrink()
{
  std::vector<uint32_t> moved(frags.size());
  std::vector<Frag> kept;
  kept.reserve(ids.size());
  for (auto& [df, id] : ids) {
    moved[id] = kept.size();
    kept.push_back(frags[id]);
    id = moved[id];
  }
  for (auto& [ino, seen] : inodes)
    seen.frag = moved[seen.frag];
  frags.swap(kept);
  unused = decltype(unused)();
  ids.rehash(0);
}

const SubtreeStats::Summary *SubtreeStats::get(const CDir *dir) const
{
  auto it = ids.find(dir->dirfrag());
  return it == ids.end() ? nullptr : &frags[it->second].sum;
}

std::map<CDir*, std::vector<CDir*>> SubtreeStats::children() const
{
  std::map<CDir*, std::vector<CDir*>> below;
  for (const auto& frag : frags) {
    CDir *dir = frag.used ? mds->mdcache->get_dirfrag(frag.df) : nullptr;
    CDir *pdir = dir ? dir->get_inode()->get_parent_dir() : nullptr;
    if (pdir)
      below[pdir].push_back(dir);
  }
  return below;
}

/// depth: levels of directories below path; negative is all of them
int SubtreeStats::dump(ceph::Formatter *f, std::string_view path, int64_t depth,
		       const std::function<double(CDir*)>& heat)
{
  CInode *in = mds->mdcache->cache_traverse(filepath(std::string(path).c_str()));
  if (!in || !in->is_dir())
    return -ENOENT;
  f->open_object_section("mindex");
  f->dump_unsigned("epoch", epoch);
  f->dump_unsigned("windows", WINDOWS);
  f->dump_unsigned("inodes", inodes.size());
  f->dump_unsigned("inodes_visited_here", visited_here);
  f->dump_unsigned("dirfrags_recorded", ids.size());
  f->dump_unsigned("dirfrag_slots", frags.capacity());
  f->open_array_section("dirfrags");
  auto below = children();
  std::deque<std::pair<CDir*, int64_t>> todo;
  for (CDir *dir : in->get_dirfrags())
    todo.emplace_back(dir, 0);
  for (; !todo.empty(); todo.pop_front()) {
    auto [dir, level] = todo.front();
    f->open_object_section("dirfrag");
    std::string full;
    dir->get_inode()->make_path_string(full);
    f->dump_string("path", full);
    f->dump_stream("dirfrag") << dir->dirfrag();
    f->dump_bool("is_auth", dir->is_auth());
    f->dump_bool("is_subtree_root", dir->is_subtree_root());
    f->dump_float("heat", heat(dir));
    const Summary none, *sum = get(dir);
    (sum ? *sum : none).dump(f);
    f->close_section();
    if (depth < 0 || level < depth)
      for (CDir *child : below[dir])
	todo.emplace_back(child, level + 1);
  }
  f->close_section();
  f->close_section();
  return 0;
}

/// A window ends, if it has been as long as this part of mds_bal_interval.
void MDBalancer::end_window(double part)
{
  const auto interval = g_conf().get_val<int64_t>("mds_bal_interval");
  const auto now = clock::now();
  if (std::chrono::duration<double>(now - last_window).count() < part * (interval > 0 ? interval : 10))
    return;
  last_window = now;
  stats.end_window();
}

/// ends: the window that is being recorded, first
int MDBalancer::dump_mindex(Formatter *f, std::string_view path, int64_t depth, bool ends)
{
  stats.ask();
  if (ends)
    end_window(0);
  return stats.dump(f, path, depth, [](CDir *dir) { return dir->pop_auth_subtree.meta_load(); });
}

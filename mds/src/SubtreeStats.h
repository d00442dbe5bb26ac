// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What was visited where: the statistics behind a subtree's migration index
 * (mIndex), after Wang et al., "Lunule", SC '21, sections 3.3 and 4.1.
 *
 * Time is cut into windows of mds_bal_interval, at the beats where a policy
 * selects by them. All numbers are about the last WINDOWS of them and change
 * only when a window ends. They live beside the cache, not in CInode and CDir:
 * an inode costs memory only while it is in a window, and trimming, splitting
 * and merging lose nothing.
 */
#ifndef CEPH_MDS_SUBTREESTATS_H
#define CEPH_MDS_SUBTREESTATS_H

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "mdstypes.h"

class CDir;
class CInode;
class MDSRank;

class SubtreeStats {
public:
  static constexpr unsigned WINDOWS = 8;

  /// a dirfrag with the authoritative subtree below it
  struct Summary {
    uint64_t visits = 0;        ///< in all windows: the paper's l_t
    uint64_t first_visits = 0;  ///< in the newest window, of inodes not visited in the others
    uint64_t visited = 0;       ///< distinct inodes
    uint64_t revisited = 0;     ///< those of them seen in more than one window
    uint64_t unvisited = 0;     ///< inodes of this subtree that nobody visited
    uint64_t working_set = 0;   ///< distinct inodes on this rank, nested subtrees included
    double sibling_visits = 0;  ///< first visits of siblings, credited by chance
    double alpha = 0, beta = 0, mindex = 0;

    double l_s() const { return first_visits + sibling_visits; }
    void score();
    void dump(ceph::Formatter *f) const;
    std::map<std::string, double> table() const;
  };

  explicit SubtreeStats(MDSRank *m) : mds(m) {}

  /// somebody wants them: record, and go on for mds_bal_mindex_idle windows
  void ask();
  bool recording() const { return wanted > 0; }
  /// are there visits in the windows that have ended?
  bool ready() const { return recording() && known; }
  uint64_t get_epoch() const { return epoch; }

  /// in, of the dirfrag dir, was visited
  void hit(CInode *in, CDir *dir) {
    if (recording())
      record(in, dir);
  }

  /// a window ends
  void end_window();

  /// what goes along with a dirfrag that is exported (SubtreeStatsExport.cc)
  void encode_visits(CDir *dir, ceph::bufferlist& bl) const;
  void decode_visits(const CDir *dir, ceph::bufferlist::const_iterator& p, unsigned end);

  const Summary *get(const CDir *dir) const;
  /// dirfrags with statistics that hang directly below each dirfrag
  std::map<CDir*, std::vector<CDir*>> children() const;
  /// heat: of a dirfrag, which only the balancer may look at
  int dump(ceph::Formatter *f, std::string_view path, int64_t depth,
	   const std::function<double(CDir*)>& heat);

private:
  /// as many as Visited::frag can tell apart
  static constexpr uint32_t MAX_FRAGS = 1 << 23;

  /// a dirfrag; its numbers without what is below
  struct Frag {
    dirfrag_t df;
    dirfrag_t parent;           ///< where it hung when last seen
    bool has_parent = false;
    bool used = false;
    std::array<uint32_t, WINDOWS> visits{};  ///< by epoch modulo WINDOWS
    uint32_t firsts = 0;
    uint32_t visited = 0, revisited = 0;
    Summary sum;
  };
  /// a visited inode: 16 bytes with its number
  struct Visited {
    uint32_t frag : 23;
    uint32_t here : 1;          ///< since it was imported, if it was
    uint32_t windows : 8;       ///< bit 0 is the current one
    uint32_t hash;              ///< of its dentry's name: finds the frag after a split
  };

  void record(CInode *in, CDir *dir);
  uint32_t id_of(dirfrag_t df);
  void clear();
  void follow_fragmentation();
  void move_visits(uint32_t from, const frag_vec_t& to);
  void count_inodes();
  void sum_up(uint32_t id);
  std::vector<dirfrag_t> path_of(dirfrag_t df);
  void count_nested();
  void count_unvisited();
  void credit_siblings();
  void credit(uint32_t id, const std::vector<CDir*>& siblings, uint64_t max_draws);
  std::vector<CDir*> siblings_of(CDir *pdir);
  uint64_t unvisited(const CDir *dir) const;
  void next_window();
  void shrink();

  MDSRank *mds;
  uint64_t wanted = 0;          ///< windows left to record
  uint64_t epoch = 0;
  bool known = false;           ///< as ready()
  uint64_t visited_here = 0;    ///< inodes since then, wherever they have been visited before
  std::vector<Frag> frags;
  std::vector<uint32_t> unused;
  std::unordered_map<dirfrag_t, uint32_t> ids;
  boost::unordered_flat_map<inodeno_t, Visited, std::hash<inodeno_t>> inodes;
  std::map<const CDir*, uint64_t> nested;  ///< inodes in other subtrees below, while a window ends
};

#endif

// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a Mantle policy remembers from beat to beat: plain data, copied out of
 * one Lua state and into the next. Metatables are not looked at.
 */
#ifndef CEPH_MDS_MANTLEHISTORY_H
#define CEPH_MDS_MANTLEHISTORY_H

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <lua.hpp>

class MantleHistory {
public:
  /// put a table of it on top of the stack; raises only when memory is short
  void push(lua_State *L) const;
  /// the table on top of the stack, which stays there, of at most so many bytes;
  /// false, why, and nothing is remembered, when it is not plain data
  bool take(lua_State *L, size_t max_bytes, std::string *why);

private:
  static constexpr unsigned MAX_DEPTH = 16;

  struct Begin {};
  struct End {};
  /// a table is Begin, its keys each with its value, End
  using Item = std::variant<Begin, End, bool, lua_Integer, lua_Number, std::string>;
  using iterator = std::vector<Item>::const_iterator;

  static void push_next(lua_State *L, iterator& item);
  bool take_value(lua_State *L, unsigned depth, std::string *why);
  bool take_table(lua_State *L, unsigned depth, std::string *why);

  std::vector<Item> items;
  size_t bytes = 0, limit = 0;
};

#endif

// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a Mantle policy sees beyond its ranks' loads, and its second result.
 *
 * The Lua state lives as long as the script does, but every run has an
 * environment of its own: of a run's global variables nothing stays, as ever,
 * and only the table "history" is there again next time.
 */

#include "Mantle.h"

#include <cmath>

#include "common/Clock.h"

namespace {

constexpr int HOOK_VERSION = 1;
constexpr const char *HISTORY = "mantle.history";
constexpr const char *SCORE = "mantle.score";

/// instructions of a score function, and how often they are counted
constexpr int MAX_INSTRUCTIONS = 100000;

void too_long(lua_State *L, lua_Debug *)
{
  luaL_error(L, "more than %d instructions", MAX_INSTRUCTIONS);
}

} // anonymous namespace

void Mantle::set_context(int epoch, const std::vector<mds_rank_t>& rank_mask)
{
  selection = Selection::HEAT;
  lua_settop(L, 0);
  lua_pushinteger(L, HOOK_VERSION);
  lua_setglobal(L, "hook");
  lua_pushinteger(L, epoch);
  lua_setglobal(L, "epoch");
  lua_pushnumber(L, double(ceph_clock_now()));
  lua_setglobal(L, "now");
  lua_newtable(L);
  for (size_t i = 0; i < rank_mask.size(); i++) {
    lua_pushinteger(L, rank_mask[i]);
    lua_seti(L, -2, i + 1);
  }
  lua_setglobal(L, "rank_mask");
  if (lua_getfield(L, LUA_REGISTRYINDEX, HISTORY) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, HISTORY);
  }
  lua_setglobal(L, "history");
  lua_settop(L, 0);
}

/// Give the chunk on top of the stack new globals that fall back on the real ones.
void Mantle::push_environment()
{
  lua_newtable(L);
  lua_newtable(L);
  lua_pushglobaltable(L);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setupvalue(L, -2, 1);
}

/// Take the second of the two results on the stack.
void Mantle::take_selection()
{
  selection = Selection::HEAT;
  if (lua_isfunction(L, -1)) {
    selection = Selection::FUNCTION;
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, SCORE);
  } else if (lua_type(L, -1) == LUA_TSTRING && std::string_view(lua_tostring(L, -1)) == "mindex") {
    selection = Selection::MINDEX;
  }
  lua_pop(L, 1);
}

double Mantle::score(const std::map<std::string, double>& stats, std::string *error)
{
  lua_settop(L, 0);
  lua_getfield(L, LUA_REGISTRYINDEX, SCORE);
  lua_newtable(L);
  for (const auto& [name, value] : stats) {
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name.c_str());
  }
  lua_sethook(L, too_long, LUA_MASKCOUNT, MAX_INSTRUCTIONS);
  int r = lua_pcall(L, 1, 1, 0);
  lua_sethook(L, nullptr, 0, 0);
  double number = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
  if (r != LUA_OK)
    *error = lua_isstring(L, -1) ? lua_tostring(L, -1) : "it failed";
  else if (!std::isfinite(number) || number < 0)
    *error = "it is no finite number from 0 on";
  lua_settop(L, 0);
  return error->empty() ? number : NAN;
}

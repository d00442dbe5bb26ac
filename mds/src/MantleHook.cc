// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What a Mantle policy sees beyond its ranks' loads, its second result, and its
 * limits.
 *
 * A Lua state lives for one beat. Whatever touches it does so in a protected
 * call, with a bound on memory and one on the instructions of the whole beat;
 * of one beat the next has only "history", as plain data.
 */

#include "Mantle.h"

#include <cmath>
#include <cstdlib>

#include "common/Clock.h"
#include "common/debug.h"

#define dout_context g_ceph_context
#define dout_subsys ceph_subsys_mds_balancer
#undef dout_prefix
#define dout_prefix *_dout << "mds.mantle "

namespace {

constexpr int HOOK_VERSION = 1;
constexpr const char *HISTORY = "history";
/// how often instructions are counted: also in a coroutine, which has a count of its own
constexpr int STEP = 100;
/// where the score function is, in the registry
const char SCORE = 0;

/// In place of setmetatable: finalizers run outside of all limits.
int set_metatable(lua_State *L)
{
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_error(L, "a policy has no finalizers (__gc)");
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/// In place of xpcall: a message handler runs while instructions are not counted.
/// Here it is called after what has failed, with nothing less to see, as there is no debug library.
int call_and_handle(lua_State *L)
{
  luaL_checkany(L, 2);
  const int arguments = lua_gettop(L) - 2;
  lua_pushvalue(L, 1);
  lua_insert(L, 3);
  const bool done = lua_pcall(L, arguments, LUA_MULTRET, 0) == LUA_OK;
  if (!done) {
    lua_pushvalue(L, 2);
    lua_insert(L, 3);
    lua_call(L, 1, 1);
  }
  lua_pushboolean(L, done);
  lua_insert(L, 3);
  return lua_gettop(L) - 2;
}

} // anonymous namespace

/// The state's allocator.
void *Mantle::allocate(void *mantle, void *block, size_t old_size, size_t new_size)
{
  auto& left = static_cast<Mantle*>(mantle)->memory_left;
  if (!block)
    old_size = 0;		// it is a type then
  if (new_size == 0) {
    free(block);
    left += old_size;
    return nullptr;
  }
  if (new_size > old_size && new_size - old_size > left)
    return nullptr;
  void *moved = realloc(block, new_size);
  if (moved)
    left += old_size - new_size;
  return moved;
}

/// STEP instructions have been done.
void Mantle::count(lua_State *L, lua_Debug *)
{
  auto *mantle = *static_cast<Mantle**>(lua_getextraspace(L));
  mantle->instructions_left -= STEP;
  if (mantle->instructions_left > 0)
    return;
  // at every instruction from now on: no pcall goes on after it
  lua_sethook(L, count, LUA_MASKCOUNT, 1);
  luaL_error(L, "more than %d instructions in a beat", int(mantle->max_instructions));
}

/// To be called before anything of a policy's is in the state.
void Mantle::limit()
{
  max_instructions = g_conf().get_val<uint64_t>("mds_bal_mantle_instructions");
  instructions_left = max_instructions;
  *static_cast<Mantle**>(lua_getextraspace(L)) = this;	// each coroutine gets a copy
  lua_sethook(L, count, LUA_MASKCOUNT, STEP);
  lua_getglobal(L, "setmetatable");
  lua_pushcclosure(L, set_metatable, 1);
  lua_setglobal(L, "setmetatable");
  lua_register(L, "xpcall", call_and_handle);
}

/// Do what touches the state; false, and why, when Lua raises an error meanwhile.
/// Nothing with a destructor may be on the way from what to Lua.
bool Mantle::protect(const std::function<void()>& what, std::string *why)
{
  lua_settop(L, 0);
  lua_pushcfunction(L, [](lua_State *L) {
    const auto *what = static_cast<const std::function<void()>*>(lua_touserdata(L, 1));
    lua_settop(L, 0);
    (*what)();
    return 0;
  });
  lua_pushlightuserdata(L, const_cast<std::function<void()>*>(&what));
  const bool done = lua_pcall(L, 1, 0, 0) == LUA_OK;
  if (!done)
    *why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "it failed";
  lua_settop(L, 0);
  return done;
}

int Mantle::balance(std::string_view script, mds_rank_t whoami,
		    const std::vector<std::map<std::string, double>>& metrics,
		    std::map<mds_rank_t, double>& my_targets)
{
  int r = -EINVAL;
  std::string why;
  if (!protect([&] { r = run(script, whoami, metrics, my_targets); }, &why)) {
    dout(0) << "WARNING: mantle could not execute script: " << why << dendl;
    return -EINVAL;
  }
  return r;
}

void Mantle::set_context(int epoch, const std::vector<mds_rank_t>& rank_mask)
{
  std::string why;
  const bool done = protect([&] {
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
    history.push(L);
    lua_setglobal(L, HISTORY);
  }, &why);
  if (!done)
    dout(0) << "WARNING: mantle's context is not complete: " << why << dendl;
}

/// Have the next beat begin with the history that this one leaves.
void Mantle::keep_history()
{
  std::string why;
  const auto max_bytes = g_conf().get_val<Option::size_t>("mds_bal_mantle_history");
  bool kept = false;
  const bool done = protect([&] {
    lua_pushglobaltable(L);
    lua_pushstring(L, HISTORY);
    lua_rawget(L, -2);
    kept = history.take(L, max_bytes, &why);
  }, &why);
  if (!done || !kept)
    dout(0) << "WARNING: mantle's history is forgotten: " << why << dendl;
}

/// Take the second of the two results on the stack.
void Mantle::take_selection()
{
  selection = Selection::HEAT;
  if (lua_isfunction(L, -1)) {
    selection = Selection::FUNCTION;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &SCORE);
  } else if (lua_type(L, -1) == LUA_TSTRING && std::string_view(lua_tostring(L, -1)) == "mindex") {
    selection = Selection::MINDEX;
  }
  lua_pop(L, 1);
}

double Mantle::score(const std::map<std::string, double>& stats, std::string *error)
{
  double number = NAN;
  const bool done = protect([&] {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &SCORE);
    lua_newtable(L);
    for (const auto& [name, value] : stats) {
      lua_pushnumber(L, value);
      lua_setfield(L, -2, name.c_str());
    }
    lua_call(L, 1, 1);
    if (lua_type(L, -1) == LUA_TNUMBER)
      number = lua_tonumber(L, -1);
  }, error);
  if (done && (!std::isfinite(number) || number < 0))
    *error = "it is no finite number from 0 on";
  return error->empty() ? number : NAN;
}

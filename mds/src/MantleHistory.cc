// -*- mode:C++; tab-width:8; c-basic-offset:2; indent-tabs-mode:t -*-
// vim: ts=8 sw=2 smarttab
// SPDX-License-Identifier: LGPL-2.1-or-later

#include "MantleHistory.h"

void MantleHistory::push(lua_State *L) const
{
  if (items.empty()) {
    lua_newtable(L);
    return;
  }
  auto item = items.begin();
  push_next(L, item);
}

void MantleHistory::push_next(lua_State *L, iterator& item)
{
  luaL_checkstack(L, 4, "history");
  const Item& value = *item++;
  if (auto truth = std::get_if<bool>(&value)) {
    lua_pushboolean(L, *truth);
  } else if (auto integer = std::get_if<lua_Integer>(&value)) {
    lua_pushinteger(L, *integer);
  } else if (auto number = std::get_if<lua_Number>(&value)) {
    lua_pushnumber(L, *number);
  } else if (auto text = std::get_if<std::string>(&value)) {
    lua_pushlstring(L, text->data(), text->size());
  } else {
    lua_newtable(L);
    while (!std::holds_alternative<End>(*item)) {
      push_next(L, item);
      push_next(L, item);
      lua_rawset(L, -3);
    }
    ++item;
  }
}

bool MantleHistory::take(lua_State *L, size_t max_bytes, std::string *why)
{
  items.clear();
  bytes = 0;
  limit = max_bytes;
  if (lua_istable(L, -1) && take_value(L, 0, why))
    return true;
  if (why->empty())
    *why = "it is no table";
  items.clear();
  return false;
}

bool MantleHistory::take_value(lua_State *L, unsigned depth, std::string *why)
{
  bytes += sizeof(Item);
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN:
    items.emplace_back(bool(lua_toboolean(L, -1)));
    break;
  case LUA_TNUMBER:
    if (lua_isinteger(L, -1))
      items.emplace_back(lua_tointeger(L, -1));
    else
      items.emplace_back(lua_tonumber(L, -1));
    break;
  case LUA_TSTRING: {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    bytes += length;
    if (bytes <= limit)
      items.emplace_back(std::string(text, length));
    break;
  }
  case LUA_TTABLE:
    if (!take_table(L, depth, why))
      return false;
    break;
  default:
    *why = std::string("a ") + luaL_typename(L, -1) + " is in it";
    return false;
  }
  if (bytes > limit)
    *why = "it has more than " + std::to_string(limit) + " bytes";
  return bytes <= limit;
}

bool MantleHistory::take_table(lua_State *L, unsigned depth, std::string *why)
{
  if (depth == MAX_DEPTH || !lua_checkstack(L, 4)) {
    *why = "a table in it is more than " + std::to_string(MAX_DEPTH) + " deep, or in itself";
    return false;
  }
  items.emplace_back(Begin());
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_istable(L, -2)) {
      *why = "a table is a key in it";
      return false;
    }
    lua_pushvalue(L, -2);
    if (!take_value(L, depth + 1, why))
      return false;
    lua_pop(L, 1);
    if (!take_value(L, depth + 1, why))
      return false;
  }
  items.emplace_back(End());
  return true;
}

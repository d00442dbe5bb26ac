-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- The child's side of sandbox/child.py: runs a Mantle policy in a world of its own and tells what it returned.
--
-- Requests are "VERB LENGTH\n" and LENGTH bytes, answers one line of JSON each:
--   policy  the policy's text
--   case    Lua that returns what `mds` is to be
--   run     Lua that returns {whoami =, ranks =, files =, hook = {epoch =, now =, rank_mask =} or nil,
--           subtrees = {{field =}}}
--   finish  nothing: what the policy left behind is let go
--
-- A policy gets copies of the libraries that Mantle opens, and nothing that leads to this file's own: neither output
-- nor `debug`. What is used here after a policy has run are locals, and no method of a string, as a policy may change
-- the metatable of strings.

local INSTRUCTIONS = 10000000 -- of a decision, as mds_bal_mantle_instructions of the hook
local SCORE_INSTRUCTIONS = 100000 -- of one score: a beat is to have enough for a hundred subtrees
local HISTORY_DEPTH = 16 -- of tables in tables, as in MantleHistory.h of mds/patches

local collect, error, load, next, pcall, rawget = collectgarbage, error, load, next, pcall, rawget
local select, setmetatable, tonumber, type = select, setmetatable, tonumber, type
local dump, format, match = string.dump, string.format, string.match
local concat, kind, tointeger = table.concat, math.type, math.tointeger
local input, output = io.stdin, io.stdout
local read, write, flush = input.read, output.write, output.flush

local here = match(arg[0], "^(.*/)")
local json, worlds = dofile(here .. "json.lua"), dofile(here .. "world.lua")
local text, number, scalar = json.text, json.number, json.scalar
local limited, reason = worlds.limited, worlds.reason

-- What it returned.

local function targets_of(answer, ranks)
  local found, n = {}, 0
  for _ in next, answer do
    n = n + 1
  end
  for rank = 0, ranks - 1 do
    local value = rawget(answer, rank)
    if not kind(value) then
      return nil
    end
    found[rank + 1] = number(value)
  end
  return n == ranks and found or nil
end

local function entries_of(answer, most)
  local found = {}
  for key, value in next, answer do
    if #found < most then
      found[#found + 1] = "[" .. scalar(key) .. "," .. scalar(value) .. "]"
    end
  end
  return found
end

local function answered(answer, ranks)
  if type(answer) ~= "table" then
    return '"returned":' .. scalar(answer)
  end
  local targets = targets_of(answer, ranks)
  if targets then
    return '"targets":[' .. concat(targets, ",") .. "]"
  end
  return '"entries":[' .. concat(entries_of(answer, ranks + 1), ",") .. "]"
end

local function scored(score, subtrees)
  local found = {}
  for i, subtree in next, subtrees do
    local ok, value = limited(SCORE_INSTRUCTIONS, score, subtree)
    if not ok then
      return nil, reason(value)
    end
    found[i] = scalar(value)
  end
  return found
end

local function logged(lines)
  local found = {}
  for i, line in next, lines do
    found[i] = format("[%d,", line[1]) .. text(line[2]) .. "]"
  end
  return concat(found, ",")
end

-- The verbs.

local function failure(why)
  return '{"error":' .. text(why) .. "}"
end

local code, case, histories

local handlers = {}

function handlers.policy(source)
  local chunk, why = load(source, "=policy", "t")
  if not chunk then
    return failure(why)
  end
  code, histories = dump(chunk), {}
  return "{}"
end

function handlers.case(lua)
  case = load(lua, "=case", "t", {})
  return "{}"
end

-- The hook: more globals, no finalizers, and of `history` the plain data is there again in the next beat.

local function without_finalizers(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("a policy has no finalizers (__gc)", 2)
  end
  return setmetatable(t, meta)
end

local function plain(value, depth)
  local what = type(value)
  if kind(value) or what == "string" or what == "boolean" then
    return value
  end
  if what ~= "table" or depth >= HISTORY_DEPTH then
    error("its history cannot be kept: " .. (what == "table" and "tables too deep" or "a " .. what) .. " is in it", 0)
  end
  local copy = {}
  for key, item in next, value do
    if type(key) == "table" then
      error("its history cannot be kept: a table is a key in it", 0)
    end
    copy[plain(key, depth + 1)] = plain(item, depth + 1)
  end
  return copy
end

-- Mantle opens these, too. Here every file is one that is there and is not Lua, so that nothing is read.

local function no_lua(name)
  return nil, format("%s:1: unexpected symbol near '1234.56'", name)
end

local function cannot(name)
  error((select(2, no_lua(name))), 0)
end

local function environment(wanted, lines)
  local g = worlds.new(lines)
  if wanted.files then
    g.loadfile, g.dofile = no_lua, cannot
  end
  g.whoami, g.mds = wanted.whoami, case()
  for name, value in next, wanted.hook or {} do
    g[name] = value
  end
  if wanted.hook then
    g.hook, g.history, g.setmetatable = 1, plain(histories[wanted.whoami] or {}, 0), without_finalizers
  end
  return g
end

local function decide(wanted)
  local lines = {}
  local env = environment(wanted, lines)
  local ok, answer, selection = limited(INSTRUCTIONS, load(code, "=policy", "b", env))
  if not ok then
    return failure(answer)
  end
  local scores, why
  if wanted.hook and type(selection) == "function" then
    scores, why = scored(selection, wanted.subtrees)
    if not scores then
      return failure("its score function fails: " .. why)
    end
  end
  if wanted.hook then
    histories[wanted.whoami] = plain(rawget(env, "history"), 0)
  end
  return "{" .. concat({
    answered(answer, wanted.ranks),
    '"selection":' .. scalar(selection),
    '"scores":[' .. concat(scores or {}, ",") .. "]",
    '"log":[' .. logged(lines) .. "]",
  }, ",") .. "}"
end

function handlers.run(lua)
  return decide(load(lua, "=run", "t", {})())
end

-- An MDS runs the finalizers of a policy, too, and no count of instructions limits them.
function handlers.finish()
  histories = {}
  collect()
  return "{}"
end

write(output, "ready\n")
flush(output)
while true do
  local head = read(input, "l")
  if not head then
    return
  end
  local verb, length = match(head, "^(%a+) (%d+)$")
  local body = length == "0" and "" or read(input, tointeger(tonumber(length)))
  local ok, answer = pcall(handlers[verb], body)
  write(output, ok and answer or failure(reason(answer)), "\n")
  flush(output)
end

-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- The child's side of sandbox/child.py: runs a Mantle policy in a world of its own and tells what it returned.
--
-- Requests are "VERB LENGTH\n" and LENGTH bytes, answers one line of JSON each:
--   policy  the policy's text
--   case    Lua that returns what `mds` is to be
--   run     Lua that returns {whoami =, ranks =, hook = {epoch =, now =, rank_mask =} or nil, subtrees = {{field =}}}
--   finish  nothing: what the policy left behind is let go
--
-- A policy gets copies of the libraries that Mantle opens, and nothing that leads to this file's own: neither output
-- nor `debug`. What is used here after a policy has run are locals, and no method of a string, as a policy may change
-- the metatable of strings. It runs in a coroutine, so that the hook that ends it is its own.

local INSTRUCTIONS = 20000000 -- of a decision: an MDS answers nobody while its policy runs
local SCORE_INSTRUCTIONS = 100000 -- of one score, as in mds/src/MantleHook.cc
local STEP = 1000 -- instructions between two looks at the limit
local LOG_LINES, LOG_BYTES = 100, 2000 -- kept of what a policy logs
local TOO_LONG = "it runs for too long"

local BASE = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen",
  "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "xpcall",
}

local globals, collect, error, load, next, pcall, rawget = _G, collectgarbage, error, load, next, pcall, rawget
local select, setmetatable, tonumber, tostring, type = select, setmetatable, tonumber, tostring, type
local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local byte, dump, format = string.byte, string.dump, string.format
local gsub, match, sub = string.gsub, string.match, string.sub
local concat, pack, huge = table.concat, table.pack, math.huge
local kind, tointeger = math.type, math.tointeger
local sethook, clock = debug.sethook, os.clock
local input, output = io.stdin, io.stdout
local read, write, flush = input.read, output.write, output.flush
local strings = getmetatable("")
local libraries = { coroutine = coroutine, math = math, string = string, table = table, utf8 = utf8 }

-- JSON. Bytes above 127 are written as the code points of the same number; the reader makes bytes of them again.

local function escaped(c)
  return format("\\u%04x", byte(c))
end

local function text(s)
  return '"' .. gsub(s, '[%c"\\\127-\255]', escaped) .. '"'
end

local function number(x)
  if x ~= x then
    return "NaN"
  end
  if x == huge or x == -huge then
    return x > 0 and "Infinity" or "-Infinity"
  end
  return format(kind(x) == "integer" and "%d" or "%.17g", x)
end

local function scalar(x)
  if kind(x) then
    return number(x)
  end
  if type(x) == "string" then
    return text(sub(x, 1, LOG_BYTES))
  end
  if x == nil or type(x) == "boolean" then
    return x == nil and "null" or tostring(x)
  end
  return format('{"type":"%s"}', type(x))
end

-- A policy's own error may be any value, and tostring() of it the policy's own function.
local function reason(e)
  return (type(e) == "string" or kind(e)) and sub(format("%s", e), 1, LOG_BYTES) or "an error that is a " .. type(e)
end

-- The limit: at its end every instruction fails, so that no pcall of the policy outlives it. Each thread has a hook of
-- its own, and all count together.

local left = 0

local function over()
  sethook(over, "", 1)
  error(TOO_LONG, 0)
end

local function tick()
  left = left - STEP
  if left <= 0 then
    over()
  end
end

local function thread(f)
  local co = create(f)
  sethook(co, tick, "", STEP)
  return co
end

-- f(...) within a number of instructions: true and its results, or false and the reason.
local function limited(instructions, f, ...)
  left = instructions
  local co = thread(f)
  local found = pack(resume(co, ...))
  if found[1] and status(co) ~= "dead" then
    return false, "attempt to yield from outside a coroutine"
  end
  if not found[1] then
    return false, left <= 0 and TOO_LONG or reason(found[2])
  end
  return true, found[2], found[3]
end

-- A policy's world.

local function passed(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

local function copied(from, names)
  local to = {}
  for name, value in next, from do
    to[name] = value
  end
  for _, name in next, names or {} do
    to[name] = globals[name]
  end
  return to
end

local function logger(lines)
  return function(level, ...)
    local wanted, words = tointeger(tonumber(level) or 0.5), pack(...)
    for i = 1, words.n do
      if type(words[i]) ~= "string" and not kind(words[i]) then
        wanted = nil
      end
    end
    if not wanted then
      error("BAL_LOG takes a level (a whole number) and strings or numbers", 2)
    end
    if #lines < LOG_LINES then
      lines[#lines + 1] = { wanted, sub(concat(words), 1, LOG_BYTES) }
    end
  end
end

local function world(lines)
  local g = copied({}, BASE)
  for name, library in next, libraries do
    g[name] = copied(library)
  end
  g._G, g.BAL_LOG = g, logger(lines)
  g.print = function() end -- an MDS's output is nobody's
  g.collectgarbage = function(what, ...)
    return collect(what == "count" and what or "collect", ...)
  end
  g.load = function(chunk, name, mode, ...)
    -- In text mode: byte code can do what the language cannot.
    local allowed = mode == "b" and "" or "t"
    if select("#", ...) > 0 then
      return load(chunk, name, allowed, (...))
    end
    return load(chunk, name, allowed, g)
  end
  g.coroutine.create = thread
  g.coroutine.wrap = function(f)
    local co = thread(f)
    return function(...)
      return passed(resume(co, ...))
    end
  end
  for name in next, strings do
    strings[name] = nil
  end
  strings.__index = g.string
  return g
end

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

local function environment(wanted, lines)
  local g = world(lines)
  g.whoami, g.mds = wanted.whoami, case()
  if not wanted.hook then
    return g, g
  end
  for name, value in next, wanted.hook do
    g[name] = value
  end
  g.hook, g.history = 1, histories[wanted.whoami] or {}
  histories[wanted.whoami] = g.history
  return setmetatable({}, { __index = g }), g
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
  -- The CPU time, s: what the next request may take is set on top of it.
  write(output, format("%.3f ", clock()), ok and answer or failure(reason(answer)), "\n")
  flush(output)
end

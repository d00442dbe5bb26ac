-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- The world that a policy runs in: copies of the libraries that Mantle opens, and a limit on its instructions. A policy
-- runs in a coroutine, so that the hook that ends it is its own.

local STEP = 1000 -- instructions between two looks at the limit
local LOG_LINES, LOG_BYTES = 100, 2000 -- kept of what a policy logs
local TOO_LONG = "it runs for too long"

local BASE = {
  "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen",
  "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "xpcall",
}

local globals, collect, error, load, next = _G, collectgarbage, error, load, next
local select, tonumber, type = select, tonumber, type
local create, resume, status = coroutine.create, coroutine.resume, coroutine.status
local format, sub, concat, pack = string.format, string.sub, table.concat, table.pack
local kind, tointeger, sethook = math.type, math.tointeger, debug.sethook
local strings = getmetatable("")
local libraries = { coroutine = coroutine, math = math, string = string, table = table, utf8 = utf8 }

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

return { limited = limited, new = world, reason = reason }

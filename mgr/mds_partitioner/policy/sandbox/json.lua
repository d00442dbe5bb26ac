-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- What driver.lua answers with. Uses no method of a string, as a policy may change the metatable of strings.

local byte, format, gsub, sub = string.byte, string.format, string.gsub, string.sub
local kind, huge, tostring, type = math.type, math.huge, tostring, type

local LONGEST = 2000 -- bytes of a string

-- Bytes above 127 are written as the code points of the same number; the reader makes bytes of them again.

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
    return text(sub(x, 1, LONGEST))
  end
  if x == nil or type(x) == "boolean" then
    return x == nil and "null" or tostring(x)
  end
  return format('{"type":"%s"}', type(x))
end

return { text = text, number = number, scalar = scalar }

-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- GreedySpill, the policy of GIGA+ in the form that Mantle ships it (Sevilla et al., SC '15, section 4.1): a rank with
-- load hands half of it to the next rank when that one is idle. The baseline that Lunule is measured against.
--
-- Loads are popularity (mds[i]["all.meta_load"]), the unit that MDBalancer::find_exports compares the answer with.

local IDLE = 0.01 -- popularity below which a rank has no load

local function load_of(rank)
  local load = type(mds) == "table" and type(mds[rank]) == "table" and mds[rank]["all.meta_load"]
  if math.type(load) and load == load and load >= 0 and load < math.huge then
    return load
  end
  return nil
end

-- An MDS with our hook tells bal_rank_mask. Mantle does not look at it, so else the module tells it in `hints`; nil:
-- every rank.
local told = type(hints) == "table" and type(hints.mask) == "table" and hints.mask or nil
local mask = hook and type(rank_mask) == "table" and rank_mask or told

-- May the rank be given load?
local function allowed(rank)
  if not mask then
    return true
  end
  for _, member in ipairs(mask) do
    if member == rank then
      return true
    end
  end
  return false
end

-- Of those that may be given load; nil when this is the last one.
local function next_rank_of(n)
  for rank = math.type(whoami) == "integer" and whoami + 1 or n, n - 1 do
    if allowed(rank) then
      return rank
    end
  end
  return nil
end

local function decide(targets, n)
  local next_rank = next_rank_of(n)
  if not next_rank then
    return 2, "no migration: there is no next rank" .. (mask and " in the mask" or "")
  end
  local mine, theirs = load_of(whoami), load_of(next_rank)
  if not mine or not theirs then
    return 0, string.format("no migration: all.meta_load of rank %d is unknown", mine and next_rank or whoami)
  end
  if mine <= IDLE or theirs >= IDLE then
    return 2, string.format("load %.2f, rank %d has %.2f: nothing to spill", mine, next_rank, theirs)
  end
  targets[next_rank] = mine / 2
  return 1, string.format("load %.2f: %.2f spills to the idle rank %d", mine, mine / 2, next_rank)
end

local targets, n = {}, 0
while type(mds) == "table" and type(mds[n]) == "table" do
  targets[n] = 0
  n = n + 1
end
local level, line = decide(targets, n)
BAL_LOG(level, "greedyspill: " .. line)
return targets

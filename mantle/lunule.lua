-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- Lunule's load balancing as a Mantle policy for stock MDSs ("Lunule-Light": Wang et al., SC '21, section 3.2).
--
-- Every rank runs this once a beat (mds_bal_interval) on the same loads, so all come to the same matrix; each returns
-- its own row. Mantle forgets the Lua state between beats: what needs memory arrives in `hints`, a global that the
-- manager module mds_partitioner writes before the first line. Without hints the defaults below hold.
--
-- An MDS with our hook takes a second answer: what to choose subtrees by. That is the migration index (section 3.3),
-- and the files that are being made, which it does not count. An MDS without the hook moves what is hot, as ever, and
-- does not look at a second answer.
--
-- Loads and amounts are in req/s (mds[i]["req_rate"]) until the last step: MDBalancer::find_exports compares the
-- answer with the popularity of subtrees, so the row is scaled by this rank's popularity a request.
--
-- Two other signals must agree before anything moves:
-- * popularity. req_rate is the mean over the last beat: it shows what a rank served before the migrations that ended
--   meanwhile. The popularity of a subtree goes with it at once. By req_rate alone, the beat after a migration orders
--   the same amount once more. So the smaller of the two amounts is moved. But a listing makes a directory as popular
--   as it has entries: one client that lists large ones has nearly all popularity of a cluster, and full ranks seem to
--   have none. So no rank has more than if it had all requests, and these were as they usually are.
-- * the MDS's own CPU time. A rank that answers less than others, and works as hard, is not idle but slow (large
--   fragments, a cold cache, journaling), and slower with more. By req_rate alone it would be an importer. So a role is
--   for ranks only whose CPU time is as clearly on that side of the mean. How far is not asked: an idle MDS uses some.
--
-- While directories move their clients wait, and whoever keeps his seems to be the only one with work. Where the MDS
-- remembers (our hook), what went missing since the order of the last beat counts as load of those who get them, and
-- they give nothing away.
--
-- A stock MDS remembers nothing, and an order may take beats to show. Ordered again in each of them, the gap is moved
-- several times over, and back. So a rank orders for each importer in one beat of four only: whatever was ordered for
-- it before is in its place by then, or given up. The few importers of a small cluster have beats of their own, as an
-- MDS begins two exports at a time and empties its queue of others every beat: of large subtrees for all of them at
-- once most would be lost. The beats are told apart by the uptime of the host. Where it cannot be read, a rank orders a
-- fifth of the gap in every beat: a loop that learns of its own doing d beats late does not swing up to a gain of
-- d^d / (d+1)^(d+1), and hardly at a fifth with three beats. The price is that a subtree which is larger than that
-- fifth stays.
--
-- Without a capacity in the hints, urgency is what the MDSs say themselves: CPU time (cpu_load_avg is utime + stime of
-- /proc/self/stat, 100 is a core) and messages that wait for the dispatcher, as a quota on the CPU hides the first.

local DEFAULTS = {
  smoothness = 0.2,      -- S of the urgency
  threshold = 0.075,     -- nothing moves while IF is not above it
  role_threshold = 0.01, -- L: squared relative distance from the mean that makes a rank an exporter or importer
  limit = math.huge,     -- Cap: the most one rank hands over or takes in one beat, req/s
  interval = 10,         -- of beats, mds_bal_interval, s
}

-- In a cluster of n, with all others even, one rank at x above the mean makes CoV / sqrt(n) = x / (n - 1). So the more
-- ranks there are, the fuller one may be before the threshold is passed. In a cluster larger than the paper's, each is
-- judged as if it were in that.
local PAPERS_CLUSTER = 5 -- ranks
local CROWD = 8          -- messages in a queue that are more than beats of others
local CORE = 100       -- cpu_load_avg of an MDS that uses one core; its dispatcher can use no more
local BEATS_A_TURN = 4 -- of an importer: an order that shows within three beats is not repeated
local LATE = 3         -- intervals, after which a beat is no next one
local DAMPING = 0.2    -- part of the gap that is ordered in every beat where the turns cannot be told

-- Popularity that one write a second keeps up: 2 for each (mdstypes.h), halved every 5 s. Twice that of a read.
local POPULARITY_OF_A_WRITE = 2 * 5 / math.log(2)

local function finite(x)
  return math.type(x) ~= nil and x == x and x ~= math.huge and x ~= -math.huge
end

local function hint(name)
  local value = type(hints) == "table" and hints[name]
  return math.type(value) and value >= 0 and value or DEFAULTS[name]
end

-- Seconds since the host began; nil when it does not say. Lua has no clock, but what cannot be read as Lua is named.
local function uptime()
  local _, complaint = loadfile("/proc/uptime")
  return type(complaint) == "string" and tonumber(complaint:match("near '(%d+%.?%d*)'")) or nil
end

local function remembers()
  return type(history) == "table"
end

-- In a larger cluster each importer gets so little that what is for all of them fits into a beat.
local function beats_of_their_own(ranks)
  return not remembers() and #ranks <= PAPERS_CLUSTER
end

-- What of its row a rank orders in this beat, by importer: all or nothing by turns; always all where the MDS remembers.
-- The module's sandbox reads no files: it is to show what is ordered when it is their turn.
local function of_this_beat(row, ranks)
  if remembers() or type(loadfile) ~= "function" then
    return row
  end
  local seconds, ordered = uptime(), {}
  local beat = seconds and seconds // math.max(1, hint("interval"))
  local apart = beats_of_their_own(ranks) and 1 or 0
  for importer, amount in pairs(row) do
    if not beat then
      ordered[importer] = amount * DAMPING
    elseif (beat + apart * importer) % BEATS_A_TURN == 0 then
      ordered[importer] = amount
    end
  end
  return ordered
end

-- A list of ranks as a set; nil without one. The mask of this beat is newer than any hint, where the MDS tells it.
local function rank_set(name)
  local list = type(hints) == "table" and hints[name]
  if name == "mask" and hook and type(rank_mask) == "table" then
    list = rank_mask
  end
  if type(list) ~= "table" then
    return nil
  end
  local set = {}
  for _, rank in ipairs(list) do
    set[rank] = true
  end
  return set
end

local function cluster_size()
  local n = 0
  while type(mds) == "table" and type(mds[n]) == "table" do
    n = n + 1
  end
  return n
end

-- The first beat has no req_rate yet, as it is a difference between two beats. So that an overloaded rank need not wait
-- for the second, its popularity tells how many requests it served, at the least.
local function first_loads(loads, n)
  for rank = 0, n - 1 do
    local popularity = mds[rank]["auth.meta_load"]
    if loads[rank] > 0 or not finite(popularity) or popularity < 0 then
      return loads
    end
  end
  for rank = 0, n - 1 do
    loads[rank] = mds[rank]["auth.meta_load"] / POPULARITY_OF_A_WRITE
  end
  return loads
end

-- req/s by rank, or nil and the reason.
local function read_loads(n)
  local loads = {}
  for rank = 0, n - 1 do
    local load = mds[rank]["req_rate"]
    if not finite(load) or load < 0 then
      return nil, string.format("req_rate of rank %d is %s", rank, tostring(load))
    end
    loads[rank] = load
  end
  return first_loads(loads, n)
end

-- Popularity for each req/s that is usual here: that of writes, or of half of the ranks with load, if it is more.
local function usual_popularity(loads, ranks)
  local each = {}
  for _, rank in ipairs(ranks) do
    local popularity = mds[rank]["auth.meta_load"]
    if loads[rank] > 0 and finite(popularity) then
      each[#each + 1] = popularity / loads[rank]
    end
  end
  table.sort(each)
  return math.max(POPULARITY_OF_A_WRITE, each[(#each + 1) // 2] or 0)
end

-- The same total in proportion to another metric, req/s by rank; nil when that is unknown or zero everywhere.
-- most: of the metric for each req/s, were all of them one rank's.
local function loads_by(metric, most, loads, ranks)
  local total, sum, estimate = 0, 0, {}
  for _, rank in ipairs(ranks) do
    total = total + loads[rank]
  end
  for _, rank in ipairs(ranks) do
    local value = mds[rank][metric]
    if not finite(value) or value < 0 then
      return nil
    end
    estimate[rank] = math.min(value, most * total)
    sum = sum + estimate[rank]
  end
  if sum <= 0 then
    return nil
  end
  for _, rank in ipairs(ranks) do
    estimate[rank] = estimate[rank] / sum * total
  end
  return estimate
end

-- What each importer of the last beat's order will have, req/s, of the load that went missing since, on ranks that took
-- part then. Beats are counted while they are sent only: the last one may be of long ago.
local function on_the_way(loads, ranks)
  local last = remembers() and history.ordered
  if type(last) ~= "table" or type(last.loads) ~= "table" or not math.type(epoch) or epoch ~= last.epoch + 1 then
    return {}, 0
  end
  if math.type(now) and math.type(last.at) and math.abs(now - last.at) > LATE * hint("interval") then
    return {}, 0
  end
  local gone, found = 0, {}
  for _, rank in ipairs(ranks) do
    gone = gone + (last.loads[rank] and last.loads[rank] - loads[rank] or 0)
  end
  local missing = math.max(0, math.min(gone, last.amount))
  for rank, amount in pairs(last.imports) do
    found[rank] = missing * amount / last.amount
  end
  return found, missing
end

-- Of numbers by rank; in the order of ranks, as all ranks must come to the same.
local function total(by_rank)
  local order, sum = {}, 0
  for rank in pairs(by_rank) do
    order[#order + 1] = rank
  end
  table.sort(order)
  for _, rank in ipairs(order) do
    sum = sum + by_rank[rank]
  end
  return sum
end

local function sum_of(a, b, ranks)
  local sum = {}
  for _, rank in ipairs(ranks) do
    sum[rank] = a[rank] + (b[rank] or 0)
  end
  return sum
end

local function some_cpu_time(n)
  for rank = 0, n - 1 do
    local cpu = mds[rank]["cpu_load_avg"]
    if finite(cpu) and cpu > 0 then
      return true
    end
  end
  return false
end

-- Is it a rank's first beat? Requests and CPU time are differences between two beats: an MDS that was just started, as
-- after a fail-over, has neither, and would seem idle. But its subtrees are popular already.
local function just_started(rank)
  local popularity = mds[rank]["auth.meta_load"]
  local nothing = mds[rank]["cpu_load_avg"] == 0 and mds[rank]["req_rate"] == 0
  return nothing and finite(popularity) and popularity >= POPULARITY_OF_A_WRITE
end

-- The ranks that balance among themselves: of the mask, or of all, those that do not tell of their first beat; and the
-- others. Where nobody has CPU time it tells nothing.
local function participants(n)
  local mask, tells, ranks, new = rank_set("mask"), some_cpu_time(n), {}, {}
  for rank = 0, n - 1 do
    if mask == nil or mask[rank] then
      local list = tells and just_started(rank) and new or ranks
      list[#list + 1] = rank
    end
  end
  return ranks, new
end

-- How full a rank is, 1 for full. Without a capacity by the MDS's own account; some messages in a queue may be others'
-- beats. The capacity is that of common requests: with costly ones a rank that uses its core is full before.
local function fullness(rank, load)
  local capacity = type(hints) == "table" and hints.capacity
  local cpu, queue = mds[rank]["cpu_load_avg"], mds[rank]["queue_len"]
  local busy = finite(cpu) and cpu / CORE or 0
  if finite(capacity) and capacity > 0 then
    return math.max(load / capacity, busy >= 1 and 1 or 0)
  end
  return math.max(busy, finite(queue) and queue >= math.min(cluster_size(), CROWD) and 1 or 0)
end

-- Equation 2.
local function urgency(full)
  return 1 / (1 + math.exp((1 - 2 * full) / hint("smoothness")))
end

-- Equations 1 to 3; also the mean load, req/s.
local function imbalance(loads, ranks)
  local n, peak, fullest = #ranks, 0, 0
  for _, rank in ipairs(ranks) do
    peak = math.max(peak, loads[rank])
  end
  for _, rank in ipairs(ranks) do
    fullest = loads[rank] == peak and math.max(fullest, fullness(rank, peak)) or fullest
  end
  if n < 2 or peak == 0 then
    return 0, peak
  end
  local sum, squares = 0, 0
  for _, rank in ipairs(ranks) do
    sum = sum + loads[rank] / peak
  end
  local mean = sum / n
  for _, rank in ipairs(ranks) do
    squares = squares + (loads[rank] / peak - mean) ^ 2
  end
  local cov = math.min(math.sqrt(squares / (n - 1)) / mean, math.sqrt(n))
  return math.min(cov / math.sqrt(n) * urgency(fullest), 1), mean * peak
end

-- The ranks of a large cluster each of which would be harmful as the one hot rank of five: as a set, and how many.
local function hot_ranks(loads, mean, ranks)
  local hot, count = {}, 0
  for _, rank in ipairs(#ranks > PAPERS_CLUSTER and ranks or {}) do
    local factor = (loads[rank] / mean - 1) / (PAPERS_CLUSTER - 1) * urgency(fullness(rank, loads[rank]))
    if factor > hint("threshold") then -- of a NaN, too, this is false
      hot[rank], count = true, count + 1
    end
  end
  return hot, count
end

-- What the load of a rank is expected to grow by within the next beat, req/s. The module saw `seen` and predicts `by`;
-- it counts as long as the load is still on that way. A forecast whose time is over counts as none: the module takes it
-- back, and where an MDS tells the time (`now`, Unix s) the policy sees for itself.
local function growth(rank, load)
  local forecasts = type(hints) == "table" and hints.growth
  local forecast = type(forecasts) == "table" and forecasts[rank]
  if type(forecast) ~= "table" or not finite(forecast.by) or not finite(forecast.seen) then
    return 0
  end
  if math.type(now) and math.type(hints.expires) and now > hints.expires then
    return 0
  end
  return math.abs(load - forecast.seen) <= math.abs(forecast.by) and forecast.by or 0
end

-- What a rank within L is to come to, at most, req/s. Beside hot ranks that is half the way from the mean to where a
-- full rank is hot: up to the mean, each of many ranks may have room for less than any subtree is worth. The other half
-- is for its growth, and for an MDS that moves a fifth more than it is told (mds_bal_need_max).
local function ceiling(state)
  local above = next(state.hot) and hint("threshold") * (PAPERS_CLUSTER - 1) / 2 or 0
  return state.mean * (1 + above)
end

-- What a rank above the mean has to give, req/s.
local function surplus(rank, state)
  return math.min(hint("limit"), state.loads[rank] - state.mean)
end

-- What a rank below the mean has room for until it comes to `level`, req/s.
local function room(rank, level, state)
  local gap = level - state.loads[rank]
  return math.min(hint("limit"), gap, gap - growth(rank, state.loads[rank]))
end

-- As much of the amount that a rank gives (side 1) or takes (side -1) as its other signals agree to. level: req/s that
-- it is to come to.
local function agreed(amount, rank, side, level, state)
  local clearly = math.min(math.sqrt(hint("role_threshold")) * state.mean, side * (state.loads[rank] - state.mean) / 2)
  if state.cpu and side * (state.cpu[rank] - state.mean) <= clearly then
    return 0
  end
  return math.max(0, state.fresh and math.min(amount, side * (state.fresh[rank] - level)) or amount)
end

-- The chosen demands, and as much of the others as they are short of `need`, farthest from the mean first.
local function filled(chosen, others, need, state)
  local short, order = need - total(chosen), {}
  for rank in pairs(others) do
    order[#order + 1] = rank
  end
  table.sort(order, function(a, b)
    local here, there = math.abs(state.loads[a] - state.mean), math.abs(state.loads[b] - state.mean)
    return here > there or here == there and a < b
  end)
  for _, rank in ipairs(order) do
    if short <= 0 then
      break
    end
    chosen[rank] = math.min(others[rank], short)
    short = short - chosen[rank]
  end
  return chosen
end

-- Algorithm 1, lines 1 to 12: export and import demand by rank, req/s. By L alone there may be an exporter and nobody
-- to take from it: beside one hot rank all others are a little below the mean. So L only says who comes first. Where
-- those beyond it on one side are too few for the other, the farthest of the others fill up; where nobody is beyond
-- it, all may give. While the factor is not harmful, only hot ranks may.
local function demands(state, moving, ranks)
  local resting = rank_set("resting") or {}
  local exports, imports, near_exports, near_imports = {}, {}, {}, {}
  for _, rank in ipairs(ranks) do
    local load = state.loads[rank]
    local far = ((load - state.mean) / state.mean) ^ 2 > hint("role_threshold")
    if load > state.mean then
      local may = state.harmful or state.hot[rank]
      if may and not resting[rank] and (moving[rank] or 0) <= 0 then
        (far and exports or near_exports)[rank] = agreed(surplus(rank, state), rank, 1, state.mean, state)
      end
    elseif load < state.mean and not resting[rank] then
      local level = far and state.mean or ceiling(state)
      local amount = room(rank, level, state)
      if amount > 0 then
        (far and imports or near_imports)[rank] = agreed(amount, rank, -1, level, state)
      end
    end
  end
  if next(exports) == nil and next(imports) then
    return filled({}, near_exports, total(imports), state), imports
  end
  exports = next(exports) and exports or near_exports
  return exports, filled(imports, near_imports, total(exports), state)
end

-- Algorithm 1, lines 13 to 18: rows of the matrix, req/s by exporter and importer. Both are matched in the order of
-- their ranks, so whoever is served is not looked at again.
local function match(exports, imports, ranks)
  local rows, next_importer = {}, 1
  for _, exporter in ipairs(ranks) do
    local send, row = exports[exporter] or 0, {}
    while send > 0 and next_importer <= #ranks do
      local importer = ranks[next_importer]
      local take = imports[importer] or 0
      local amount = math.min(send, take)
      if amount > 0 then
        row[importer] = amount
      end
      send, imports[importer] = send - amount, take - amount
      if imports[importer] <= 0 then
        next_importer = next_importer + 1
      end
    end
    rows[exporter] = row
  end
  return rows
end

-- The same for importers that have beats of their own: from each exporter in proportion to what each has room for. A
-- full rank hides how much it is asked for. So who gets as much as it has room for, while others wait, gets too much.
local function spread(exports, imports, ranks)
  local rows, most = {}, math.max(total(exports), total(imports))
  for _, exporter in ipairs(ranks) do
    local send, row = exports[exporter] or 0, {}
    for importer, take in pairs(imports) do
      row[importer] = send > 0 and take > 0 and send * take / most or nil
    end
    rows[exporter] = row
  end
  return rows
end

-- Every rank remembers what all were to do, as all come to the same matrix.
local function remember(rows, loads, ranks)
  if not remembers() or not math.type(epoch) then
    return
  end
  local order = { epoch = epoch, at = now, loads = {}, amount = 0, imports = {} }
  for _, rank in ipairs(ranks) do
    order.loads[rank] = loads[rank]
    for importer, amount in pairs(rows[rank]) do
      order.amount = order.amount + amount
      order.imports[importer] = (order.imports[importer] or 0) + amount
    end
  end
  history.ordered = order.amount > 0 and order or nil
end

-- Popularity (meta_load) for each req/s of this rank; 0 when it cannot be known.
local function popularity_per_request(me, load)
  local popularity = mds[me]["auth.meta_load"]
  if not finite(popularity) or popularity <= 0 or load <= 0 then
    return 0
  end
  local scale = popularity / load
  return finite(scale) and scale or 0 -- of next to no load nothing can be told
end

local function listed(row, n)
  local parts = {}
  for rank = 0, n - 1 do
    if row[rank] then
      parts[#parts + 1] = string.format("%.0f to %d", row[rank], rank)
    end
  end
  return table.concat(parts, ", ")
end

local function role(me, exports, imports)
  return (exports[me] or 0) > 0 and "exporter" or (imports[me] or 0) > 0 and "importer" or "neither"
end

-- The row in popularity, for every rank, and what to log.
local function decide(n)
  local targets = {}
  for rank = 0, n - 1 do
    targets[rank] = 0
  end
  local loads, why = read_loads(n)
  if not loads then
    return targets, 0, "no migration: " .. why
  end
  if math.type(whoami) ~= "integer" or not loads[whoami] then
    return targets, 0, "no migration: whoami is " .. tostring(whoami)
  end
  local ranks, new = participants(n)
  local moving, missing = on_the_way(loads, ranks)
  local expected = sum_of(loads, moving, ranks)
  local factor, mean = imbalance(expected, ranks)
  local harmful = factor > hint("threshold") -- of a NaN, too, this is false
  local hot, count = hot_ranks(expected, mean, ranks)
  local seen = string.format("IF %.3f, load %.0f req/s, mean %.0f", factor, loads[whoami], mean)
  if missing > 0 then
    seen = string.format("%s, on the way %.0f", seen, missing)
  end
  if #new > 0 then
    seen = string.format("%s, just started: %s", seen, table.concat(new, " "))
  end
  if not harmful and count == 0 then
    return targets, 2, seen .. ": balanced"
  end
  if not harmful then
    seen = string.format("%s, %d hot by themselves", seen, count)
  end
  local fresh = loads_by("auth.meta_load", usual_popularity(loads, ranks), loads, ranks)
  local cpu = loads_by("cpu_load_avg", math.huge, expected, ranks)
  local state = { loads = expected, fresh = fresh and sum_of(fresh, moving, ranks), cpu = cpu, mean = mean }
  state.harmful, state.hot = harmful, hot
  local exports, imports = demands(state, moving, ranks)
  local what = role(whoami, exports, imports)
  local rows = (beats_of_their_own(ranks) and spread or match)(exports, imports, ranks)
  remember(rows, loads, ranks)
  local row = rows[whoami] or {}
  if next(row) == nil then
    return targets, 2, seen .. ": " .. what
  end
  local ordered = of_this_beat(row, ranks)
  if next(ordered) == nil then
    return targets, 2, seen .. ": exporter, waits for its turn"
  end
  local scale = popularity_per_request(whoami, math.min(loads[whoami], fresh and fresh[whoami] or loads[whoami]))
  for rank, amount in pairs(ordered) do
    targets[rank] = amount * scale
  end
  return targets, 1, string.format("%s: exporter, req/s: %s (x %.2f in popularity)", seen, listed(ordered, n), scale)
end

-- What is expected of a subtree: its migration index, but no more first visits than inodes that nobody visited. beta
-- divides by the visits, so a subtree that hardly anybody visited yet would be worth more than all busy ones beside it
-- together, and these would go with it as its small change. And where more inodes were visited for the first time than
-- are left to visit, files are being made, and as many will be again.
local function worth(subtree)
  local visits_again = subtree.alpha * subtree.l_t
  local first_visits = math.min(subtree.beta * subtree.l_s, subtree.unvisited)
  return visits_again + first_visits + math.max(0, subtree.first_visits - subtree.unvisited)
end

local targets, level, line = decide(cluster_size())
BAL_LOG(level, "lunule: " .. line)
return targets, hook and (type(hints) == "table" and hints.selection or worth) or nil

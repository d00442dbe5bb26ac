// SPDX-License-Identifier: LGPL-2.1-or-later
// What of the hook needs no cluster, against hostile input: unit-tests; 0 when all is well.
//
// An assertion, an abort or an endless loop ends this program, as it would an MDS.
#include <unistd.h>

#include <cmath>
#include <iostream>

#include "common/common_init.h"
#include "common/ceph_argparse.h"
#include "common/ceph_context.h"
#include "global/global_context.h"
#include "mds/BalMask.h"
#include "mds/Mantle.h"

namespace {

using targets_t = std::map<mds_rank_t, double>;

int failures = 0;

void check(const std::string& what, bool well)
{
  std::cout << (well ? "ok " : "FAILED ") << what << std::endl;
  failures += !well;
}

/// One beat of two ranks with a policy; what its score says, if it has a function for one.
struct Beat {
  int result;
  targets_t targets;
  std::string error;
  double score = NAN;

  Beat(MantleHistory& history, int epoch, const std::string& policy)
  {
    Mantle mantle(history);
    mantle.set_context(epoch, {0, 1});
    result = mantle.balance(policy, 0, {{{"auth.meta_load", 100}}, {{"auth.meta_load", 0}}}, targets);
    if (mantle.get_selection() == Mantle::Selection::FUNCTION)
      score = mantle.score({{"visits", 3}}, &error);
  }
};

const std::string LOOP = "while true do end ";
const std::string RETURN = " return {[0] = 0, 0}";

/// Each is tried for three beats: what one leaves behind must not end the next.
void no_policy_ends_it()
{
  const std::map<std::string, bool> policies = {  // and does it succeed?
    {"setmetatable({}, {__gc = function() error('gc') end}) collectgarbage()", false},
    {"for i = 1, 1000 do setmetatable({}, {__gc = error}) end", false},
    {"setmetatable({}, {__gc = true})", false},
    {"setmetatable({}, setmetatable({}, {__index = {__gc = error}}))", true},
    {"setmetatable(_G, {__newindex = error})", true},
    {"setmetatable(_G, {__index = error, __pairs = error}) setmetatable(history, {__newindex = error})", true},
    {"_G.hook = nil setmetatable(_G, {__newindex = error})", true},
    {LOOP, false},
    {"while true do pcall(function() " + LOOP + "end) end", false},
    {"xpcall(function() " + LOOP + "end, function() " + LOOP + "end)", false},
    {"assert(select(2, xpcall(error, function(e) return e .. '!' end, 'x')) == 'x!')", true},
    {"local ok, a, b = xpcall(function(...) return ... end, print, 1, 2) assert(ok and a == 1 and b == 2)", true},
    {"while true do coroutine.resume(coroutine.create(function() " + LOOP + "end)) end", false},
    {"local f = coroutine.wrap(function() while true do pcall(function() " + LOOP + "end) end end) f()", false},
    {"local f = function() for i = 1, 90 do end end while true do coroutine.wrap(f)() end", false},
    {"table.sort({1, 2, 3}, function() " + LOOP + "end)", false},
    {"local x = setmetatable({}, {__newindex = function() " + LOOP + "end}) x.y = 1", false},
    {"local x = setmetatable({}, {__index = function() " + LOOP + "end}).x", false},
    {"local function f() return pcall(f) end while true do f() end", false},
    {"local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end", false},
    {"local s = ('x'):rep(1e12)", false},
    {"error()", false},
    {"error({})", false},
    {"error(setmetatable({}, {__tostring = error}))", false},
  };
  for (const auto& [policy, succeeds] : policies) {
    MantleHistory history;
    bool well = true;
    for (int epoch = 0; epoch < 3; epoch++)
      well = well && (Beat(history, epoch, policy + RETURN).result == 0) == succeeds;
    check(policy, well);
  }
}

void no_score_ends_it()
{
  const std::map<std::string, std::string> scores = {  // and its error
    {"return c.visits", ""},
    {"return c.visits / nothing", "attempt to perform arithmetic on a nil value (global 'nothing')"},
    {"return 0 / 0", "no finite number"},
    {"return -1", "no finite number"},
    {"return '3'", "no finite number"},
    {LOOP, "more than 10000000 instructions in a beat"},
    {"while true do pcall(function() " + LOOP + "end) end", "more than 10000000 instructions in a beat"},
    {"setmetatable({}, {__gc = error})", "a policy has no finalizers"},
    {"error({})", "it failed"},
  };
  for (const auto& [score, error] : scores) {
    MantleHistory history;
    Beat beat(history, 0, "return {[0] = 0, 0}, function(c) " + score + " end");
    const bool as_said = error.empty() ? beat.error.empty() : beat.error.find(error) != std::string::npos;
    check(score + " -> " + beat.error, beat.result == 0 && as_said && std::isfinite(beat.score) == error.empty());
  }
}

/// What is put into the history in one beat, and a condition on it in the next.
void history_is_plain_data()
{
  const std::map<std::string, std::string> kept = {
    {"history.a = {1, 2.5, 'x', true, {b = {c = -3}}}",
     "local a = history.a return math.type(a[1]) == 'integer' and a[2] == 2.5 and a[3] == 'x' and a[4] == true"
     " and a[5].b.c == -3 and #a == 5"},
    {"history[1] = 'one' history[2.5] = 'half' history[true] = 'yes' history.no = false",
     "return history[1] == 'one' and history[2.5] == 'half' and history[true] == 'yes' and history.no == false"},
    {"history.zero = 'a\\0b'", "return history.zero == 'a\\0b' and #history.zero == 3"},
    {"history = {new = 1}", "return history.new == 1"},
    {"history.m = setmetatable({1}, {__index = error, __pairs = error})",
     "return history.m[1] == 1 and getmetatable(history.m) == nil and history.m[2] == nil"},
    {"history.x = 1 error('later')", "return history.x == 1"},
    {"forgotten = 1", "return forgotten == nil and next(history) == nil"},
    {"history.x = 1 history.f = print", "return next(history) == nil"},
    {"history.x = history", "return next(history) == nil"},
    {"history[{}] = 1", "return next(history) == nil"},
    {"history.x = coroutine.create(print)", "return next(history) == nil"},
    {"history.x = ('x'):rep(2^21)", "return next(history) == nil"},
    {"for i = 1, 1e6 do history[i] = i end", "return next(history) == nil"},
    {"local t = {} for i = 1, 30 do t = {t, t} end history.t = t", "return next(history) == nil"},
    {"history = nil", "return next(history) == nil"},
  };
  for (const auto& [put, condition] : kept) {
    MantleHistory history;
    Beat(history, 0, put + RETURN);
    Beat second(history, 1, "assert((function() " + condition + " end)())" + RETURN);
    check(put, second.result == 0);
  }
}

void a_mask_is_what_was_checked()
{
  BalMask::ranks_t ranks;
  BalMask::xattrs_t sent, before;
  auto decoded = [](const std::string& value) {
    using ceph::encode;
    ceph::bufferlist bl;
    encode(uint32_t(1), bl);
    encode(std::string(BalMask::XATTR), bl);
    encode(value, bl);
    BalMask::xattrs_t xattrs;
    auto p = bl.cbegin();
    decode_noshare<mempool::mds_co::pool_allocator>(xattrs, p);
    return xattrs;
  };
  check("no attribute is no mask", !BalMask::of(sent, &ranks));
  check("no bytes are no mask", !BalMask::of(decoded(""), &ranks));
  check("nonsense is no mask", !BalMask::of(decoded("0,,1"), &ranks));
  check("a list is a mask", BalMask::of(decoded("0,3"), &ranks) && ranks.to_ulong() == 9);

  sent = decoded("1");
  BalMask::keep(nullptr, sent);
  check("a create has none", sent.empty());
  sent = decoded("");
  BalMask::keep(nullptr, sent);
  check("nor one without bytes", sent.empty());
  before = decoded("0,3");
  sent = decoded("1");
  sent["user.color"] = sent.begin()->second;
  BalMask::keep(&before, sent);
  check("a returned capability changes none",
        sent.size() == 2 && BalMask::of(sent, &ranks) && ranks.to_ulong() == 9);
  sent.clear();
  BalMask::keep(&before, sent);
  check("and takes none away", BalMask::of(sent, &ranks));
}

} // anonymous namespace

int main()
{
  CephInitParameters parameters(CEPH_ENTITY_TYPE_CLIENT);
  g_ceph_context = common_preinit(parameters, CODE_ENVIRONMENT_UTILITY, CINIT_FLAG_NO_DEFAULT_CONFIG_FILE);
  g_ceph_context->_conf.apply_changes(nullptr);
  no_policy_ends_it();
  no_score_ends_it();
  history_is_plain_data();
  a_mask_is_what_was_checked();
  std::cout << failures << " failed" << std::endl;
  _exit(failures > 0);
}

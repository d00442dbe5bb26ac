-- What Mantle offers a policy (src/mds/Mantle.cc), the hints that the module writes before it, and what our hook adds.
std = "lua53"
read_globals = { "whoami", "mds", "BAL_LOG", "hints", "hook", "now", "epoch", "rank_mask" }
globals = { "history" }
not_globals = { "io", "os", "debug", "package", "require", "dofile", "loadfile" }
max_line_length = 120

-- Mantle opens all of the base library. What the sandbox refuses an operator's policy, ours reads the uptime with.
files["mantle/lunule.lua"] = { read_globals = { "loadfile" } }

-- The sandbox's own side: plain lua5.3, which takes away what Mantle does not offer.
files["mgr/mds_partitioner/policy/sandbox"] = { not_globals = {}, read_globals = { "io", "os", "debug", "dofile", "arg" } }

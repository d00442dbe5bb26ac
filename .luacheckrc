-- What Mantle offers a policy (src/mds/Mantle.cc), and the hints that the module writes above it.
std = "lua53"
read_globals = { "whoami", "mds", "BAL_LOG", "hints", "now" }
not_globals = { "io", "os", "debug", "package", "require", "dofile", "loadfile" }
max_line_length = 120

// SPDX-License-Identifier: LGPL-2.1-or-later
// The options that the series adds to mds.yaml.in. Upstream compiles them into libceph-common; to the
// installed one they are made known before anything of ours runs.
#define get_mds_options get_options_of_series
#include "../options/mds_options.cc"  // beside the generated headers

#include <algorithm>

namespace {

const struct Known {
  Known() {
    auto& known = const_cast<std::vector<Option>&>(ceph_options);
    for (const auto& option : get_options_of_series())
      if (std::none_of(known.begin(), known.end(), [&](const auto& o) { return o.name == option.name; }))
        known.push_back(option);
  }
} known;

} // anonymous namespace

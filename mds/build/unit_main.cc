// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the series' unit tests (src/test/mds); upstream they are linked with src/test/unit.cc.
#include <unistd.h>

#include "common/ceph_argparse.h"
#include "common/ceph_context.h"
#include "common/common_init.h"
#include "global/global_context.h"
#include "gtest/gtest.h"

int main(int argc, char **argv)
{
  testing::InitGoogleTest(&argc, argv);
  CephInitParameters parameters(CEPH_ENTITY_TYPE_CLIENT);
  g_ceph_context = common_preinit(parameters, CODE_ENVIRONMENT_UTILITY, CINIT_FLAG_NO_DEFAULT_CONFIG_FILE);
  g_ceph_context->_conf.apply_changes(nullptr);
  _exit(RUN_ALL_TESTS());  // nothing of it is to be taken down in order
}

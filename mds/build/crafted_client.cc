// SPDX-License-Identifier: LGPL-2.1-or-later
// A client that sends extended attributes as no honest one does: crafted-client PATH NAME [VALUE].
//
// It makes a directory in the root of the file system with one attribute, and then gives back its capability
// for it with the same attribute. Neither is asked for the rights that setxattr is. Without VALUE the
// attribute has no bytes. 0 when the MDS has answered both.
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <iostream>

#include "common/async/context_pool.h"
#include "common/ceph_argparse.h"
#include "common/ceph_context.h"
#include "common/common_init.h"
#include "global/global_context.h"
#include "include/ceph_fs.h"
#include "mds/MDSMap.h"
#include "mds/cephfs_features.h"
#include "messages/MClientCaps.h"
#include "messages/MClientReply.h"
#include "messages/MClientRequest.h"
#include "messages/MClientSession.h"
#include "messages/MMDSMap.h"
#include "mon/MonClient.h"
#include "msg/Dispatcher.h"
#include "msg/Messenger.h"

namespace {

constexpr auto PATIENCE = std::chrono::seconds(60);
constexpr uint64_t MOST_PUSHED = 32;

/// Keep the first answer of a kind: an MDS may say the same again.
template<typename T> void keep(std::promise<T>& answer, T value)
{
  try {
    answer.set_value(std::move(value));
  } catch (const std::future_error&) {
  }
}

/// What has come in, each once.
class Answers : public Dispatcher {
public:
  explicit Answers(CephContext *cct) : Dispatcher(cct) {}
  std::promise<MDSMap> map;
  std::promise<int> opened, closed, acknowledged;
  std::promise<ref_t<MClientReply>> reply;

  bool ms_dispatch(Message *message) override
  {
    const MessageRef m(message, false);
    switch (m->get_type()) {
    case CEPH_MSG_MDS_MAP: {
      MDSMap got;
      auto p = ref_cast<MMDSMap>(m)->get_encoded().cbegin();
      got.decode(p);
      keep(map, got);
      return true;
    }
    case CEPH_MSG_CLIENT_SESSION:
      if (auto op = ref_cast<MClientSession>(m)->get_op(); op == CEPH_SESSION_OPEN)
        keep(opened, 0);
      else if (op == CEPH_SESSION_CLOSE)
        keep(closed, 0);
      return true;
    case CEPH_MSG_CLIENT_REPLY:
      keep(reply, ref_cast<MClientReply>(m));
      return true;
    case CEPH_MSG_CLIENT_CAPS:
      if (ref_cast<MClientCaps>(m)->get_op() == CEPH_CAP_OP_FLUSH_ACK)
        keep(acknowledged, 0);
      return true;
    }
    return true;
  }
  bool ms_handle_reset(Connection *) override { return true; }
  void ms_handle_remote_reset(Connection *) override {}
  bool ms_handle_refused(Connection *) override { return false; }
};

template<typename T> T wait(std::promise<T>& answer, const char *what)
{
  auto future = answer.get_future();
  if (future.wait_for(PATIENCE) != std::future_status::ready) {
    std::cerr << "no answer: " << what << std::endl;
    _exit(1);
  }
  return future.get();
}

ceph::bufferlist attribute(const char *name, const char *value)
{
  using ceph::encode;
  ceph::bufferlist bl;
  encode(uint32_t(1), bl);
  encode(std::string(name), bl);
  encode(std::string(value ? value : ""), bl);
  return bl;
}

ref_t<MClientRequest> mkdir_request(const MDSMap& map, const char *path, const ceph::bufferlist& attributes)
{
  auto request = make_message<MClientRequest>(CEPH_MDS_OP_MKDIR);
  request->set_tid(1);
  request->set_stamp(ceph_clock_now());
  request->set_mdsmap_epoch(map.get_epoch());
  request->set_filepath(filepath(path, CEPH_INO_ROOT));
  request->head.args.mkdir.mode = 0755;
  request->set_caller_uid(0);
  request->set_caller_gid(0);
  [](auto& head) {
    if constexpr (requires { head.owner_uid; })
      head.owner_uid = head.owner_gid = 0;
  }(request->head);
  ceph::bufferlist data = attributes;
  request->set_data(data);
  return request;
}

/// The new directory, as the reply has it.
InodeStat made(const ref_t<MClientReply>& reply)
{
  using ceph::decode;
  constexpr uint64_t features = -1;  // as of CEPHFS_FEATURE_REPLY_ENCODING
  auto p = reply->get_trace_bl().cbegin();
  if (reply->head.is_dentry) {
    InodeStat parent(p, features);
    DirStat dir(p, features);
    std::string name;
    decode(name, p);
    LeaseStat lease;
    lease.decode(p, features);
  }
  return InodeStat(p, features);
}

int run(const char *path, const char *name, const char *value)
{
  auto& answers = *new Answers(g_ceph_context);
  // Never taken down: see main.
  auto& pool = *new ceph::async::io_context_pool(1);
  auto& monc = *new MonClient(g_ceph_context, pool);
  Messenger *messenger = Messenger::create_client_messenger(g_ceph_context, "crafted");
  messenger->set_default_policy(Messenger::Policy::lossy_client(0));
  messenger->set_policy(entity_name_t::TYPE_MDS, Messenger::Policy::lossless_client(0));
  messenger->start();
  messenger->add_dispatcher_tail(&answers);
  monc.set_want_keys(CEPH_ENTITY_TYPE_MON | CEPH_ENTITY_TYPE_MDS);
  monc.set_messenger(messenger);
  if (monc.build_initial_monmap() < 0 || monc.init() < 0 || monc.authenticate(30) < 0) {
    std::cerr << "no monitor" << std::endl;
    return 1;
  }
  messenger->set_myname(entity_name_t::CLIENT(monc.get_global_id()));
  monc.sub_want("mdsmap", 0, 0);
  monc.renew_subs();
  const MDSMap map = wait(answers.map, "MDS map");
  auto mds = messenger->connect_to_mds(map.get_addrs(0));
  auto open = make_message<MClientSession>(CEPH_SESSION_REQUEST_OPEN);
  open->supported_features = feature_bitset_t(CEPHFS_FEATURES_CLIENT_SUPPORTED);
  open->metadata["entity_id"] = "admin";
  mds->send_message2(open);
  wait(answers.opened, "session");

  const auto attributes = attribute(name, value);
  mds->send_message2(mkdir_request(map, path, attributes));
  const auto reply = wait(answers.reply, "mkdir");
  if (reply->get_result() < 0) {
    std::cerr << "mkdir: " << reply->get_result() << std::endl;
    return 1;
  }
  const InodeStat dir = made(reply);
  auto flush = make_message<MClientCaps>(CEPH_CAP_OP_FLUSH, dir.vino.ino, inodeno_t(dir.cap.realm),
                                         dir.cap.cap_id, dir.cap.mseq, 0);
  flush->head.seq = dir.cap.seq;
  flush->head.caps = dir.cap.caps;
  flush->head.dirty = CEPH_CAP_XATTR_EXCL;
  flush->head.xattr_version = dir.xattr_version + 1;
  flush->xattrbl = attributes;
  flush->set_client_tid(1);
  mds->send_message2(flush);
  wait(answers.acknowledged, "flush");

  // It has to say how many messages the MDS counts as pushed; all others are dropped.
  for (uint64_t pushed = 0; pushed < MOST_PUSHED; pushed++)
    mds->send_message2(make_message<MClientSession>(CEPH_SESSION_REQUEST_CLOSE, pushed));
  wait(answers.closed, "close");
  std::cout << ((dir.cap.caps & CEPH_CAP_XATTR_EXCL) ? "with" : "without") << " Xx" << std::endl;
  return 0;
}

} // anonymous namespace

int main(int argc, const char **argv)
{
  if (argc < 3) {
    std::cerr << "crafted-client PATH NAME [VALUE]" << std::endl;
    return 2;
  }
  CephInitParameters parameters(CEPH_ENTITY_TYPE_CLIENT);
  auto cct = common_preinit(parameters, CODE_ENVIRONMENT_UTILITY, 0);
  g_ceph_context = cct;
  cct->_conf.parse_config_files(nullptr, nullptr, 0);
  cct->_conf.apply_changes(nullptr);
  common_init_finish(cct);
  const int r = run(argv[1], argv[2], argc > 3 ? argv[3] : nullptr);
  std::cout.flush();
  _exit(r);  // nothing of it is to be taken down in order
}

#include "services/kafka/rebuild.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/set_position.h"
#include "common/stream/kafka/state.h"

namespace cobblestone::kafka {

using pipeline::MakeSlotFactory;

namespace {

namespace fs = std::filesystem;
using stream::kafka::Millis;

constexpr Millis kRebuildPatience{60000};
constexpr std::chrono::milliseconds kGroupLookEvery{300};
constexpr const char* kRebuildTransactionalId = "rebuild";

std::string SlotDirectory(const std::string& space, std::uint32_t slot) {
  return space + "/slot-" + std::to_string(slot);
}

// A temporary directory, removed with its contents.
class Scratch {
 public:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Rebuild>> Rebuild::Open(const settings::RunSettings& settings,
                                               std::function<void(const std::string&)> report) {
  std::unique_ptr<Rebuild> made(new Rebuild);
  made->settings_ = settings;
  auto deployment = DeploymentOf(settings, report);
  if (!deployment.ok()) return deployment.status();
  made->deployment_ = std::move(*deployment);
  // With static membership the broker refuses to change the offsets of a group that has members.
  made->deployment_.cluster.static_members = true;
  made->report_ = std::move(report);
  if (Status s = CheckTopics(made->deployment_); !s.ok()) return s;
  auto admin = stream::kafka::MakeTopicAdmin(made->deployment_.cluster);
  if (!admin.ok()) return admin.status();
  made->admin_ = std::move(*admin);
  auto cluster = stream::kafka::MakeCluster(made->deployment_.cluster);
  if (!cluster.ok()) return cluster.status();
  made->cluster_ = std::move(*cluster);
  if (Status s = CheckKind(*made->cluster_, settings); !s.ok()) return s;
  return made;
}

Result<RebuiltState> Rebuild::State(std::uint32_t slot,
                                    const std::function<void(const stream::kafka::TaskStatus&)>& progress) {
  if (Status s = ClaimStateDirectories(settings_, deployment_, report_); !s.ok()) return s;
  // The existing state stays locked until the new one is complete, so that no worker uses it meanwhile.
  std::vector<std::unique_ptr<stream::kafka::StateSpace>> spaces;
  std::vector<std::unique_ptr<store::Store>> held;
  for (std::uint32_t t = 0; t < settings_.threads; ++t) {
    if (!fs::exists(SlotDirectory(StateDirectory(settings_, t), slot))) continue;
    spaces.push_back(
        stream::kafka::MakeDirectoryStateSpace(StateDirectory(settings_, t), settings_.memory.block_cache));
    auto store = spaces.back()->Open(slot);
    if (store.ok())
      held.push_back(std::move(*store));
    else if (store.status().code() != StatusCode::kCorrupted)
      return Status(store.status().code(), "the state of slot " + std::to_string(slot) +
                                               " cannot be rebuilt now: " + store.status().message());
  }
  const Scratch scratch(settings_.data_directory + "/kafka-state/rebuild-" + std::to_string(::getpid()));
  const auto space = stream::kafka::MakeDirectoryStateSpace(scratch.path(), settings_.memory.block_cache);
  RebuiltState rebuilt;
  auto meta = CatchUp(*cluster_, slot, deployment_.task, MakeSlotFactory(settings_), *space, background_,
                      {.markers = true, .patience = kRebuildPatience, .progress = [&](const auto& status) {
                         rebuilt.rows = status.restored_rows;
                         rebuilt.reexecuted = status.reexecuted;
                         if (progress) progress(status);
                       }});
  if (!meta.ok()) return meta.status();
  rebuilt.sequence = meta->sequence;
  held.clear();
  for (const auto& old : spaces)
    if (Status s = old->Remove(slot); !s.ok()) return s;
  if (rebuilt.sequence == 0) return rebuilt;
  // Stored for the thread that looks for this slot before it joins the group (Worker::Begin).
  const std::string place = StateDirectory(settings_, slot % settings_.threads);
  std::error_code error;
  fs::create_directories(place, error);
  if (!error) fs::rename(SlotDirectory(scratch.path(), slot), SlotDirectory(place, slot), error);
  if (error)
    return Status::Unwritten(error.value(), "cannot move the rebuilt state to " + SlotDirectory(place, slot) +
                                                ": " + error.message() +
                                                ". A worker rebuilds the state when it starts");
  return rebuilt;
}

Status Rebuild::AwaitDecided(std::uint32_t slot) {
  const auto deadline =
      std::chrono::steady_clock::now() + settings_.kafka.transaction_timeout + kRebuildPatience;
  for (const stream::TopicIndex topic : {deployment_.task.journal, deployment_.task.checkpoint}) {
    for (bool reported = false;; reported = true) {
      auto ends = admin_->EndsOf({topic, slot});
      if (!ends.ok()) return ends.status();
      if (ends->stable == ends->all) break;
      if (std::chrono::steady_clock::now() > deadline)
        return Status::Retry(
            "a dead worker still has an open transaction in the " + deployment_.task.topics[topic].name +
            " of slot " + std::to_string(slot) +
            "; the brokers abort the transaction after its timeout. Run the command again then");
      if (!reported) report_("waiting for the brokers to abort a transaction of a dead worker");
      std::this_thread::sleep_for(kGroupLookEvery);
    }
  }
  return Status::Ok();
}

Result<std::vector<JournalTaken>> Rebuild::TakeJournals(const std::vector<std::uint32_t>& slots) {
  if (Status s = AwaitNoMembers(*admin_, settings_, report_); !s.ok()) return s;
  stream::kafka::NoListener listener;
  auto group = cluster_->NewGroup("observer", listener);
  if (!group.ok()) return group.status();
  auto committed = (*group)->Committed(slots, true, kRebuildPatience);
  if (!committed.ok()) return committed.status();
  std::vector<JournalTaken> taken;
  std::map<std::uint32_t, stream::kafka::Position> positions;
  for (const std::uint32_t k : slots) {
    const auto one =
        std::find_if(committed->begin(), committed->end(), [k](const auto& c) { return c.slot == k; });
    if (one != committed->end() && one->offset) {
      const auto position = stream::kafka::DecodePosition(*one->offset, one->metadata);
      if (!position.ok()) return position.status();
      taken.push_back({.what = JournalTaken::What::kCommitted, .sequence = position->sequence});
      continue;
    }
    if (Status s = AwaitDecided(k); !s.ok()) return s;
    auto position = stream::kafka::PositionByJournal(*cluster_, k, deployment_.task, kRebuildPatience);
    if (!position.ok()) return position.status();
    if (!*position) {
      taken.push_back({});
      continue;
    }
    taken.push_back({.what = JournalTaken::What::kTaken, .sequence = (*position)->sequence});
    positions[k] = **position;
  }
  if (positions.empty()) return taken;
  auto producer = cluster_->NewProducer(kRebuildTransactionalId);
  if (!producer.ok()) return producer.status();
  stream::kafka::Outcome o = (*producer)->Init();
  if (o.ok()) o = (*producer)->Begin();
  if (o.ok()) o = SendPositions(*cluster_, positions, deployment_.task.journal, **producer);
  if (o.ok()) o = (*producer)->Commit();
  if (!o.ok())
    return Status::Retry(
        "cannot commit the positions; nothing was changed: " + o.message +
        ". Check for a worker that was started meanwhile; stop the worker, and run the command again");
  return taken;
}

}  // namespace cobblestone::kafka

#include "services/kafka/audited_deployment.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/private_directory.h"
#include "common/stream/embedded/lock_file.h"
#include "common/stream/kafka/background.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/state_directory.h"
#include "common/wire/control/topics.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/kafka_log.h"
#include "services/ledger/ledger.h"
#include "services/ledger/stored_rows.h"

namespace cobblestone::kafka {

using audit::AuditedPipeline;
using audit::AuditedState;
using ledger::LedgerIndex;
using ledger::MakeLedger;
using ledger::MakeStoredRows;
using pipeline::InputsOfSlot;
using pipeline::MakeSlotFactory;

namespace {

class AuditedDeployment final : public AuditedPipeline {
 public:
  AuditedDeployment(const settings::RunSettings& settings, AuditedDeploymentOptions options)
      : settings_(settings), options_(std::move(options)) {}

  Status Open() {
    if (Status s = MakePrivateDirectory(options_.directory, options_.report); !s.ok()) return s;
    auto lock = stream::embedded::LockFile::Take(options_.directory + ".lock");
    if (!lock.ok()) return lock.status();
    lock_.emplace(std::move(*lock));
    for (const settings::RunSettings& of_role : AllRolesOf(settings_)) {
      auto deployment = DeploymentOf(of_role, options_.report);
      if (!deployment.ok()) return deployment.status();
      auto cluster = stream::kafka::MakeCluster(deployment->cluster);
      if (!cluster.ok()) return cluster.status();
      roles_.push_back(
          {.settings = of_role, .deployment = std::move(*deployment), .cluster = std::move(*cluster)});
    }
    if (Status s = CheckTopics(first().deployment); !s.ok()) return s;
    auto admin = stream::kafka::MakeTopicAdmin(first().deployment.cluster);
    if (!admin.ok()) return admin.status();
    admin_ = std::move(*admin);
    const auto id = admin_->ClusterId();
    if (!id.ok()) return id.status();
    if (Status s = CheckKind(*first().cluster, settings_); !s.ok()) return s;
    return stream::kafka::ClaimStateDirectory(
        options_.directory, {.cluster = *id, .prefix = first().deployment.cluster.prefix}, options_.report);
  }

  [[nodiscard]] std::uint32_t partitions() const override { return settings_.partitions; }
  [[nodiscard]] bool lockstep() const override { return settings_.order == settings::Order::kLockstep; }

  Status Look(std::uint32_t partition, const std::function<Status(const AuditedState&)>& look) override {
    Restored restored(options_.directory + "/state");
    for (Role& role : roles_)
      if (Status s = Restore(role, partition, restored); !s.ok()) return s;
    const auto rows = [&](view::Stage stage) -> const view::Rows& {
      const auto name = settings::kStageNames[static_cast<std::size_t>(stage)];
      for (std::size_t r = 0; r < roles_.size(); ++r)
        if (RoleName(roles_[r].settings) == name) return *restored.rows[r];
      return *restored.rows.front();
    };
    return look({.claims = rows(view::Stage::kClaims),
                 .grants = rows(view::Stage::kGrants),
                 .accounts = rows(view::Stage::kAccounts),
                 .teams = rows(view::Stage::kTeams),
                 .grants_end = restored.grants_end,
                 .postings_end = restored.postings_end});
  }

  std::unique_ptr<stream::IndexedLog> LogOf(stream::TopicIndex topic) override {
    return LogsOf(*first().cluster, *admin_, first().deployment, Reads::kOn)(topic);
  }

  Result<view::Ledger*> ledger() override {
    if (ledger_ != nullptr) return ledger_.get();
    auto index = LedgerIndex::Open(options_.directory + "/index",
                                   LogsOf(*first().cluster, *admin_, first().deployment, Reads::kOn),
                                   settings_.partitions);
    if (!index.ok()) return index.status();
    index_ = std::move(*index);
    if (Status s = index_->Flush(); !s.ok()) return s;
    ledger_ = MakeLedger(LogsOf(*first().cluster, *admin_, first().deployment, Reads::kAnywhere), *index_);
    return ledger_.get();
  }

 private:
  // Slots of one group: all slots, or those of one stage.
  struct Role {
    settings::RunSettings settings;
    KafkaDeployment deployment;
    std::unique_ptr<stream::kafka::Cluster> cluster;
  };

  // The states of one partition, deleted with the object.
  struct Restored {
    explicit Restored(std::string path) : directory(std::move(path)) { Wipe(); }
    ~Restored() {
      rows.clear();
      Wipe();
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;
    void Wipe() const {
      std::error_code ignored;
      std::filesystem::remove_all(directory, ignored);
    }

    const std::string directory;
    std::vector<std::unique_ptr<const view::Rows>> rows;  // by role
    std::uint64_t grants_end = 0;
    std::uint64_t postings_end = 0;
  };

  [[nodiscard]] Role& first() { return roles_.front(); }

  Status Restore(Role& role, std::uint32_t slot, Restored& restored) {
    const std::string name = RoleName(role.settings);
    if (name == settings::kStageNames[static_cast<std::size_t>(view::Stage::kCoordinator)]) {
      restored.rows.push_back(nullptr);  // no audit reads this state
      return Status::Ok();
    }
    const auto space = stream::kafka::MakeDirectoryStateSpace(
        restored.directory + "/" + (name.empty() ? "slots" : name),
        std::max<std::uint64_t>(settings_.memory.block_cache, 1u << 20));
    const std::string text = (name.empty() ? "" : name + " ") + "slot " + std::to_string(slot);
    const auto meta = stream::kafka::CatchUp(
        *role.cluster, slot, role.deployment.task, MakeSlotFactory(role.settings), *space, background_,
        {.progress = [&](const stream::kafka::TaskStatus& status) {
          if (options_.restoring) options_.restoring(text, status.sequence, status.target_sequence);
        }});
    if (!meta.ok()) return meta.status();
    const auto inputs = InputsOfSlot(slot, PipelineOf(role.settings));
    for (std::size_t i = 0; i < inputs.size() && i < meta->next.size(); ++i) {
      if (inputs[i].topic == wire::kGrants) restored.grants_end = meta->next[i];
      if (inputs[i].topic == wire::kPostings) restored.postings_end = meta->next[i];
    }
    auto store = space->Open(slot);
    if (!store.ok()) return store.status();
    restored.rows.push_back(MakeStoredRows(std::shared_ptr<const store::Store>(std::move(*store))));
    return Status::Ok();
  }

  const settings::RunSettings settings_;
  const AuditedDeploymentOptions options_;
  std::optional<stream::embedded::LockFile> lock_;
  std::vector<Role> roles_;
  stream::kafka::BackgroundThread background_;
  std::unique_ptr<stream::kafka::TopicAdmin> admin_;
  std::unique_ptr<LedgerIndex> index_;
  std::unique_ptr<view::Ledger> ledger_;
};

}  // namespace

Result<std::unique_ptr<AuditedPipeline>> OpenAudited(const settings::RunSettings& settings,
                                                     AuditedDeploymentOptions options) {
  auto made = std::make_unique<AuditedDeployment>(settings, std::move(options));
  if (Status s = made->Open(); !s.ok()) return s;
  return std::unique_ptr<AuditedPipeline>(std::move(made));
}

}  // namespace cobblestone::kafka

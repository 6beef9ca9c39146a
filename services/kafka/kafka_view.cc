#include "services/kafka/kafka_view.h"

#include <algorithm>
#include <utility>

#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/position.h"
#include "common/stream/kafka/state_directory.h"
#include "common/stream/runtime/slot.h"
#include "services/kafka/kafka_log.h"
#include "services/ledger/ledger.h"
#include "services/ledger/stored_rows.h"

namespace cobblestone::kafka {

using ledger::IndexedLogOf;
using ledger::LedgerIndex;
using ledger::MakeLedger;
using ledger::MakeStoredRows;
using pipeline::InputsOfSlot;
using pipeline::MakeSlotFactory;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

// Limit of a query of the brokers, shorter than the timeout of a scrape.
constexpr stream::kafka::Millis kLookPatience{3000};
// One query serves all requests of this period, however slow the brokers are.
constexpr auto kLooksLive = std::chrono::seconds(2);

std::string_view NameOf(view::Stage stage) { return settings::kStageNames[static_cast<std::size_t>(stage)]; }

}  // namespace

class KafkaView::State final : public view::State {
 public:
  explicit State(const std::vector<std::unique_ptr<Role>>& roles) : roles_(roles) {
    for (const auto& role : roles_) {
      const PipelineOptions pipeline = PipelineOf(role->settings);
      auto& of_role = inputs_.emplace_back();
      for (std::uint32_t k = 0; k < SlotCount(pipeline); ++k) of_role.push_back(InputsOfSlot(k, pipeline));
    }
  }

  [[nodiscard]] std::uint32_t partitions() const override { return roles_.front()->settings.partitions; }
  Result<std::shared_ptr<const view::Rows>> Of(view::Stage stage, std::uint32_t partition) override {
    const auto [role, slot] = PlaceOf(stage, partition);
    auto store = roles_[role]->follower->StoreOf(slot);
    if (store == nullptr)
      return Status::Retry("the state of " + std::string(NameOf(stage)) + ", partition " +
                           std::to_string(partition) +
                           ", is not available yet: it arrives with the next checkpoint of the workers "
                           "(kafka.checkpoint_interval); try again later");
    return std::shared_ptr<const view::Rows>(MakeStoredRows(std::move(store)));
  }
  [[nodiscard]] std::vector<stream::TopicPartition> InputsOf(view::Stage stage,
                                                             std::uint32_t partition) const override {
    const auto [role, slot] = PlaceOf(stage, partition);
    return inputs_[role][slot];
  }

 private:
  struct Place {
    std::size_t role = 0;
    std::uint32_t slot = 0;
  };
  [[nodiscard]] Place PlaceOf(view::Stage stage, std::uint32_t partition) const {
    for (std::size_t role = 0; role < roles_.size(); ++role)
      if (RoleName(roles_[role]->settings) == NameOf(stage)) return {.role = role, .slot = partition};
    return {.role = 0, .slot = stage == view::Stage::kCoordinator ? partitions() : partition};
  }

  const std::vector<std::unique_ptr<Role>>& roles_;
  std::vector<std::vector<std::vector<stream::TopicPartition>>> inputs_;  // by role and slot
};

Result<std::unique_ptr<KafkaView>> KafkaView::Open(const settings::RunSettings& settings, bool execute,
                                                   const std::function<void(const std::string&)>& report) {
  std::unique_ptr<KafkaView> made(new KafkaView);
  const std::string directory = settings.data_directory + "/view";
  for (const settings::RunSettings& of_role : AllRolesOf(settings)) {
    auto deployment = DeploymentOf(of_role, report);
    if (!deployment.ok()) return deployment.status();
    auto role = std::make_unique<Role>();
    role->settings = of_role;
    role->deployment = std::move(*deployment);
    made->roles_.push_back(std::move(role));
  }
  const KafkaDeployment& first = made->roles_.front()->deployment;
  if (Status s = CheckTopics(first); !s.ok()) return s;
  auto admin = stream::kafka::MakeTopicAdmin(first.cluster);
  if (!admin.ok()) return admin.status();
  made->admin_ = std::move(*admin);
  const auto id = made->admin_->ClusterId();
  if (!id.ok()) return id.status();
  if (Status s = stream::kafka::ClaimStateDirectory(directory,
                                                    {.cluster = *id, .prefix = first.cluster.prefix}, report);
      !s.ok())
    return s;
  for (const auto& role : made->roles_) {
    auto cluster = stream::kafka::MakeCluster(role->deployment.cluster);
    if (!cluster.ok()) return cluster.status();
    role->cluster = std::move(*cluster);
    auto observer = role->cluster->NewGroup("observer", role->nobody);
    if (!observer.ok()) return observer.status();
    role->observer = std::move(*observer);
    const std::string name = RoleName(role->settings);
    role->space = stream::kafka::MakeDirectoryStateSpace(
        directory + "/" + (name.empty() ? "slots" : name),
        std::max<std::uint64_t>(settings.memory.block_cache / made->roles_.size(), 1u << 20));
  }
  stream::kafka::Cluster& cluster = *made->roles_.front()->cluster;
  if (Status s = CheckKind(cluster, settings); !s.ok()) return s;
  auto index = LedgerIndex::Open(directory + "/index", LogsOf(cluster, *made->admin_, first, Reads::kOn),
                                 settings.partitions);
  if (!index.ok()) return index.status();
  made->index_ = std::move(*index);
  if (Status s = made->index_->IndexForPeople(); !s.ok()) return s;
  made->ledger_ = MakeLedger(LogsOf(cluster, *made->admin_, first, Reads::kAnywhere), *made->index_);
  for (const auto& role : made->roles_)
    role->follower = std::make_unique<stream::kafka::StateFollower>(
        *role->cluster,
        stream::kafka::FollowerOptions{.task = role->deployment.task,
                                       .slots = SlotCount(PipelineOf(role->settings)),
                                       .execute = execute},
        MakeSlotFactory(role->settings), *role->space, report);
  made->state_ = std::make_unique<State>(made->roles_);
  view::QuestionsOptions asked;
  asked.hub = settings.role == settings::Role::kHub;
  for (const settings::ProjectEntry& known : settings.projects) asked.names[known.id.value] = known.name;
  made->questions_ = std::make_unique<view::Questions>(*made->state_, *made->ledger_, std::move(asked));
  return made;
}

IndexedLogOf KafkaView::logs() {
  const Role& first = *roles_.front();
  return LogsOf(*first.cluster, *admin_, first.deployment, Reads::kOn);
}

// Questions first, because they hold stores; then the followers.
KafkaView::~KafkaView() {
  questions_.reset();
  state_.reset();
  ledger_.reset();
  index_.reset();
}

std::vector<KafkaView::ShownSlot> KafkaView::Look() {
  const std::lock_guard lock(look_);
  if (looked_at_ && std::chrono::steady_clock::now() - *looked_at_ < kLooksLive) return looks_;
  std::vector<ShownSlot> looks;
  for (const auto& role : roles_) {
    const std::string name = RoleName(role->settings);
    const std::size_t first = looks.size();
    std::vector<std::uint32_t> slots;
    for (std::uint32_t k = 0; k < SlotCount(PipelineOf(role->settings)); ++k) {
      slots.push_back(k);
      ShownSlot& look = looks.emplace_back();
      look.role = !name.empty() ? name : k == role->settings.partitions ? "coordinator" : "pipeline";
      look.slot = k;
      const auto store = role->follower->StoreOf(k);
      if (store == nullptr) continue;
      const auto bytes = store->Meta();
      const auto meta = bytes.ok() && !bytes->empty() ? stream::DecodeSlotMeta(*bytes) : stream::SlotMeta();
      if (meta.ok()) look.shown = meta->sequence;
    }
    const auto committed = role->observer->Committed(slots, false, kLookPatience);
    if (!committed.ok()) continue;
    for (const auto& one : *committed) {
      const auto position =
          one.offset ? stream::kafka::DecodePosition(*one.offset, one.metadata) : stream::kafka::Position();
      if (position.ok()) looks[first + one.slot].committed = position->sequence;
    }
  }
  looks_ = std::move(looks);
  looked_at_ = std::chrono::steady_clock::now();
  return looks_;
}

Status KafkaView::failure() const {
  for (const auto& role : roles_)
    if (Status s = role->follower->failure(); !s.ok()) return s;
  return Status::Ok();
}

}  // namespace cobblestone::kafka

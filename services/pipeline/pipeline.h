// The slots of the pipeline: their stages and the topics that the stages read. Only pipeline.cc makes stages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/stream/runtime/slot.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/claims_stage.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/feeds/feeds_stage.h"
#include "services/grants/grants_stage.h"
#include "services/identity/identity_stage.h"
#include "services/members/members_stage.h"
#include "services/teams/teams_stage.h"

namespace cobblestone::pipeline {

struct PipelineOptions {
  // The stages of a federation hub instead of those of a pipeline of projects.
  bool hub = false;
  // Slots with a single stage (kafka.slots: by_stage): one per partition, or the coordinator's only slot. None: a
  // slot has all stages.
  std::optional<settings::Stage> only{};
  std::uint32_t partitions = 8;  // there is one slot more: the last slot is the coordinator's
  double future_limit = 3600;    // s
  bool lockstep = false;         // `order: lockstep`
  bool fingerprint = true;
  bool dense_offsets = true;                                 // stream::SlotOptions
  std::size_t rows_per_commit = stage::CommitBudget::kRows;  // for tests
};

// The stages of one slot, for queries; owned by the slot. Null: the slot does not have the stage.
struct StageSet {
  claims::ClaimsStage* claims = nullptr;
  grants::GrantsStage* grants = nullptr;
  accounts::AccountsStage* accounts = nullptr;
  teams::TeamsStage* teams = nullptr;
  coordinator::CoordinatorStage* coordinator = nullptr;
  // Of a hub: MEMBERS in each slot, FEEDS and IDENTITY in the last.
  members::MembersStage* members = nullptr;
  feeds::FeedsStage* feeds = nullptr;
  identity::IdentityStage* identity = nullptr;
};

struct PipelineSlot {
  std::unique_ptr<stream::TableHost> tables;  // must outlive the slot
  std::unique_ptr<stream::Slot> slot;
  StageSet stages;
};

inline std::uint32_t SlotCount(const PipelineOptions& options) {
  if (!options.only) return options.partitions + 1;
  return *options.only == settings::Stage::kCoordinator ? 1 : options.partitions;
}
// Options of the deployment that `settings` describe, except `only`.
PipelineOptions OptionsOf(const settings::RunSettings& settings);
// The stages of slot k, for people: "claims, grants, accounts, teams".
std::string_view StagesOf(std::uint32_t k, const PipelineOptions& options);
// The number of watermarks in the slot's own records: sent, if the slot leads the others, else passed.
std::uint64_t WatermarksOf(const StageSet& stages);
PipelineSlot MakeSlot(std::uint32_t k, const PipelineOptions& options);
// Inputs of slot k, in order.
std::vector<stream::TopicPartition> InputsOfSlot(std::uint32_t k, const PipelineOptions& options);

// For a backend whose offsets have gaps (Kafka).
stream::SlotFactory MakeSlotFactory(const PipelineOptions& options);

// Event time of a record on an input of a stage with several inputs, UNIX s (for the merge of the embedded runner).
double PeekTime(stream::TopicIndex topic, std::string_view record);
// The same for `order: lockstep`: the record's line; 0 for records that no source sent, which are therefore merged
// first, as in a replay.
double PeekLine(stream::TopicIndex topic, std::string_view record);

}  // namespace cobblestone::pipeline

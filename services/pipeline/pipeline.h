// The pipeline's slots: which stages there are and which topics they read. The one place that knows all stages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/settings/run_settings.h"
#include "common/stream/runtime/slot.h"
#include "services/accounts/accounts_stage.h"
#include "services/claims/claims_stage.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/grants/grants_stage.h"
#include "services/teams/teams_stage.h"

namespace cobblestone {

struct PipelineOptions {
  // Slots of one stage alone (kafka.slots: by_stage): as many as there are partitions, or the coordinator's one. None: a
  // slot has all stages.
  std::optional<settings::Stage> only{};
  std::uint32_t partitions = 8;  // slots are one more: the coordinator's is the last
  double future_limit = 3600;    // s
  bool lockstep = false;         // `order: lockstep`
  bool fingerprint = true;
  bool dense_offsets = true;  // stream::SlotOptions
};

// The stages of one slot, for queries; owned by the slot. Null where the slot has no such stage.
struct StageSet {
  claims::ClaimsStage* claims = nullptr;
  grants::GrantsStage* grants = nullptr;
  accounts::AccountsStage* accounts = nullptr;
  teams::TeamsStage* teams = nullptr;
  coordinator::CoordinatorStage* coordinator = nullptr;
};

struct PipelineSlot {
  std::unique_ptr<stream::TableHost> tables;  // outlives the slot
  std::unique_ptr<stream::Slot> slot;
  StageSet stages;
};

inline std::uint32_t SlotCount(const PipelineOptions& options) {
  if (!options.only) return options.partitions + 1;
  return *options.only == settings::Stage::kCoordinator ? 1 : options.partitions;
}
PipelineSlot MakeSlot(std::uint32_t k, const PipelineOptions& options);
// What slot k reads, in the order of its inputs.
std::vector<stream::TopicPartition> InputsOfSlot(std::uint32_t k, const PipelineOptions& options);

// As a backend whose offsets have gaps makes them (Kafka).
stream::SlotFactory MakeSlotFactory(const PipelineOptions& options);

// Event time of a record on an input of a stage with several inputs, UNIX s (embedded runner's merge).
double PeekTime(stream::TopicIndex topic, std::string_view record);
// `order: lockstep`: instead, its line; of what no source has sent 0, so that it goes first, as in a replay.
double PeekLine(stream::TopicIndex topic, std::string_view record);

}  // namespace cobblestone

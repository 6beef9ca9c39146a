#include "services/pipeline/pipeline.h"

#include <chrono>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/event_line.h"
#include "common/wire/ledger/claim_codec.h"
#include "common/wire/proto_reader.h"
#include "services/pipeline/rules_version.h"
#include "services/stage/refuse.h"

namespace cobblestone::pipeline {

namespace {

// Does not decode the record, because decoding may be what crashes the program.
void SetAside(const stream::RecordView& record, stream::Emitter& out) {
  stage::Refuse(wire::WithoutLine(record), {}, wire::RefusalReason::kCrashed,
                "the record crashed the program repeatedly and was skipped", out);
}

}  // namespace

PipelineOptions OptionsOf(const settings::RunSettings& settings) {
  return {.hub = settings.role == settings::Role::kHub,
          .partitions = settings.partitions,
          .future_limit = std::chrono::duration<double>(settings.future_limit).count(),
          .lockstep = settings.order == settings::Order::kLockstep};
}

std::string_view StagesOf(std::uint32_t k, const PipelineOptions& options) {
  if (options.hub) return k == options.partitions ? "feeds, identity" : "members";
  return k == options.partitions ? "coordinator" : "claims, grants, accounts, teams";
}

std::uint64_t WatermarksOf(const StageSet& stages) {
  if (stages.coordinator != nullptr) return stages.coordinator->watermarks();
  if (stages.feeds != nullptr) return stages.feeds->watermarks();
  stream::Watermarks& watermarks =
      stages.members != nullptr ? stages.members->watermarks() : stages.grants->watermarks();
  return watermarks.passed() - (watermarks.begun() ? 1 : 0);  // of which the ledger has the record
}

PipelineSlot MakeSlot(std::uint32_t k, const PipelineOptions& options) {
  PipelineSlot made;
  made.tables = std::make_unique<stream::TableHost>();
  made.slot = std::make_unique<stream::Slot>(stream::SlotOptions{.id = k,
                                                                 .topics = wire::Manifest(options.partitions),
                                                                 .rules_version = kRulesVersion,
                                                                 .fingerprint = options.fingerprint,
                                                                 .dense_offsets = options.dense_offsets,
                                                                 .set_aside = SetAside},
                                             *made.tables);
  const auto add = [&made](auto stage, const std::vector<stream::TopicPartition>& inputs) {
    auto* raw = stage.get();
    made.slot->AddStage(std::move(stage), inputs);
    return raw;
  };
  using settings::Stage;
  const std::uint32_t n = options.partitions;
  if (options.hub) {
    if (k == n) {
      made.stages.feeds =
          add(std::make_unique<feeds::FeedsStage>(
                  feeds::FeedsOptions{.partitions = n, .future_limit = options.future_limit}, *made.tables),
              feeds::FeedsStage::Inputs());
      made.stages.identity =
          add(std::make_unique<identity::IdentityStage>(*made.tables), identity::IdentityStage::Inputs());
    } else {
      made.stages.members = add(std::make_unique<members::MembersStage>(
                                    members::MembersOptions{.partition = k,
                                                            .future_limit = options.future_limit,
                                                            .rows_per_commit = options.rows_per_commit},
                                    *made.tables),
                                members::MembersStage::Inputs(k));
    }
    return made;
  }
  const auto has = [&](Stage stage) {
    if (options.only) return *options.only == stage;
    return (stage == Stage::kCoordinator) == (k == n);
  };
  if (has(Stage::kCoordinator))
    made.stages.coordinator =
        add(std::make_unique<coordinator::CoordinatorStage>(
                coordinator::CoordinatorOptions{
                    .partitions = n, .future_limit = options.future_limit, .lockstep = options.lockstep},
                *made.tables),
            coordinator::CoordinatorStage::Inputs());
  if (has(Stage::kClaims))
    made.stages.claims = add(std::make_unique<claims::ClaimsStage>(
                                 claims::ClaimsOptions{.partition = k,
                                                       .partitions = n,
                                                       .future_limit = options.future_limit,
                                                       .lockstep = options.lockstep,
                                                       .rows_per_commit = options.rows_per_commit},
                                 *made.tables),
                             claims::ClaimsStage::Inputs(k));
  if (has(Stage::kGrants))
    made.stages.grants = add(std::make_unique<grants::GrantsStage>(
                                 grants::GrantsOptions{.partition = k,
                                                       .partitions = n,
                                                       .lockstep = options.lockstep,
                                                       .rows_per_commit = options.rows_per_commit},
                                 *made.tables),
                             grants::GrantsStage::Inputs(k));
  if (has(Stage::kAccounts))
    made.stages.accounts = add(std::make_unique<accounts::AccountsStage>(
                                   accounts::AccountsOptions{.partition = k,
                                                             .partitions = n,
                                                             .future_limit = options.future_limit,
                                                             .lockstep = options.lockstep,
                                                             .rows_per_commit = options.rows_per_commit},
                                   *made.tables),
                               accounts::AccountsStage::Inputs(k));
  if (has(Stage::kTeams))
    made.stages.teams =
        add(std::make_unique<teams::TeamsStage>(teams::TeamsOptions{.partition = k,
                                                                    .partitions = n,
                                                                    .future_limit = options.future_limit,
                                                                    .lockstep = options.lockstep},
                                                *made.tables),
            teams::TeamsStage::Inputs(k));
  return made;
}

std::vector<stream::TopicPartition> InputsOfSlot(std::uint32_t k, const PipelineOptions& options) {
  const PipelineSlot made = MakeSlot(k, options);
  std::vector<stream::TopicPartition> inputs;
  for (const stream::SlotInput& input : made.slot->inputs()) inputs.push_back(input.where);
  return inputs;
}

stream::SlotFactory MakeSlotFactory(const PipelineOptions& options) {
  PipelineOptions with_gaps = options;
  with_gaps.dense_offsets = false;
  return [with_gaps](std::uint32_t k) {
    PipelineSlot slot = MakeSlot(k, with_gaps);
    return stream::SlotParts{.tables = std::move(slot.tables), .slot = std::move(slot.slot)};
  };
}

double PeekTime(stream::TopicIndex topic, std::string_view record) {
  switch (topic) {
    case wire::kControl: {
      wire::ControlView control;
      if (!wire::DecodeControl(record, &control)) return 0;
      if (control.kind == wire::ControlKind::kWatermark) return control.watermark.time;
      if (control.kind == wire::ControlKind::kEvent) return wire::PeekEventTime(control.body).value_or(0);
      wire::ProtoReader reader(control.body);  // Epoch.time
      while (const std::uint32_t tag = reader.NextTag()) {
        if (tag == wire::DoubleTag(3)) return reader.Double();
        reader.Skip(tag);
      }
      return 0;
    }
    case wire::kClaims:
    case wire::kGrants: {
      wire::ProtoReader reader(record);  // Claim.time, Grant.time
      while (const std::uint32_t tag = reader.NextTag()) {
        if (tag == wire::DoubleTag(8)) return reader.Double();
        if (tag > wire::DoubleTag(8)) return 0;
        reader.Skip(tag);
      }
      return 0;
    }
    // Members precede the grants and postings that the same stage processes, so that no record waits for a
    // member event.
    case wire::kUsers:
    case wire::kTeams: return -1;
    case wire::kPostings:
    case wire::kSamples: return 0;
    case wire::kCatalogue: return -1;
    default: return wire::PeekEventTime(record).value_or(0);
  }
}

double PeekLine(stream::TopicIndex topic, std::string_view record) {
  switch (topic) {
    case wire::kHosts:
    case wire::kDispatches:
    case wire::kCompletions:
    case wire::kValidations:
    case wire::kTrickles:
    case wire::kUsers:
    case wire::kTeams: return static_cast<double>(wire::WithoutLine({.value = record}).line);
    default: return 0;
  }
}

}  // namespace cobblestone::pipeline

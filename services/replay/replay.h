// Replay: sends a file of events through the pipeline in lockstep, in memory, under a chosen policy. Used for
// what-if comparisons (comparison.h) and to reproduce BOINC's numbers. Invariant: the outcome depends on the file and the
// policy only, not on the number of partitions. The two output formats are public: docs/guides/what-if.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/stream/runtime/lockstep.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/pipeline/periods.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone::replay {

// One credit record of the ledger as written to grants-out: the grant of a result, a trickle's
// partial grant, or a reversal.
struct GrantRow {
  wire::GrantKind kind = wire::GrantKind::kFinal;  // or kPartial, kReversal, kRepricing
  std::uint64_t event = 0;                         // input line that decided it, from 0
  ProjectId project;
  WorkunitId workunit;
  ResultId result;
  HostId host;
  UserId user;
  TeamId team;
  AppId app;
  AppVersionId version;
  credit::Mode mode = credit::Mode::kNone;
  double pfc = 0;
  double claimed = 0;
  double credit = 0;  // value of the result, or of the high-water mark
  // Amount posted: `credit` minus earlier payments.
  credit::MicroCredit micro = 0;
  double high_water_mark = 0;    // partial: high-water mark after it
  std::optional<double> excess;  // robust: over the other claims of its workunit (credit::ExcessOf)
  double failure_rate = 0;       // robust: of the host and app, before the claim
};

// All slots of a pipeline in lockstep, fed event by event.
class LockstepPipeline {
 public:
  using GrantSink = std::function<Status(const GrantRow&)>;

  // `grants`: receives each grant, in order of (event, result, kind) within the period between
  // two barriers; may be empty.
  LockstepPipeline(std::uint32_t partitions, GrantSink grants);
  ~LockstepPipeline();

  // `line` counts from 0 and never decreases. `barrier`: the source ends a period before this event
  // (services/pipeline/periods.h).
  Status Feed(std::string_view envelope, std::uint64_t line, bool barrier);
  // Ends the last period; `grants` has then received every grant.
  Status Finish();

  [[nodiscard]] const std::vector<pipeline::PipelineSlot>& slots() const { return slots_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t records() const;

  // The rows of state-out, one JSON object each, in order of kind and key.
  Status WriteState(const std::function<Status(const std::string& row)>& sink) const;

 private:
  Status EndPeriod();
  Status EmitGrants();

  std::uint32_t partitions_;
  std::vector<pipeline::PipelineSlot> slots_;
  std::unique_ptr<stream::Lockstep> lockstep_;
  GrantSink sink_;
  std::vector<GrantRow> period_;  // grants since the last barrier
  // By (project, result), since the last barrier.
  std::map<std::pair<std::uint32_t, std::uint64_t>, TeamId> teams_;
  pipeline::PeriodKind period_kind_ = pipeline::PeriodKind::kNothing;
  std::uint64_t line_ = 0;  // of the last event
  std::uint64_t barriers_ = 0;
  std::uint64_t refused_ = 0;
  Status bad_;
};

std::string GrantRowJson(const GrantRow& row);

// Doubles with 17 digits; non-finite values as the string "inf", "-inf" or "nan".
std::string JsonNumber(double value);

struct ReplayOptions {
  std::string file;
  std::string policy;          // for every app; empty: as in the file
  std::string compare_policy;  // a second run; empty: none
  // A file of events that override the events about the same apps in `file`; empty: none.
  std::string apps;
  std::string compare_apps;  // the same for the second run
  // UNIX s. The second run is as the first until the first event of this time or later; then each app changes to the
  // policy and event of the second run. Only what is decided from then on counts, in both runs. 0: from the beginning.
  double switch_at = 0;
  std::uint32_t partitions = 1;
  std::uint32_t project = 1;  // for golden files, which name no project
  // s of event time between generated ticks; 0: only the ticks of the file.
  double tick_period = 600;
  std::string grants_out;
  std::string state_out;
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress;

  [[nodiscard]] bool compares() const { return !compare_policy.empty() || !compare_apps.empty(); }
};

// Credit by kind of device: versions for CPUs, for GPUs, anonymous platform.
using DeviceTotals = std::array<credit::MicroTotal, 3>;

struct PolicyTotals {
  std::string policy;
  std::uint64_t grants = 0;  // results
  std::uint64_t partials = 0;
  std::uint64_t reversals = 0;
  credit::MicroTotal micro = 0;           // total
  credit::MicroTotal partial_micro = 0;   // part of `micro` paid by trickles
  credit::MicroTotal reversal_micro = 0;  // reversed credit; at most 0
  std::map<std::uint64_t, credit::MicroTotal> by_app;
  DeviceTotals by_device{};
  std::unordered_map<std::uint64_t, DeviceTotals> by_host;
  std::unordered_map<std::uint64_t, credit::MicroTotal> by_user;
};

struct ReplaySummary {
  std::uint64_t lines = 0;
  std::uint64_t bad_lines = 0;  // unreadable lines
  std::uint64_t refused = 0;
  std::uint64_t events = 0;
  PolicyTotals first;
  PolicyTotals second;  // empty policy: no second run
};

// InvalidArgument: an option is wrong, or no event is as late as `switch_at`.
Result<ReplaySummary> Replay(const ReplayOptions& options);

}  // namespace cobblestone::replay

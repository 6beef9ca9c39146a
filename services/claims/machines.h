// Machines of account managers (docs/rules.md, section 42): which host a machine is at each project (a link),
// and which of its counters count there. A part of CLAIMS with its own rows: a machine's events go to the
// partition of its number, whatever their project, and name no job. Estimates from its reports go directly to
// the ledger (ESTIMATE), to the owner that the project's event names; they award nothing.
//
// A report belongs to the host that the machine was at the report's time: the newest link by then is in force,
// and the first link for all time before it, so that links and reports may arrive in any order. A report of a
// machine without a link waits for one, for the default result window.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/credit/estimates/estimate_policy.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/events/event_stamp.h"
#include "common/wire/events/events.h"
#include "services/claims/state.h"
#include "services/stage/expiry.h"

namespace cobblestone::claims {

// The most links of a machine and project that are kept; the newest ones are kept.
inline constexpr std::size_t kMachineLinks = 8;
// The most reports that may wait for a link. More are refused.
inline constexpr std::size_t kMaxWaitingReports = 4096;

struct MachineLink {
  wire::EventStamp stamp;
  HostId host;
  UserId user;
  bool gone = false;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.stamp, s.host, s.user, s.gone);
  }
};

struct MachineProject {
  std::uint32_t project = 0;
  std::vector<MachineLink> links;  // ascending by time and id
  wire::EventStamp report;         // the newest report that counted
  credit::EstimateStanding standing;

  // The link in force at `time`; null if there is none.
  [[nodiscard]] const MachineLink* At(double time) const;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.project, s.links, s.report, s.standing);
  }
};

// By the machine's number, without a project.
struct MachineState {
  credit::EstimateAllowance allowance;
  std::vector<MachineProject> projects;  // in order of their first event

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.allowance, s.projects);
  }
};

// By project and machine; in order of arrival.
struct WaitingReports {
  double since = 0;  // event time of the first, UNIX s
  std::vector<WaitingEvent> events;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.since, s.events);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<MachineState> kMachinesTable{.id = 23, .version = 1};
inline constexpr stream::TableSpec<WaitingReports> kWaitingReportsTable{.id = 24, .version = 1};
inline constexpr stream::TableSpec<credit::EstimateLimits> kEstimateLimitsTable{.id = 25, .version = 1};

class Machines {
 public:
  Machines(std::uint32_t partition, std::uint32_t partitions, stream::TableHost& tables);

  [[nodiscard]] std::vector<stream::TableBase*> tables() { return {&machines_, &waiting_, &limits_}; }

  // A catalogue event that the coordinator has relayed.
  void OnSettings(ProjectId project, const wire::SettingsChange& change);
  void OnMachineHost(const stream::RecordView& record, const wire::EventHead& head,
                     const wire::MachineHost& event, stream::Emitter& out);
  // `now`: the project's time. Returns the time since which the report waits for its machine's host; none: it
  // does not wait.
  std::optional<double> OnReport(const stream::RecordView& record, const wire::EventHead& head,
                                 const wire::EstimatedCredit& event, double now, stream::Emitter& out);
  // Refuses reports that have waited too long, as table `number` of `expiry`.
  bool Expire(std::size_t number, ProjectId project, stage::Expiry& expiry, stage::CommitBudget& budget,
              stream::Emitter& out);
  // Dropped since open; a statistic, not state.
  [[nodiscard]] std::uint64_t duplicates() const { return duplicates_; }

 private:
  credit::EstimateLimits LimitsOf(ProjectId project);
  void Take(const stream::RecordView& record, const wire::EventHead& head, const wire::EstimatedCredit& event,
            stream::Emitter& out);
  // Writes the decision to the ledger, for the machine's host at the time of the decision.
  void EmitEstimate(std::uint64_t machine, const MachineProject& project,
                    const credit::EstimateDecision& decision, std::uint64_t line, stream::Emitter& out) const;

  std::uint32_t partition_;
  std::uint32_t partitions_;
  stream::Table<MachineState> machines_;
  stream::Table<WaitingReports> waiting_;
  stream::Table<credit::EstimateLimits> limits_;  // by project
  std::uint64_t duplicates_ = 0;
};

}  // namespace cobblestone::claims

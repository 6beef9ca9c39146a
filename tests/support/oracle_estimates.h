// The oracle's own implementation of account managers' reports (docs/rules.md, sections 42 and 43): how much of them
// is accepted, for which account, and how much grants leave open. Inside tests/support only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/events.pb.h"
#include "tests/support/oracle.h"
#include "tests/support/oracle_merges.h"

namespace cobblestone::testing {

const char* BadEstimate(const v1::EstimatedCredit& event);
const char* BadMachineHost(const v1::MachineHost& event);
const char* BadEstimateLimits(const v1::EstimateLimits& event);

class OracleEstimates {
 public:
  using Refuse = std::function<void(const char* reason)>;

  void SetLimits(std::uint32_t project, const v1::EstimateLimits& event);
  void Apply(const v1::Envelope& update, std::string_view bytes, const Refuse& refuse);
  void Report(const v1::Envelope& report, std::string_view bytes, std::uint64_t line, const Refuse& refuse);
  void Tick(std::uint32_t project, double time, const Refuse& refuse);
  // A user's grant for a host.
  void Granted(const EstimateKey& key, std::int64_t micro, double time, std::uint64_t line,
               std::uint64_t result);
  // At a barrier: applies the records since the last barrier, in order of time.
  void Order(const OracleMerges& merges, std::map<EstimateKey, EstimateOutcome>* estimates);
  // After the barrier: unites the estimates of hosts that have been merged since.
  static void Unite(const OracleMerges& merges, std::map<EstimateKey, EstimateOutcome>* estimates);

 private:
  struct Counters {
    std::int64_t credit = 0;
    std::int64_t run_time = 0;
    std::uint64_t jobs = 0;
    std::uint64_t failed_jobs = 0;
    std::int64_t failed_run_time = 0;
  };
  struct Mark {
    double time = 0;
    Counters highest;
  };
  struct Update {
    v1::MachineHost event;
    std::string bytes;
  };
  // Rates per second: FLOPs, CPUs, GPUs, devices.
  enum Thing { kCredit, kCpu, kGpu, kJobs, kThings };
  using Rates = std::array<double, kThings>;
  // The time since the machine was first reported, and the amounts given for it: before `until`, and for reports at
  // `until`.
  struct Time {
    std::optional<double> until;
    double kept = 0;   // s
    double keeps = 0;  // maximum of `kept`, s
    Rates rates{};
    Rates next{};  // of reports without new work
    Rates had{};
    std::array<__int128, kThings> had_now{};
  };
  struct AtProject {
    std::map<std::pair<double, std::uint64_t>, Update> updates;  // by time, id
    std::pair<double, std::uint64_t> report;  // time and id of the newest report that counted
    std::string report_bytes;
    std::map<int, Mark> marks;  // by resource
    std::vector<std::pair<std::string, std::uint64_t>> waiting;
    double waits_since = 0;
    Time time;
    // The refused parts of reports of one time, and the value of the machine's `until` at that point.
    std::optional<double> refused_at;
    double refused_time = 0;
    std::map<int, Counters> refused;
  };
  struct Machine {
    bool known = false;
    double since = 0;
    Time time;
    double keeps = 0;  // the longest time that one of its projects keeps, s
    std::map<std::uint32_t, AtProject> projects;
  };
  struct Limits {
    double cpus = 512;
    double cpu_flops = 1e11;
    double gpus = 16;
    double gpu_flops = 2e14;
    double saved_time = 60 * 86400.0;
  };
  struct Posted {
    double time = 0;
    std::uint64_t line = 0;
    std::uint64_t result = 0;
    EstimateKey key;
    bool estimate = false;
    std::int64_t micro = 0;  // of a grant
    EstimateOutcome more;    // of an estimate
  };

  static bool Grow(double time, const v1::ResourceCounter& counter, Mark* mark, Counters* grown);
  static double Worth(int thing, double rate_times_seconds);
  static void Pass(double since, double now, Time* time);
  // Gives as much of `asked` as the machine has left, in this project and in total.
  template <class Number>
  static Number Give(int thing, Number asked, Time* here, Time* at_all);
  // Gives as much as possible of `asked` by resource, and records the refused part.
  EstimateOutcome GiveAll(double at, const std::map<int, Counters>& asked, AtProject* project,
                          Machine* machine);
  void Post(std::uint32_t project, const AtProject& at, double time, std::uint64_t line,
            EstimateOutcome more);
  void Count(const v1::Envelope& report, std::string_view bytes, std::uint64_t line, const Refuse& refuse);

  std::map<std::uint64_t, Machine> machines_;
  std::map<std::uint32_t, Limits> limits_;
  std::map<std::uint32_t, double> ticks_;  // last tick by project
  std::vector<Posted> posted_;
};

}  // namespace cobblestone::testing

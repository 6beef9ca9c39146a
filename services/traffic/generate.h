// Synthetic traffic of a project: members, catalogue, completions and validations as events, of any
// length, with bounded memory (counters per machine). For load tests, for trying the program, and for
// tests of the whole pipeline.
//
// A pure function of the options: the same options give the same bytes on every machine. Integer hashing, IEEE
// arithmetic and the project's own Exp; no random device, no libm.
//
// The core: the replicas of a workunit go to as many hosts and return after random delays; all are validated
// shortly after the last one. Each host has a speed, and one efficiency for each version that it runs. Out of
// order: the validation of a result arrives before its completion; both carry the times at which they happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/wire/events/events.h"

namespace cobblestone::traffic {

inline constexpr std::uint32_t kMaxReports = 1000;  // per machine

// A share is a fraction from 0 to 1.
struct GenerateOptions {
  std::uint64_t seed = 1;
  std::uint32_t project = 1;

  // Results validated in time, rounded up to whole workunits; failed and late results are additional.
  std::uint64_t results = 10000;
  std::uint64_t hosts = 1000;  // at least 2
  std::uint64_t users = 0;     // 0: two users per three hosts
  std::uint64_t teams = 0;     // 0: one team per ten users
  std::uint32_t apps = 1;
  std::vector<std::string> policies = {"creditnew"};  // of the apps, in rotation
  std::uint32_t versions = 8;                         // per app; three of eight are for GPUs
  std::uint32_t replication = 2;                      // 1 to 16 results per workunit

  double gpu_hosts = 0.2;         // share of hosts
  double anonymous_hosts = 0.02;  // share of hosts: anonymous platform
  double ownerless_hosts = 0;     // share of hosts without owner

  double errors = 0.02;    // share of results that first fail on another host: crash or abort
  double timeouts = 0.01;  // share of results that first time out on another host
  double invalid = 0.01;   // share of results
  // Share of workunits that the validator must check twice.
  double inconclusive = 0.01;
  // Share of workunits with one more result that returns after the decision.
  double late = 0.01;
  double cheats = 0;  // share of results that claim 30 times their run time

  double out_of_order = 0.05;  // share of results: validation before completion
  // Share of completions and validations that are sent a second time, byte for byte.
  double duplicates = 0.01;
  double conflicts = 0;  // share that are sent again with other contents and the same id
  double lost = 0;       // share that are never sent
  double bad_lines = 0;  // number of additional lines per result that must be refused

  bool members = true;      // true: starts with catalogue, teams, users and hosts; false: results only
  bool dispatches = false;  // an event for each dispatched result
  // Messages of each running result, at most 255; 0: none. All apps except every seventh then pay for two
  // varieties of rotating kinds (generate_trickles.cc), and keep, settle or cap partial grants, in
  // rotation. Requires dispatches.
  std::uint32_t trickles = 0;
  double bad_trickles = 0;  // share of trickles: late, repeated, lost, rewound, forged, greedy or wrong
  // Share of hosts that an account manager knows as machines; their events are sent with the members
  // (generate_machines.cc).
  double machines = 0;
  std::uint32_t reports = 10;  // per machine, evenly spaced over the time; at most kMaxReports
  // Share of reports: late, repeated, lost, of a client that started again, greedy or wrong.
  double bad_reports = 0;
  double team_changes = 0;  // share of users who change their team from time to time
  // Changes of owner per host, evenly spaced over the time, two changes of a host in quick succession.
  double owner_changes = 0;

  double start_time = 1.7e9;  // UNIX s
  // s of event time from the first dispatched result to the last returned one.
  double span = 5 * 86400.0;
  // s of event time between tick events; 0: none, the reader of the file generates ticks.
  double tick_period = 0;
  double delay_bound = 7 * 86400.0;  // s, of every app
  double result_window = 0;          // s, of every app; 0: the rule
};

// InvalidArgument names the option, its value and the valid values.
Status CheckGenerateOptions(const GenerateOptions& options);

class Generator {
 public:
  // `options` must pass CheckGenerateOptions.
  explicit Generator(const GenerateOptions& options);

  // The next event; false at the end. A bad line may be bytes that are not an Envelope.
  bool Next(std::string* envelope);

  // Number of results validated in time; progress is measured against it.
  [[nodiscard]] std::uint64_t results() const { return workunits_ * options_.replication; }
  // Part of results() that has been sent.
  [[nodiscard]] std::uint64_t results_sent() const { return launched_ * options_.replication; }

 private:
  enum class What : std::uint8_t {
    kDispatch,
    kFailure,
    kCompletion,
    kFirstLook,
    kValidation,
    kLateDispatch,
    kLateCompletion,
    kLateValidation,
    kTrickle,
    kFailedDispatch,
    kFailedTrickle,
    kLateTrickle
  };
  enum class Copy : std::uint8_t { kOriginal, kRepeat, kConflict };

  // Positions count results in order of dispatch; time is linear in positions.
  struct Slot {
    bool fails = false;  // first fails on another host
    bool timed_out = false;
    bool invalid = false;
    bool out_of_order = false;
    std::uint64_t failed_at = 0;
    std::uint64_t sent_at = 0;
    std::uint64_t back_at = 0;
  };
  struct Plan {
    std::uint64_t workunit = 0;
    std::vector<Slot> slots;
    std::uint32_t valid = 0;
    bool twice = false;
    std::uint64_t first_look_at = 0;
    std::uint64_t decided_at = 0;
    bool has_late = false;
    std::uint64_t late_back_at = 0;
    std::uint64_t late_decided_at = 0;
  };

  // A future event, in the list of its position.
  struct Node {
    std::uint64_t workunit = 0;
    std::uint32_t next = 0;
    std::uint8_t slot = 0;
    What what = What::kCompletion;
    Copy copy = Copy::kOriginal;
    std::uint8_t message = 0;  // of trickles
  };
  struct Bucket {
    std::uint32_t first = 0;  // node + 1; 0: none
    std::uint32_t last = 0;
  };

  // One run of a result.
  struct Run {
    std::uint64_t result = 0;
    std::uint64_t host = 0;
    std::uint64_t app = 0;
    std::int64_t version = 0;
    credit::Resource resource = credit::Resource::kCpu;
    double peak_flops = 0;
    double elapsed = 0;
    double cpu_time = 0;
    double sent = 0;
    double received = 0;
  };

  [[nodiscard]] std::uint64_t Hash(std::uint64_t x, std::uint32_t salt) const;
  [[nodiscard]] std::uint64_t Below(std::uint64_t x, std::uint32_t salt, std::uint64_t bound) const;
  [[nodiscard]] double Unit(std::uint64_t x, std::uint32_t salt) const;
  [[nodiscard]] bool Chance(double share, std::uint64_t x, std::uint32_t salt) const;
  [[nodiscard]] double TimeAt(std::uint64_t position) const;

  [[nodiscard]] std::uint64_t AppOf(std::uint64_t workunit) const;
  [[nodiscard]] const std::string& PolicyOf(std::uint64_t app) const;
  [[nodiscard]] bool IsGpuHost(std::uint64_t host) const;
  [[nodiscard]] std::uint32_t CpusOf(std::uint64_t host) const;
  [[nodiscard]] double CpuFlopsOf(std::uint64_t host) const;  // of one CPU, FLOP/s
  [[nodiscard]] double GpuFlopsOf(std::uint64_t host) const;
  [[nodiscard]] Run RunOf(std::uint64_t workunit, std::uint32_t place, std::uint64_t back_at) const;

  void MakePlan(std::uint64_t workunit, Plan* plan) const;
  void Launch(std::uint64_t workunit);
  void Put(std::uint64_t position, std::uint64_t workunit, std::uint32_t slot, What what);
  void PutNode(std::uint64_t position, const Node& node);
  // Messages of a result that runs from position `from` to `to`.
  void PutTrickles(std::uint64_t from, std::uint64_t to, std::uint64_t result, const Node& node);
  [[nodiscard]] std::uint64_t DispatchDelay(std::uint64_t result) const;
  void StartPosition();

  bool NextMember(std::string* envelope);
  void WriteNode(const Node& node, std::string* envelope);
  void WriteRun(const Run& run, const Node& node, std::uint64_t workunit, std::string* envelope);
  void WriteTrickle(const Run& run, std::uint32_t message, std::string* envelope) const;
  [[nodiscard]] std::vector<wire::TrickleRuleChange> TrickleRulesOf(std::uint64_t app) const;
  [[nodiscard]] bool ComeTogether(std::uint64_t result) const;
  // Empty: the project does not send names.
  [[nodiscard]] std::string NameOf(std::uint64_t result) const;
  void WriteFailure(const Plan& plan, const Node& node, std::string* envelope);
  void WriteValidation(const Plan& plan, const Node& node, std::string* envelope);
  [[nodiscard]] std::string BadLine(std::uint64_t number) const;
  [[nodiscard]] std::string AppEvent(std::uint64_t app) const;
  [[nodiscard]] std::string VersionEvent(std::uint64_t app, std::uint32_t number) const;
  [[nodiscard]] std::string UserEvent(std::uint64_t user, std::uint64_t team, std::uint64_t id,
                                      double time) const;
  [[nodiscard]] std::string HostEvent(std::uint64_t host, std::uint64_t user, std::uint64_t id,
                                      double time) const;
  [[nodiscard]] std::uint64_t FirstOwner(std::uint64_t host) const;
  void ChangeOwner(std::uint64_t number, double time);

  enum class ReportFate : std::uint8_t;
  // Counters of a machine's client, and a report that is sent after the next one.
  struct Reporter {
    wire::ResourceCounter cpu;
    wire::ResourceCounter gpu;
    std::string held;
  };
  [[nodiscard]] bool IsMachine(std::uint64_t host) const;
  [[nodiscard]] ReportFate FateOf(std::uint64_t host, std::uint32_t report) const;
  [[nodiscard]] double TimeOfReport(std::uint64_t host, std::uint32_t report) const;
  [[nodiscard]] std::string MachineEvent(std::uint64_t host, std::uint64_t user, std::uint64_t id,
                                         double time) const;
  void AddWork(std::uint64_t host, std::uint32_t report, ReportFate fate, Reporter* machine) const;
  [[nodiscard]] std::string ReportEvent(std::uint64_t host, std::uint32_t report, ReportFate fate,
                                        const Reporter& machine) const;
  void NextReport();

  GenerateOptions options_;
  std::uint64_t workunits_ = 0;
  std::uint64_t window_ = 0;  // results in progress
  std::uint64_t soon_ = 0;
  std::uint64_t last_position_ = 0;
  std::uint32_t cpu_versions_ = 0;
  std::uint64_t team_changes_ = 0;
  std::uint64_t owner_changes_ = 0;
  std::uint64_t reports_ = 0;  // computed as if all hosts were machines

  std::uint64_t member_ = 0;  // next member
  bool members_done_ = false;
  std::uint64_t position_ = 0;
  bool position_started_ = false;
  std::uint64_t launched_ = 0;  // workunits
  std::uint64_t waiting_ = 0;   // nodes in buckets
  std::uint64_t changes_made_ = 0;
  std::uint64_t owners_changed_ = 0;
  std::uint64_t reports_made_ = 0;
  std::deque<Reporter> reporters_;  // of all machines, ascending
  std::size_t reporter_ = 0;        // the next machine to report
  std::uint64_t bad_made_ = 0;
  double next_tick_ = 0;
  std::uint64_t ticks_ = 0;
  bool ended_ = false;
  std::vector<Bucket> buckets_;  // ring over positions
  std::vector<Node> nodes_;
  std::uint32_t free_ = 0;         // node + 1
  std::deque<std::string> extra_;  // of this position, before its nodes
  Plan plan_;                      // reused
};

}  // namespace cobblestone::traffic

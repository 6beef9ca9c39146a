// The fleet simulator: a world of volunteers' hosts and the projects that they work for, as an event-driven simulation. It
// gives the events that the projects would send, in order of event time, together with the truth that no project knows: what
// each result deserves.
//
// A pure function of the options: the same options give the same bytes on every machine (draws.h). Random draws belong to
// one host or one workunit. Attackers are additional hosts whose numbers and draws are their own, so runs that differ only
// in `attack` share the draws of all hosts, and an attack that changes only what an attacker reports changes no event of
// another host.
//
// Hosts live in slots: when a host's lifetime ends, a new host of the same user takes its slot. Its jobs in progress never
// come back, and time out at the projects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/status.h"
#include "common/credit/policies/robust.h"
#include "common/wire/events/events.h"
#include "services/fleet/attacks.h"
#include "services/fleet/draws.h"
#include "services/fleet/hosts.h"
#include "services/fleet/parameters.h"
#include "services/fleet/timeline.h"
#include "services/fleet/work_fetch.h"

namespace cobblestone::fleet {

struct FleetOptions {
  std::uint64_t seed = 1;
  Preset like = Preset::kEinstein;
  Parameters parameters = ParametersOf(Preset::kEinstein);
  std::uint64_t hosts = 1000;  // at one time; from 1 to 10^7
  double days = 10;            // from 0.01 to 3650
  std::uint32_t projects = 2;  // 1 to 3: of the preset, then of the next presets
  std::string policy = "creditnew";
  std::uint64_t attackers = 0;
  double attackers_join = 0;              // days after the start
  Attack attack;                          // the default is honest: the twin of an attack
  std::vector<AppModel> apps;             // of every project; empty: those of the presets
  double start_time = 1.7e9;              // UNIX s; the day is taken for a Monday
  const WorkFetch* work_fetch = nullptr;  // of every client; null: ShareProportional
  // Advised replication: at most so many results of the host and app vouch for it, as the pipeline that receives the
  // events knows. Empty: the simulated validator's count alone.
  std::function<double(std::uint64_t host, std::uint64_t app)> vouching;
};

// InvalidArgument names the option, its value and the valid values.
Status CheckFleetOptions(const FleetOptions& options);

// A result that was returned with success.
struct Truth {
  std::uint32_t project = 0;
  std::uint64_t result = 0;
  std::uint64_t host = 0;
  std::uint64_t user = 0;
  // Credit for the true FLOPs of the job at the level of the app's CPU versions (`cpu_samples`), micro-credits;
  // 0 if the output is fabricated or wrong.
  std::int64_t deserved_micro = 0;
  bool fabricated = false;
  bool wrong = false;  // the output of an honest host is wrong
};

struct FleetCounts {
  std::uint64_t events = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t results = 0;  // returned with success
  std::uint64_t failures = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t valid = 0;
  std::uint64_t invalid = 0;
  std::uint64_t inconclusive = 0;
  std::uint64_t late = 0;
  std::uint64_t resends = 0;
  std::uint64_t trickles = 0;
  std::uint64_t reports = 0;
  std::uint64_t hosts = 0;     // that have existed
  std::uint64_t requests = 0;  // for work
};

// How well work fetch did, over all hosts but attackers; smaller is better (docs/work-fetch.md, Metrics).
struct FleetMeasures {
  // CPU, GPU: the part of the instance-seconds, while hosts were available, in which no job ran. Only resources for which a
  // project of the host has apps.
  double idle[2] = {};
  // Sum over projects of the difference between the part of a host's FLOPs that the project got, and its share; the mean over
  // hosts with several projects, weighted by available time.
  double share_violation = 0;
  double requests_per_job = 0;
};

// The device of a version in the events.
constexpr credit::Resource ResourceOfVersion(std::uint64_t version) {
  return static_cast<credit::Resource>(version % 10);
}

inline constexpr std::uint64_t kFirstAttacker =
    1'000'000'001;  // number of the first attacker and of its user

class Fleet {
 public:
  // `options` must pass CheckFleetOptions. `truth` receives each row at the time of its completion; may be empty.
  Fleet(const FleetOptions& options, std::function<void(const Truth&)> truth);
  ~Fleet();

  // The next event, valid until the next call; false at the end.
  bool Next(std::string_view* envelope);

  [[nodiscard]] const FleetCounts& counts() const { return counts_; }
  // Complete after Next has returned false.
  [[nodiscard]] FleetMeasures measures() const;
  // Simulated s until now, and in all.
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] double end() const { return end_; }
  // Bytes of the memory for hosts, jobs, workunits and appointments.
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kMaxProjects = 3;
  static constexpr std::uint32_t kMaxApps = 3;  // per project
  static constexpr std::uint32_t kSizes = 3;

  // In order within a second.
  enum class What : std::uint8_t {
    kRelease,   // subject: app
    kJoin,      // subject: slot
    kFinish,    // subject: job. It is reported
    kTrickle,   // subject: job
    kDeadline,  // subject: job
    kValidate,  // subject: workunit
    kLate,      // subject: job. The validator looks at a late result
    kReset,     // subject: slot
    kReport,    // subject: slot
    kContact,   // subject: slot
    kLeave,     // subject: slot
  };

  struct Counters {
    double run_time = 0;
    double failed_run_time = 0;
    double credit = 0;
    std::uint32_t jobs = 0;
    std::uint32_t failed = 0;
  };
  // A host at one of its projects.
  struct Attachment {
    std::array<float, 2> used{};  // instance-s, by the estimates of the jobs sent
    std::array<float, 2> ran{};   // instance-s, in truth, of the jobs that ended
    std::array<std::uint32_t, 2> backoff_until{};
    std::array<std::uint32_t, kMaxApps> trust{};  // consecutive valid replicated results
    // Valid replicated results since the last invalid one; failures do not count.
    std::array<std::uint32_t, kMaxApps> verified{};
    std::array<std::uint8_t, kMaxApps> standing{};  // at its last request (credit::StandingOf)
    // Parameter hold_single: returned jobs of workunits with several results that are not judged yet, and workunits
    // whose single result waits for them.
    std::vector<std::uint32_t> unjudged;
    std::vector<std::uint32_t> held;
    std::uint32_t quota = 0;
    std::uint32_t sent_today = 0;
    std::uint32_t day = 0;
    std::array<std::uint8_t, 2> backoffs{};
    std::uint8_t project = 0;
    float share = 1;
  };
  struct Slot {
    Availability available;
    std::unique_ptr<std::uint32_t[]> lanes;  // when each core, then the GPU, is free
    std::unique_ptr<std::array<std::array<Counters, 2>, kMaxProjects>> reported;  // of managed hosts
    std::array<Attachment, kMaxProjects> attachments;
    float core_flops = 0, whetstone = 0, gpu_flops = 0, error_rate = 0;
    std::uint32_t generation = 0;  // of the host in this slot
    std::uint32_t joined = 0;
    std::uint32_t user = 0;
    std::uint32_t first_job = kNone;
    std::uint32_t jobs = 0;            // dispatched to this host; of an attacker, to its machine
    std::uint32_t identity_start = 0;  // value of `jobs` when the attacker took its identity
    std::uint32_t contacts = 0;
    std::uint32_t resets = 0;
    std::uint32_t reports = 0;
    std::array<std::uint16_t, 2> in_progress{};
    std::uint8_t cores = 1;
    std::uint8_t projects = 1;
    std::uint8_t speed_class = 0;
    credit::Resource gpu = credit::Resource::kUnknown;
    bool anonymous = false;
    bool user_is_attacker = false;
    bool first_of_user = false;
    bool lost_jobs = false;  // some are lost and not sent again yet
    bool waits = false;      // for a job to end, because of the limit of jobs
  };
  struct Job {
    // First what a decision of the host's client reads of each of its jobs.
    std::uint32_t start = 0;
    std::uint32_t ended = 0;
    float run = 0;       // s of execution between `start` and `ended`
    float estimate = 0;  // of `run`, by the server
    std::uint32_t next_of_host = kNone;
    std::uint8_t attachment = 0;
    std::uint8_t threads = 1;
    bool gpu : 1 = false;
    bool anonymous : 1 = false;
    bool wrong : 1 = false;
    bool fabricated : 1 = false;
    bool returned : 1 = false;
    bool timed_out : 1 = false;
    bool lost : 1 = false;  // its host does not have it any more
    bool unwanted : 1 = false;
    bool gone : 1 = false;  // not in its host's list any more, and not reported yet
    float elapsed = 0;      // s, as it will be reported
    // As the project knows it, FLOP/s; kept, because the slot may have another host when the job times out.
    float peak = 0;
    std::uint32_t workunit = 0;
    std::uint32_t slot = 0;
    std::uint32_t reporter = 0;  // slot whose host reports it: another one after re-homing
    std::uint32_t host_generation = 0;
    std::uint32_t ordinal = 0;  // of the host's jobs
    std::uint32_t sent = 0;
    std::uint32_t returned_at = 0;
    std::uint32_t previous_of_host = kNone;
    std::uint32_t next_of_workunit = kNone;
    std::uint16_t generation = 0;  // an appointment of another generation is void
    std::uint8_t place = 0;        // among the results of its workunit
    std::uint8_t standing = 0;     // of its host, at the dispatch
    std::uint8_t version = 0;      // index in the app's versions
    std::uint8_t notes = 0;        // events about the result, for their ids
    std::uint8_t trickles = 0;     // sent
    credit::Outcome outcome = credit::Outcome::kSuccess;
  };
  struct Workunit {
    std::uint32_t number = 0;  // of its project
    std::uint32_t first_job = kNone;
    std::uint32_t created = 0;
    std::uint16_t generation = 0;
    std::uint8_t app = 0;
    std::uint8_t size = 0;
    std::uint8_t places = 0;       // results made
    std::uint8_t in_progress = 0;  // and not timed out
    std::uint8_t unsent = 0;       // entries in the app's queue
    std::uint8_t errors = 0;
    std::uint8_t pass = 0;
    std::uint8_t canonical = 0;
    bool single : 1 = false;
    bool looking : 1 = false;  // the validator will look
    bool decided : 1 = false;
    bool failed : 1 = false;
  };
  struct Version {
    std::uint64_t id = 0;
    credit::Resource resource = credit::Resource::kCpu;
    bool second = false;        // with vector instructions
    std::uint32_t variant = 0;  // AppModel::variants
  };
  struct App {
    const AppModel* model = nullptr;
    std::uint8_t project = 0;  // index
    std::uint8_t index = 0;    // in its project
    std::uint64_t id = 0;
    double delay_bound = 0;  // s
    std::uint32_t releases = 0;
    std::vector<Version> versions;
    std::array<std::uint8_t, credit::kResources> newest{};  // index in `versions`
    std::array<std::deque<std::uint32_t>, kSizes> unsent;   // workunits that lack a result
    // Advised replication: those that lack a result of a host of higher standing.
    std::array<std::deque<std::uint32_t>, kSizes> reserved;
    std::array<std::uint32_t, credit::kHighestStanding + 1> standings{};  // hosts of each standing
  };

  // fleet.cc
  void MakeUsers();
  void Step(const Appointment& appointment);
  void Put(What what, double at, std::uint32_t subject, std::uint32_t generation);
  [[nodiscard]] bool IsAttacker(std::uint32_t slot) const { return slot >= options_.hosts; }
  [[nodiscard]] std::uint64_t HostOf(std::uint32_t slot, std::uint32_t generation) const;
  // The entity of the host's draws. A new identity of an attacker is the same machine.
  [[nodiscard]] std::uint64_t MachineOf(std::uint32_t slot, std::uint32_t generation) const {
    return HostOf(slot, IsAttacker(slot) ? 0 : generation);
  }
  // Of the host that the slot has or had in this generation.
  [[nodiscard]] std::uint64_t UserOf(std::uint32_t slot, std::uint32_t generation) const;
  [[nodiscard]] ProjectId ProjectOf(std::uint32_t index) const { return ProjectId(index + 1); }
  [[nodiscard]] double Unix(double moment) const { return options_.start_time + moment; }

  // fleet_clients.cc
  void Join(std::uint32_t slot);
  void Leave(std::uint32_t slot);
  void Contact(std::uint32_t slot);
  void PlanContact(std::uint32_t slot);
  void Decide(std::uint32_t slot);
  void Reset(std::uint32_t slot);
  void Finish(std::uint32_t job);
  void PlaceOnLanes(std::uint32_t job, double elapsed);
  void Unlink(std::uint32_t job);
  void CountRun(const Slot& slot, const Job& job);
  void TakeIdentity(std::uint32_t slot);
  void JobLeft(std::uint32_t slot, int resource, bool was_full);
  [[nodiscard]] bool Fabricates(const Job& job) const;
  void LieAboutTime(Job& job);
  void Rehome(Job& job) const;
  [[nodiscard]] bool Supplies(const Slot& slot, std::uint32_t attachment, int resource) const;
  [[nodiscard]] bool AtLimit(const Slot& slot, int resource) const;
  // An attacker has had all jobs of its identity.
  [[nodiscard]] bool IdentityUsedUp(const Slot& slot) const {
    return options_.attack.recycle_every > 0 && slot.user_is_attacker &&
           slot.jobs - slot.identity_start >= options_.attack.recycle_every;
  }

  // measures.cc
  [[nodiscard]] static double UseOf(const Job& job, std::uint32_t from, std::uint32_t to);
  void CountUse(std::uint32_t slot, Job& job);
  void Settle(std::uint32_t slot);

  // fleet_servers.cc
  std::uint32_t Answer(std::uint32_t slot, const WorkRequest& request, std::array<std::uint32_t, 2>* sent);
  void SendLost(std::uint32_t slot, std::uint32_t attachment);
  [[nodiscard]] bool IsSingle(const Workunit& workunit, std::uint32_t slot,
                              const Attachment& attachment) const;
  [[nodiscard]] double Vouching(const App& app, std::uint32_t slot, const Attachment& attachment) const;
  void NoteStanding(App& app, std::uint32_t slot, Attachment& attachment);
  void ForgetStanding(Attachment& attachment);
  [[nodiscard]] bool IsReserved(const App& app, const Workunit& workunit, std::uint32_t standing) const;
  [[nodiscard]] bool HasHad(std::uint64_t user, std::uint32_t workunit) const;
  std::uint32_t TakeLacking(std::deque<std::uint32_t>& queue, std::uint32_t slot,
                            const Attachment& attachment);
  std::uint32_t ChooseApp(std::uint32_t project, int resource, double draw) const;
  std::uint32_t ChooseWorkunit(std::uint32_t app, const Slot& slot, std::uint32_t slot_number,
                               Attachment& attachment, int resource);
  // The estimate of the run time, s.
  double Dispatch(std::uint32_t workunit, std::uint32_t slot, std::uint32_t attachment, int resource);
  double Run(Job& job, double samples);
  void Deadline(std::uint32_t job);
  void LackResult(std::uint32_t workunit);
  void Returned(std::uint32_t job);
  void Failed(std::uint32_t job);
  void LookSoon(std::uint32_t workunit);
  void Validate(std::uint32_t workunit);
  bool Hold(std::uint32_t workunit);
  [[nodiscard]] bool Waits(const Attachment& attachment, const Job& single) const;
  void Judged(std::uint32_t job, bool valid);
  void JudgeHeld(Attachment& attachment, std::uint32_t app, bool valid);
  void Replicate(std::uint32_t workunit);
  void GiveUp(std::uint32_t workunit);
  void Late(std::uint32_t job);
  void EndJob(std::uint32_t job);
  void FreeWorkunit(std::uint32_t workunit);
  void CountFailure(std::uint32_t job);
  [[nodiscard]] double SizeOf(const Workunit& workunit) const;
  [[nodiscard]] double EstimateOf(const Workunit& workunit) const;
  [[nodiscard]] double SpeedOf(const Job& job) const;
  [[nodiscard]] double SamplesOf(const Job& job) const;
  [[nodiscard]] Attachment* AttachmentOf(const Job& job);
  void Release(std::uint32_t app);

  // fleet_events.cc
  void Emit(const wire::Event& event);
  void EndEvent();
  // The event that begins at `begin` of bytes_ is about this job.
  void RepeatEvent(const Job& job, std::size_t begin);
  void EmitCatalogue();
  void EmitVersion(const App& app, const Version& version);
  void EmitTeams();
  void EmitMembers(std::uint32_t slot, const HostTraits& traits);
  void EmitDispatch(Job& job);
  void EmitCompletion(Job& job, credit::Outcome outcome);
  void EmitValidation(const Job& job, credit::ValidateState state, std::uint32_t claims, bool late);
  void EmitTrickle(std::uint32_t job);
  void EmitReport(std::uint32_t slot);
  [[nodiscard]] credit::CompletionFacts FactsOf(const Job& job) const;
  [[nodiscard]] std::uint64_t ResultOf(const Job& job) const;

  FleetOptions options_;
  Parameters parameters_;
  Draws draws_;
  ShareProportional share_proportional_;
  const WorkFetch* work_fetch_;
  std::function<void(const Truth&)> truth_;
  Timeline timeline_;
  std::uint32_t now_ = 0;
  std::uint32_t end_ = 0;
  bool started_ = false;
  bool settled_ = false;
  std::vector<Slot> slots_;
  std::vector<ClientState> clients_;  // by slot, if clients have a memory
  std::vector<QueuedJob> queue_;      // of the host that decides
  double available_[2] = {};          // instance-s of hosts that have left
  double used_[2] = {};
  double violation_ = 0;  // x available s
  double several_ = 0;    // available s of hosts with several projects
  std::uint64_t users_ = 0;
  std::uint64_t teams_ = 0;
  std::vector<App> apps_;
  std::array<std::uint32_t, kMaxProjects> workunits_made_{};
  std::deque<Job> jobs_;  // a deque: no copies and no spare half while it grows
  std::vector<std::uint32_t> free_jobs_;
  std::deque<Workunit> workunits_;
  std::vector<std::uint32_t> free_workunits_;
  // By workunit that may get another result: the users of its jobs that have ended.
  std::unordered_multimap<std::uint32_t, std::uint64_t> users_before_;
  FleetCounts counts_;
  std::string bytes_;              // events not returned yet
  std::vector<std::size_t> ends_;  // of each in bytes_
  std::size_t next_event_ = 0;
  std::deque<std::string> replays_;  // Attack::repeat: the last events about attackers' results
};

}  // namespace cobblestone::fleet

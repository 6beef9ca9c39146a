#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "schemas/events.pb.h"
#include "tests/support/oracle_corrections.h"
#include "tests/support/oracle_estimates.h"
#include "tests/support/oracle_merges.h"
#include "tests/support/oracle_rules.h"
#include "tests/support/oracle_trickles.h"

namespace cobblestone::testing {
namespace {

using v1::Envelope;

// ---- What the oracle knows -----------------------------------------------------------------------------

struct AppFacts {
  std::string policy = "creditnew";
  OraclePolicy rules;
  std::uint32_t policy_version = 1;
  double window = 0;
  std::vector<v1::TrickleRule> trickles;
  std::string settlement;
  double cobblestones_per_gflops_day = 200;
  // These never decrease, even if the window shrinks.
  double longest_window = 0;
  double results_from = 0;    // the earliest send time of a result that is not too late
  double workunits_from = 0;  // the earliest decision time of a workunit that has not expired
};

struct HostFacts {
  bool known = false;
  bool deleted = false;
  std::uint64_t user = 0;
  double whetstone = 0;
  double dhrystone = 0;
  double cpus = 0;
  std::map<std::pair<double, std::uint64_t>, v1::Host> events;  // by time and id
  std::vector<std::uint64_t> waiting;   // results, in the order in which they began to wait
  std::vector<std::uint64_t> unpriced;  // results sent to the host before it was known
  struct Opening {
    std::int64_t micro = 0;
    double since = 0;
    std::string subject;
  };
  std::optional<Opening> opening;  // waits, too
};

// Credit that an account gains or loses.
struct Posting {
  ResultKey key;
  std::uint64_t host = 0;
  std::uint64_t user = 0;
  std::uint64_t app = 0;
  std::int64_t micro = 0;
  std::int64_t paid = 0;     // by a partial grant, of `micro`
  std::int64_t settles = 0;  // of earlier partial grants
  bool final = false;
  bool owed = false;
  double time = 0;
  std::uint64_t line = 0;
  double team_time = 0;  // the user's team at this time counts
  bool team_at_grant = false;
  bool corrects = false;  // a correction, for the team `team`
  bool uncounts = false;
  bool recounts = false;
  std::uint64_t team = 0;
};

struct UserFacts {
  bool known = false;
  struct Update {
    std::uint64_t team = 0;
    std::string bytes;
    bool sets_team = true;  // false: the previous update's team applies
  };
  std::map<std::pair<double, std::uint64_t>, Update>
      updates;  // by time and id; the first also applies to earlier times
  [[nodiscard]] std::uint64_t TeamAt(double time) const {
    std::uint64_t team = updates.begin()->second.team;
    for (const auto& [when, update] : updates)
      if (when.first <= time) team = update.team;
    return team;
  }
  std::vector<std::pair<Posting, double>> waiting;  // with the time until which they wait
  std::int64_t expired_provisional = 0;
};

// Payments for a result on a host while it runs.
struct Job {
  std::uint64_t app = 0;
  std::string name;
  std::optional<OracleJob> terms;  // set once its host is known
  OraclePaid paid;
  OracleJobReversals reversals;
  std::vector<std::pair<std::uint64_t, std::string>> repriced;  // id and bytes of each repricing
  // If the app's settlement is `keep`, the value of messages counts after the end, too.
  bool ended = false;
  double back = 0;
  std::uint64_t line = 0;  // of the decision
  std::uint64_t workunit = 0;
};

// A trickle after the end of its job: the payments for the result before and with the trickle, if it were not
// decided.
struct LateTrickle {
  Posting posting;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

// Payments for trickles of a result whose claim does not know them.
struct PaidBefore {
  Posting of;
  OraclePaid paid;
  std::string settlement;
};

// Trickles of an unknown job: the time of the first one, and each message with its line.
struct WaitingTrickles {
  double since = 0;
  std::vector<std::pair<std::string, std::uint64_t>> messages;
};

// One result on one host.
struct ResultFacts {
  std::string dispatch;
  std::string completion;
  std::string validation;
  std::uint64_t line = 0;  // of the later of completion and validation
  std::shared_ptr<Job> job;
  double since = 0;
  std::uint64_t app = 0;
  bool pending = false;
  bool waits_for_host = false;
  bool ended = false;  // decided, or failed
  double begin = 0;    // start of the window, if ended
  std::string ended_completion;
  std::string ended_validation;
};

struct Claim : OracleClaim {
  OraclePaid paid;
  std::string settlement;
  std::uint64_t line = 0;
};

struct WorkunitFacts {
  bool open = false;
  bool decided = false;
  double begin = 0;  // start of the time for which it is kept, if decided
  std::uint64_t app = 0;
  double since = 0;
  std::vector<Claim> claims;
  std::vector<Claim> late;
  std::vector<LateTrickle> late_trickles;
  std::vector<PaidBefore> paid_before;
  double time = 0;  // of the decision
  std::uint64_t line = 0;
  double credit = 0;
  std::int64_t micro = 0;
  bool priced = true;
};

// A result whose host was merged, so that events may name the host that it was merged into.
struct HeldBy {
  std::uint64_t holder = 0;
  bool sent = false;                 // certainly
  std::set<std::uint64_t> informed;  // hosts on the chain that know of it, this one included
};

struct Project {
  double last_tick = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, HeldBy> held;  // by result, host named
  double cap = 0;
  std::map<std::uint64_t, AppFacts> apps;
  std::map<std::uint64_t, std::uint64_t> versions;  // app of each
  std::map<std::pair<std::uint64_t, std::uint32_t>, OraclePolicy> policies;
  std::map<std::pair<std::uint64_t, std::uint32_t>, AppFacts> versions_of_app;
  std::map<std::uint64_t, HostFacts> hosts;
  std::map<std::uint64_t, UserFacts> users;
  std::map<std::pair<std::uint64_t, std::uint64_t>, ResultFacts> results;  // by result, host
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>
      failures;  // without a result: by host, event
  struct TimeOut {
    std::string bytes;
    double begin = 0;  // of its result's window
    std::uint64_t app = 0;
  };
  std::map<std::tuple<std::uint64_t, std::uint64_t, double>, TimeOut>
      time_outs;  // by host, result, when it was sent
  std::map<std::uint64_t, WorkunitFacts> workunits;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> names;  // result by name, host
  std::map<std::pair<std::uint64_t, std::uint64_t>, WaitingTrickles> waiting_trickles;  // by result, host
  std::map<std::pair<std::string, std::uint64_t>, WaitingTrickles> waiting_names;       // by name, host
};

}  // namespace

struct Oracle::State {
  std::map<std::uint32_t, Project> projects;
  struct Update {
    double time = 0;
    std::uint64_t id = 0;
    std::string bytes;
  };
  std::map<std::string, Update> members;  // the newest update by kind and subject
  std::map<std::string, std::map<std::uint64_t, std::string>>
      broadcasts;                          // catalogue: bytes by subject and event id
  std::map<std::string, Update> openings;  // by subject; one each
  std::uint64_t line = 0;
  // Postings since the last barrier. Debts depend on their order, which is the order of their times.
  std::vector<std::pair<AccountKey, Posting>> unordered;
  std::map<AccountKey, BigMicro> owed;
  OracleCorrections corrections;
  OracleEstimates estimates;
  OracleMerges merges;
  Outcome outcome;

  void Add(std::string_view bytes);
  void Refuse(const char* reason) { ++outcome.refusals[reason]; }

  // True: the event is to be applied. Repeats are dropped; other contents under the same id are refused.
  bool IsNewMember(const Envelope& e, std::uint64_t subject, std::string_view bytes);
  bool IsNewBroadcast(const Envelope& e, const std::string& subject, std::string_view bytes);
  bool IsNewOpening(const Envelope& e, const std::string& subject, std::string_view bytes);
  void AddMember(const Envelope& e, std::string_view bytes);
  void AddBroadcast(const Envelope& e, std::string_view bytes);
  void AddOpening(const Envelope& e, std::string_view bytes);
  bool AddApp(std::uint32_t project, const v1::App& app);  // false: refused
  bool AddVersion(std::uint32_t project, const v1::AppVersion& version);
  void AddDispatch(const Envelope& e, std::string_view bytes);
  void AddCompletion(const Envelope& e, std::string_view bytes);
  void AddValidation(const Envelope& e, std::string_view bytes);
  void Join(std::uint32_t project, std::uint64_t result, std::uint64_t host);
  void CloseWithout(std::uint32_t project, const Envelope& validation);
  void Tick(std::uint32_t project, double time);
  void ExpireWorkunits(std::uint32_t project);
  void OpenJob(const Envelope& dispatch);
  void PriceJob(std::uint32_t project, std::uint64_t result, std::uint64_t host);
  void PriceOrWait(std::uint32_t project, std::uint64_t result, std::uint64_t host);
  void AddTrickle(const Envelope& e, std::string_view bytes, std::uint64_t from_line);
  void Pay(const Envelope& e, std::uint64_t result, Job& job, std::uint64_t from_line);
  void TakeWaiting(const WaitingTrickles& waiting);
  void EndJob(ResultKey key, std::uint64_t host, ResultFacts& result, double time, std::uint64_t at_line);
  void ForgetJob(std::uint32_t project, std::uint64_t result_id, std::uint64_t host, ResultFacts& result);
  void LeaveJob(std::uint32_t project, ResultFacts& result, const Envelope& back, std::uint64_t at_line);
  static bool Awaits(const WorkunitFacts& workunit, std::uint64_t result);
  void TakeLate(std::uint64_t workunit, const LateTrickle& late);
  void TakePaidBefore(std::uint64_t project,
                      std::uint64_t workunit);  // those whose claims have all arrived
  void PayLate(const LateTrickle& late, std::int64_t granted);
  void DropClaim(std::uint32_t project, const Claim& claim);
  void Unsettle(const Posting& of, const OraclePaid& paid, std::int64_t worth, const std::string& settlement,
                bool granted);
  void TakeClaim(std::uint32_t project, const Claim& claim);
  void Settle(std::uint32_t project, std::uint64_t workunit, std::uint32_t pass);
  void GrantTo(std::uint32_t project, const Claim& claim, const WorkunitFacts& workunit, bool late);
  void ExpireWaiting(UserFacts& user, double now);
  void Correct(const Envelope& e, std::string_view bytes);
  Job* RunningJob(std::uint32_t project, std::uint64_t result, std::uint64_t host);  // null: refused
  void ReverseJob(const Envelope& e, std::string_view bytes);
  void RepriceJob(const Envelope& e, std::string_view bytes);
  void Give(const Posting& posting);
  void Post(const Posting& posting);
  void AddTo(const AccountKey& key, const Posting& posting, std::int64_t provisional);
  void Order();
  void AddMerge(const Envelope& e, std::string_view bytes);
  // Messages between partitions of CLAIMS about merged hosts, applied in rounds when a period ends.
  // Events that named the heir of their host:
  struct Handed {
    std::uint64_t line = 0;
    std::string bytes;
    int hops = 0;

    friend auto operator<=>(const Handed&, const Handed&) = default;
  };
  std::vector<Handed> handed;
  // Notices that a result, which other events name as one of `named`, belongs to a host:
  struct Holding {
    std::uint64_t line = 0;
    std::uint32_t project = 0;
    std::uint64_t result = 0;
    std::uint64_t named = 0;
    HeldBy by;
  };
  std::vector<Holding> holdings;
  // Results that were decided under the heir's id before that was known:
  struct Elsewhere {
    std::uint64_t line = 0;
    std::uint32_t project = 0;
    std::uint64_t result = 0;
    std::uint64_t host = 0;
  };
  std::vector<Elsewhere> elsewhere;
  std::set<std::pair<std::uint32_t, std::uint64_t>> before_;  // workunits with earlier payments
  void AddOfResult(const Envelope& e, std::string_view bytes, std::uint64_t from_line, int hops = 0);
  void TakeHanded();
  void EndElsewhere(const Elsewhere& one);
  // Notifies the heir of the host, if there is one, that the result belongs to this host.
  void NotifyHeir(std::uint32_t project, std::uint64_t result, std::uint64_t host, std::uint64_t at_line);
  void PassOn(std::uint32_t project, std::uint64_t result, std::uint64_t host, std::uint64_t at_line);
  bool Hold(const Holding& holding);
  void HandOver(std::uint32_t project, std::uint64_t result, std::uint64_t named, std::uint64_t at_line);
  void EndPeriod();
};

Oracle::Oracle() : state_(std::make_unique<State>()) {}
Oracle::~Oracle() = default;

Outcome RunOracle(std::span<const std::string> envelopes) {
  Oracle oracle;
  for (const std::string& envelope : envelopes) oracle.Add(envelope);
  return oracle.Finish();
}

void Oracle::Add(std::string_view envelope) { state_->Add(envelope); }
Outcome Oracle::Finish() const {
  state_->EndPeriod();
  Outcome outcome = state_->outcome;
  for (auto& [key, grant] : outcome.grants)
    grant.to_host = state_->merges.HeirOf({key.project, grant.to_host}).second;
  return outcome;
}

// ---- Events --------------------------------------------------------------------------------------------

void Oracle::State::Add(std::string_view bytes) {
  ++line;
  Envelope e;
  if (!e.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Refuse("UNDECODABLE");
  if (e.event_case() == Envelope::EVENT_NOT_SET) return Refuse("NOT_SUPPORTED");
  const bool of_host = e.has_completion() || e.has_validation() || e.has_dispatch() || e.has_trickle() ||
                       e.has_host() || e.has_host_merge() || e.has_host_asked() ||
                       e.has_opening_host_version() || e.has_job_reversal() || e.has_job_repricing() ||
                       e.has_estimated_credit() || e.has_machine_host() ||
                       (e.has_opening_total() && e.opening_total().kind() == v1::ACCOUNT_KIND_HOST);
  if (!of_host) EndPeriod();  // a barrier, if there are any
  if (const char* reason = IllFormed(e); reason != nullptr) return Refuse(reason);
  if (e.has_completion() || e.has_validation() || e.has_dispatch() || e.has_trickle())
    return AddOfResult(e, bytes, line);
  const auto refuse = [this](const char* reason) { Refuse(reason); };
  if (e.has_machine_host()) return estimates.Apply(e, bytes, refuse);
  if (e.has_estimated_credit()) {
    if (projects[e.project()].apps.empty()) return Refuse("UNKNOWN_APP");
    return estimates.Report(e, bytes, line, refuse);
  }
  if (e.has_reversal() || e.has_repricing()) return Correct(e, bytes);
  if (e.has_job_reversal()) return ReverseJob(e, bytes);
  if (e.has_job_repricing()) return RepriceJob(e, bytes);
  if (e.has_tick()) {
    if (e.project() != 0) return Tick(e.project(), e.tick().time());
    for (auto& [id, project] : projects) Tick(id, e.tick().time());  // without a project: for every project
    return;
  }
  if (e.has_host_merge()) return AddMerge(e, bytes);
  if (e.has_host_asked()) return;  // the pipeline answers with its own events
  if (e.has_host() || e.has_user() || e.has_team()) return AddMember(e, bytes);
  if (e.has_opening_total() || e.has_opening_host_version()) return AddOpening(e, bytes);
  AddBroadcast(e, bytes);
}

namespace {

// Speeds are equal within one part in a million.
bool AreOfOtherJobs(const v1::Dispatch& sent, const v1::Completion& back) {
  const double larger = std::max(std::fabs(sent.peak_flops()), std::fabs(back.peak_flops()));
  return sent.app_version() != back.app_version() || sent.app() != back.app() ||
         std::fabs(sent.peak_flops() - back.peak_flops()) > 1e-6 * larger;
}

// The facts of an event: all fields but its id.
std::string FactsOf(std::string_view bytes) {
  Envelope e;
  e.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  e.clear_id();
  return e.SerializeAsString();
}
bool HaveSameFacts(std::string_view one, std::string_view other) { return FactsOf(one) == FactsOf(other); }

// A period ends with its whole day.
std::int64_t DayOf(double time) { return static_cast<std::int64_t>(std::floor(time / 86400)); }
bool IsEarlierDay(double one, double other) { return DayOf(one) < DayOf(other); }

void LetTimePass(Project& project) {
  for (auto& [id, app] : project.apps) {
    app.longest_window = std::max(app.longest_window, app.window);
    app.results_from = std::max(app.results_from, project.last_tick - app.window);
    app.workunits_from = std::max(app.workunits_from, project.last_tick - 2 * app.longest_window);
  }
}

// A result's window begins when it was sent, or, if the project does not report that, when it was returned.
double WindowBegin(const v1::Completion& completion, double time) {
  return completion.sent_time() > 0 ? completion.sent_time() : time;
}

std::string SubjectKey(const Envelope& e, const std::string& subject) {
  return std::to_string(e.project()) + "/" + std::to_string(e.event_case()) + "/" + subject;
}

}  // namespace

// The update with the highest time and id is in force, whatever the order of arrival.
bool Oracle::State::IsNewMember(const Envelope& e, std::uint64_t subject, std::string_view bytes) {
  Update& update = members[SubjectKey(e, std::to_string(subject))];
  if (update.id == e.id()) {
    if (update.bytes != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return false;
  }
  if (std::pair{e.time(), e.id()} < std::pair{update.time, update.id}) return false;
  update = {e.time(), e.id(), std::string(bytes)};
  return true;
}

bool Oracle::State::IsNewBroadcast(const Envelope& e, const std::string& subject, std::string_view bytes) {
  const auto& updates = broadcasts[SubjectKey(e, subject)];
  const auto same = updates.find(e.id());
  if (same == updates.end()) return true;
  if (same->second != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
  return false;
}

bool Oracle::State::IsNewOpening(const Envelope& e, const std::string& subject, std::string_view bytes) {
  const auto [it, is_new] =
      openings.emplace(SubjectKey(e, subject), Update{e.time(), e.id(), std::string(bytes)});
  if (is_new) return true;
  if (HaveSameFacts(it->second.bytes, bytes)) return false;
  Refuse(it->second.id != e.id() ? "ALREADY_DECIDED" : "DUPLICATE_WITH_OTHER_CONTENTS");
  return false;
}

void Oracle::State::AddMember(const Envelope& e, std::string_view bytes) {
  Project& project = projects[e.project()];
  if (e.has_team()) {
    static_cast<void>(IsNewMember(e, e.team().team(), bytes));  // names do not affect credit
    return;
  }
  if (e.has_host()) {
    const v1::Host& event = e.host();
    const bool is_newest = IsNewMember(e, event.host(), bytes);
    if (!is_newest && members[SubjectKey(e, std::to_string(event.host()))].id == e.id()) return;
    HostFacts& host = project.hosts[event.host()];
    host.events.emplace(std::pair{e.time(), e.id()}, event);
    // All events about the host, from the oldest to the newest.
    v1::Host now;
    for (const auto& [when, one] : host.events) {
      if (one.deleted()) now.Clear();
      now.set_deleted(one.deleted());
      now.MergeFrom(one);
    }
    if (!merges.Ended({e.project(), event.host()})) {
      host.known = true;
      host.deleted = now.deleted();
      host.user = now.user();
      merges.SetOwner({e.project(), event.host()}, now.user());
    }
    host.whetstone = now.whetstone();
    host.dhrystone = now.dhrystone();
    host.cpus = now.cpus();
    if (host.opening)
      outcome.accounts[{e.project(), OracleAccountKind::kHost, event.host()}].micro += host.opening->micro;
    host.opening.reset();
    for (const std::uint64_t result : std::exchange(host.unpriced, {}))
      PriceJob(e.project(), result, event.host());
    const std::vector<std::uint64_t> waiting = std::exchange(host.waiting, {});
    for (const std::uint64_t result : waiting) Join(e.project(), result, event.host());
    return;
  }
  const v1::User& event = e.user();
  UserFacts& user = project.users[event.user()];
  for (const auto& [when, update] : user.updates) {
    if (when.second != e.id()) continue;
    if (update.bytes != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  user.updates[{e.time(), e.id()}] = {event.deleted() ? 0 : event.team(), std::string(bytes),
                                      event.deleted() || event.has_team()};
  std::uint64_t team = 0;
  for (auto& [when, update] : user.updates) team = update.team = update.sets_team ? update.team : team;
  user.known = true;
  ExpireWaiting(user, project.last_tick);
  for (auto& [posting, until] : std::exchange(user.waiting, {})) {
    // A reversal is posted to the user's current team.
    if (posting.corrects) posting.team = user.updates.rbegin()->second.team;
    Post(posting);
  }
}

bool Oracle::State::AddApp(std::uint32_t project_id, const v1::App& event) {
  Project& project = projects[project_id];
  const auto known = project.apps.find(event.app());
  AppFacts app;
  if (!event.policy().empty()) {
    app.policy = event.policy();
    app.rules = OraclePolicy(event.policy(), event.constants());
    if (event.constants().has_cobblestones_per_gflops_day())
      app.cobblestones_per_gflops_day = event.constants().cobblestones_per_gflops_day();
  } else if (known != project.apps.end()) {
    app = known->second;
  } else {
    app.rules = OraclePolicy(app.policy, {});
  }
  if (!event.policy().empty() || event.trickles_size() > 0)
    app.trickles.assign(event.trickles().begin(), event.trickles().end());
  if (!event.policy().empty() || !event.trickle_settlement().empty())
    app.settlement = event.trickle_settlement().empty() ? "keep" : event.trickle_settlement();
  const auto same_trickles = [](const AppFacts& a, const AppFacts& b) {
    return a.settlement == b.settlement &&
           std::equal(a.trickles.begin(), a.trickles.end(), b.trickles.begin(), b.trickles.end(),
                      [](const v1::TrickleRule& x, const v1::TrickleRule& y) {
                        return x.SerializeAsString() == y.SerializeAsString();
                      });
  };
  const std::uint32_t asked = event.policy_version();
  const auto refuse = [this](const char* reason) {
    Refuse(reason);
    return false;
  };
  if (known == project.apps.end()) {
    app.policy_version = asked != 0 ? asked : 1;
  } else {
    const std::uint32_t last = known->second.policy_version;
    const bool same = known->second.rules == app.rules && same_trickles(known->second, app);
    app.policy_version = asked != 0 ? asked : same ? last : last + 1;
    if (app.policy_version < last) return refuse("OUT_OF_RANGE");
    if (app.policy_version == last && !same) return refuse("DUPLICATE_WITH_OTHER_CONTENTS");
  }
  constexpr double kMonth = 30.0 * 86400;
  if (known != project.apps.end()) {
    app.longest_window = known->second.longest_window;
    app.results_from = known->second.results_from;
    app.workunits_from = known->second.workunits_from;
  }
  app.window = event.result_window() > 0 ? event.result_window() : std::max(kMonth, 4 * event.delay_bound());
  project.policies[{event.app(), app.policy_version}] = app.rules;
  project.versions_of_app[{event.app(), app.policy_version}] = app;
  project.apps[event.app()] = app;
  LetTimePass(project);
  ExpireWorkunits(project_id);  // the window may be shorter
  return true;
}

bool Oracle::State::AddVersion(std::uint32_t project_id, const v1::AppVersion& event) {
  Project& project = projects[project_id];
  if (event.deleted()) {
    if (project.versions.erase(event.app_version()) != 0) return true;
    Refuse("UNKNOWN_APP_VERSION");
    return false;
  }
  if (project.apps.count(event.app()) == 0) {
    Refuse("UNKNOWN_APP");
    return false;
  }
  project.versions[event.app_version()] = event.app();
  return true;
}

void Oracle::State::AddBroadcast(const Envelope& e, std::string_view bytes) {
  std::string subject;
  if (e.has_app()) subject = std::to_string(e.app().app());
  if (e.has_app_version()) subject = std::to_string(e.app_version().app_version());
  if (e.has_plan_class_factor()) subject = e.plan_class_factor().plan_class();
  if (e.has_opening_app_version()) subject = std::to_string(e.opening_app_version().app_version());
  if (!IsNewBroadcast(e, subject, bytes)) return;
  bool accepted = true;
  if (e.has_app()) {
    accepted = AddApp(e.project(), e.app());
  } else if (e.has_app_version()) {
    accepted = AddVersion(e.project(), e.app_version());
  } else if (e.has_settings()) {
    if (e.settings().has_max_granted_credit()) projects[e.project()].cap = e.settings().max_granted_credit();
    estimates.SetLimits(e.project(), e.settings().estimates());
  } else if (e.has_opening_app_version()) {
    // The oracle does not compute averages.
    accepted = projects[e.project()].versions.count(e.opening_app_version().app_version()) != 0;
    if (!accepted) Refuse("UNKNOWN_APP_VERSION");
  } else if (e.has_validator_restart()) {
    accepted = !projects[e.project()].apps.empty();
    if (!accepted) Refuse("UNKNOWN_APP");
  }
  if (accepted) broadcasts[SubjectKey(e, subject)].emplace(e.id(), bytes);
}

void Oracle::State::AddOpening(const Envelope& e, std::string_view bytes) {
  if (e.has_opening_host_version()) {
    const v1::OpeningHostVersion& event = e.opening_host_version();
    const std::uint64_t app = event.app_version() < 0 ? event.app() : 0;
    IsNewOpening(
        e,
        std::to_string(event.host()) + "/" + std::to_string(event.app_version()) + "/" + std::to_string(app),
        bytes);
    return;
  }
  const v1::OpeningTotal& event = e.opening_total();
  Project& project = projects[e.project()];
  const auto kind = event.kind() == v1::ACCOUNT_KIND_HOST   ? OracleAccountKind::kHost
                    : event.kind() == v1::ACCOUNT_KIND_USER ? OracleAccountKind::kUser
                                                            : OracleAccountKind::kTeam;
  const auto micro =
      event.has_total_micro() ? std::optional<std::int64_t>(event.total_micro()) : ToMicro(event.total());
  if (!micro) return Refuse("OUT_OF_RANGE");
  const std::string subject = std::to_string(event.kind()) + "/" + std::to_string(event.account());
  if (!IsNewOpening(e, subject, bytes)) return;
  if (kind == OracleAccountKind::kHost && !project.hosts[event.account()].known) {
    project.hosts[event.account()].opening = {*micro, std::max(e.time(), project.last_tick),
                                              SubjectKey(e, subject)};
    return;
  }
  AccountKey key{e.project(), kind, event.account()};
  if (kind == OracleAccountKind::kHost) key.account = merges.HeirOf({e.project(), event.account()}).second;
  outcome.accounts[key].micro += *micro;
}

void Oracle::State::AddOfResult(const Envelope& e, std::string_view bytes, std::uint64_t from_line,
                                int hops) {
  Project& project = projects[e.project()];
  std::uint64_t result = e.has_completion()   ? e.completion().result()
                         : e.has_validation() ? e.validation().result()
                         : e.has_dispatch()   ? e.dispatch().result()
                                              : e.trickle().result();
  const std::uint64_t host = e.has_completion()   ? e.completion().host()
                             : e.has_validation() ? e.validation().host()
                             : e.has_dispatch()   ? e.dispatch().host()
                                                  : e.trickle().host();
  if (e.has_trickle() && result == 0)
    if (const auto named = project.names.find({e.trickle().result_name(), host});
        named != project.names.end())
      result = named->second;
  const auto held = hops >= 16 ? project.held.end() : project.held.find({result, host});
  if (result != 0 && held != project.held.end()) {
    Envelope meant = e;
    const std::uint64_t holder = held->second.holder;
    if (meant.has_completion()) meant.mutable_completion()->set_host(holder);
    if (meant.has_validation()) meant.mutable_validation()->set_host(holder);
    if (meant.has_dispatch()) meant.mutable_dispatch()->set_host(holder);
    if (meant.has_trickle()) meant.mutable_trickle()->set_host(holder);
    handed.push_back({from_line, meant.SerializeAsString(), hops + 1});
    return;
  }
  const std::uint64_t now = std::exchange(line, from_line);
  if (e.has_trickle()) AddTrickle(e, bytes, from_line);
  if (e.has_completion()) AddCompletion(e, bytes);
  if (e.has_validation()) AddValidation(e, bytes);
  if (e.has_dispatch()) AddDispatch(e, bytes);
  line = now;
  if (!e.has_trickle()) NotifyHeir(e.project(), result, host, from_line);
}

// In rounds: first notices of a result's holder, then results decided elsewhere, then events handed over.
void Oracle::State::TakeHanded() {
  while (!holdings.empty() || !elsewhere.empty() || !handed.empty()) {
    std::vector<Holding> notices = std::exchange(holdings, {});
    const std::vector<Elsewhere> decided = std::exchange(elsewhere, {});
    std::vector<Handed> batch = std::exchange(handed, {});
    std::stable_sort(notices.begin(), notices.end(),
                     [](const Holding& a, const Holding& b) { return a.line < b.line; });
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::uint64_t> held_now;
    for (const Holding& holding : notices)
      if (Hold(holding)) held_now[{holding.project, holding.result, holding.named}] = holding.line;
    for (const auto& [of, at_line] : held_now)
      HandOver(std::get<0>(of), std::get<1>(of), std::get<2>(of), at_line);
    for (const Elsewhere& one : decided) EndElsewhere(one);
    std::sort(batch.begin(), batch.end());
    for (const Handed& one : batch) {
      Envelope e;
      e.ParseFromString(one.bytes);
      AddOfResult(e, one.bytes, one.line, one.hops);
    }
  }
  for (const auto& [project, workunit] : before_) TakePaidBefore(project, workunit);
}

void Oracle::State::TakePaidBefore(std::uint64_t project_id, std::uint64_t workunit_id) {
  WorkunitFacts& workunit = projects[static_cast<std::uint32_t>(project_id)].workunits[workunit_id];
  std::erase_if(workunit.paid_before, [&](const PaidBefore& one) {
    if (Awaits(workunit, one.of.key.result)) return false;
    std::int64_t paid = 0;
    for (const OraclePartials& part : one.paid) paid += part.micro;
    const bool granted = outcome.grants.contains(one.of.key);
    const bool keeps = one.settlement != "settle" && one.settlement != "cap";
    Unsettle(one.of, one.paid, keeps ? paid - std::min(paid, granted ? workunit.micro : 0) : 0,
             keeps ? "cap" : one.settlement, false);
    return true;
  });
}

void Oracle::State::EndElsewhere(const Elsewhere& one) {
  const auto& [at_line, project_id, result_id, host] = one;
  Project& project = projects[project_id];
  ResultFacts& result = project.results[{result_id, host}];
  if (!result.pending) return;
  if (!result.completion.empty()) Refuse("ALREADY_DECIDED");
  if (!result.validation.empty()) Refuse("ALREADY_DECIDED");
  Envelope sent;
  if (!result.dispatch.empty()) sent.ParseFromString(result.dispatch);
  const std::string settlement = project.apps[result.app].settlement;
  const bool keeps = settlement != "settle" && settlement != "cap";
  if (result.job) {
    const Posting of{.key = {project_id, result_id},
                     .host = host,
                     .app = result.app,
                     .time = std::max(result.since, project.last_tick),
                     .line = at_line};
    const std::uint64_t workunit = sent.dispatch().workunit();
    project.workunits[workunit].paid_before.push_back({of, result.job->paid, settlement});
    result.job->ended = true;
    result.job->back = HUGE_VAL;
    result.job->line = at_line;
    result.job->workunit = workunit;
    before_.insert({project_id, workunit});
  }
  if (!keeps) ForgetJob(project_id, result_id, host, result);
  ResultFacts left{.dispatch = result.job && !result.job->terms ? result.dispatch : std::string(),
                   .job = result.job};
  left.ended = true;
  left.begin = sent.dispatch().sent_time() > 0 ? sent.dispatch().sent_time() : result.since;
  left.app = result.app;
  left.ended_completion = left.ended_validation = "elsewhere";
  result = std::move(left);
}

void Oracle::State::NotifyHeir(std::uint32_t project, std::uint64_t result, std::uint64_t host,
                               std::uint64_t at_line) {
  const auto into = merges.Into({project, host});
  const auto known = projects[project].results.find({result, host});
  if (!into || known == projects[project].results.end()) return;
  const ResultFacts& facts = known->second;
  if (!facts.pending && !facts.ended) return;
  const bool sent = !facts.dispatch.empty() || (facts.job && facts.job->terms);
  if (!sent && !projects[project].apps[facts.app].trickles.empty()) return;
  holdings.push_back({at_line, project, result, *into, {.holder = host, .sent = sent, .informed = {host}}});
}

void Oracle::State::PassOn(std::uint32_t project, std::uint64_t result, std::uint64_t host,
                           std::uint64_t at_line) {
  const auto into = merges.Into({project, host});
  HeldBy by = projects[project].held.at({result, host});
  if (!into || *into == by.holder || by.informed.count(*into) != 0) return;
  by.informed.insert(host);
  holdings.push_back({at_line, project, result, *into, std::move(by)});
}

bool Oracle::State::Hold(const Holding& holding) {
  const auto& [at_line, project_id, result, named, by] = holding;
  Project& project = projects[project_id];
  if (named == by.holder) return false;
  if (const auto own = project.results.find({result, named}); own != project.results.end()) {
    if (own->second.pending && !own->second.dispatch.empty())
      return false;  // the result was sent to this host, too
    if (own->second.ended && own->second.job && own->second.job->terms) return false;
  }
  const auto [known, is_new] = project.held.emplace(std::pair(result, named), by);
  if (is_new) return true;
  if (known->second.holder == by.holder) {
    known->second.sent = known->second.sent || by.sent;
    known->second.informed = by.informed;
  } else if (std::pair(!by.sent, by.holder) < std::pair(!known->second.sent, known->second.holder)) {
    known->second = by;
  } else {
    return false;
  }
  return true;
}

void Oracle::State::HandOver(std::uint32_t project_id, std::uint64_t result, std::uint64_t named,
                             std::uint64_t at_line) {
  Project& project = projects[project_id];
  const std::uint64_t holder = project.held.at({result, named}).holder;
  PassOn(project_id, result, named, at_line);
  const auto own = project.results.find({result, named});
  if (own != project.results.end() && own->second.ended)
    elsewhere.push_back({at_line, project_id, result, holder});
  std::string name;
  if (const auto of = project.results.find({result, holder}); of != project.results.end() && of->second.job)
    name = of->second.job->name;
  if (!name.empty()) project.names[{name, named}] = result;
  const auto again = [&](const std::string& bytes, std::uint64_t from_line) {
    Envelope e;
    e.ParseFromString(bytes);
    AddOfResult(e, bytes, from_line);
  };
  if (!name.empty())
    if (const auto waiting = project.waiting_names.extract({name, named}))
      for (const auto& [bytes, from_line] : waiting.mapped().messages) again(bytes, from_line);
  if (const auto waiting = project.waiting_trickles.extract({result, named}))
    for (const auto& [bytes, from_line] : waiting.mapped().messages) again(bytes, from_line);
  if (own == project.results.end() || !own->second.pending) return;
  const ResultFacts here = std::exchange(own->second, {});
  if (!here.completion.empty()) again(here.completion, here.line);
  if (!here.validation.empty()) again(here.validation, here.line);
}

void Oracle::State::AddDispatch(const Envelope& e, std::string_view bytes) {
  const v1::Dispatch& event = e.dispatch();
  Project& project = projects[e.project()];
  if (project.apps.count(event.app()) == 0) return Refuse("UNKNOWN_APP");
  ResultFacts& result = project.results[{event.result(), event.host()}];
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  if (result.ended && result.job && !result.job->terms) {
    if (!result.dispatch.empty()) {
      if (!HaveSameFacts(result.dispatch, bytes)) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
      return;
    }
    Envelope back;
    back.ParseFromString(result.ended_completion);
    if (AreOfOtherJobs(event, back.completion())) return Refuse("DISPATCH_DIFFERS");
    result.job->name = event.result_name();
    if (!event.result_name().empty()) project.names[{event.result_name(), event.host()}] = event.result();
    result.dispatch = bytes;
    return PriceOrWait(e.project(), event.result(), event.host());
  }
  if (result.ended) {
    const auto refuse = [this](const auto& waiting) {
      if (waiting)
        for (std::size_t i = 0; i < waiting.mapped().messages.size(); ++i) Refuse("ALREADY_DECIDED");
    };
    refuse(project.waiting_names.extract({event.result_name(), event.host()}));
    refuse(project.waiting_trickles.extract({event.result(), event.host()}));
    return;
  }
  if (!result.dispatch.empty()) {
    if (!HaveSameFacts(result.dispatch, bytes)) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  if (!result.completion.empty()) {
    Envelope back;
    back.ParseFromString(result.completion);
    if (AreOfOtherJobs(event, back.completion())) return Refuse("DISPATCH_DIFFERS");
  }
  const AppFacts& app = project.apps[event.app()];
  if ((event.sent_time() > 0 ? event.sent_time() : e.time()) < app.results_from) return Refuse("TOO_LATE");
  if (!result.pending) {
    result.since = e.time();
    result.app = event.app();
  }
  result.pending = true;
  result.dispatch = bytes;
  OpenJob(e);
}

void Oracle::State::AddCompletion(const Envelope& e, std::string_view bytes) {
  const v1::Completion& event = e.completion();
  Project& project = projects[e.project()];
  const auto app = project.apps.find(event.app());
  if (app == project.apps.end()) return Refuse("UNKNOWN_APP");
  if (event.outcome() != v1::OUTCOME_SUCCESS && event.result() == 0) {
    const auto known = project.failures.find({event.host(), e.id()});
    const double from = app->second.results_from;
    if (e.time() < from && (known == project.failures.end() || IsEarlierDay(e.time(), from)))
      return Refuse("TOO_LATE");
    const auto [it, is_new] = project.failures.emplace(std::pair{event.host(), e.id()}, bytes);
    if (!is_new && it->second != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  const bool timed_out = event.outcome() == v1::OUTCOME_TIMEOUT;
  const std::tuple of_time_out(event.host(), event.result(), event.sent_time());
  if (timed_out) {
    const auto earlier = project.time_outs.find(of_time_out);
    if (earlier != project.time_outs.end() &&
        !IsEarlierDay(earlier->second.begin, project.apps[earlier->second.app].results_from)) {
      if (!HaveSameFacts(earlier->second.bytes, bytes)) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
      return;
    }
  }
  ResultFacts& result = project.results[{event.result(), event.host()}];
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  const std::string& before = result.ended ? result.ended_completion : result.completion;
  if (!before.empty()) {
    if (!HaveSameFacts(before, bytes)) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  if (WindowBegin(event, e.time()) < app->second.results_from) return Refuse("TOO_LATE");
  if (!result.dispatch.empty()) {
    Envelope sent;
    sent.ParseFromString(result.dispatch);
    if (AreOfOtherJobs(sent.dispatch(), event)) return Refuse("DISPATCH_DIFFERS");
  }
  if (timed_out) {  // the host may still return it
    project.time_outs[of_time_out] = {std::string(bytes), WindowBegin(event, e.time()), event.app()};
    return;
  }
  if (event.outcome() != v1::OUTCOME_SUCCESS) {
    if (!result.validation.empty()) {
      // The validation refers to a result that has failed.
      Envelope validation;
      validation.ParseFromString(result.validation);
      CloseWithout(e.project(), validation);
      Refuse("UNKNOWN_RESULT");
    }
    EndJob({e.project(), event.result()}, event.host(), result, e.time(), line);
    LeaveJob(e.project(), result, e, line);
    const bool unpriced = result.job && !result.job->terms;
    result = {.dispatch = unpriced ? result.dispatch : std::string(), .job = result.job};
    result.ended = true;
    result.begin = WindowBegin(event, e.time());
    result.app = event.app();
    result.ended_completion = bytes;
    return;
  }
  if (!result.pending) {
    result.since = e.time();
    result.app = event.app();
  }
  result.pending = true;
  result.completion = bytes;
  result.line = line;
  Join(e.project(), event.result(), event.host());
}

void Oracle::State::AddValidation(const Envelope& e, std::string_view bytes) {
  const v1::Validation& event = e.validation();
  Project& project = projects[e.project()];
  const auto app = project.apps.find(event.app());
  if (app == project.apps.end()) return Refuse("UNKNOWN_APP");
  ResultFacts& result = project.results[{event.result(), event.host()}];
  const bool undecided = event.state() == v1::VALIDATE_STATE_INCONCLUSIVE;
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  if (result.ended) {
    if (!result.ended_validation.empty() && HaveSameFacts(result.ended_validation, bytes)) return;
    if (result.ended_validation.empty()) {
      CloseWithout(e.project(), e);
      return Refuse("UNKNOWN_RESULT");
    }
    if (undecided) return;  // an older pass
    return Refuse("ALREADY_DECIDED");
  }
  if (!result.validation.empty()) {
    if (HaveSameFacts(result.validation, bytes)) return;
    Envelope before;
    before.ParseFromString(result.validation);
    if (before.id() == e.id()) return Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    const bool decided = before.validation().state() != v1::VALIDATE_STATE_INCONCLUSIVE;
    if (decided && undecided) return;  // an older pass
    if (decided) return Refuse("ALREADY_DECIDED");
    if (event.pass() < before.validation().pass()) return;
  }
  if (e.time() < app->second.results_from) return Refuse("TOO_LATE");
  if (!result.pending) {
    result.since = e.time();
    result.app = event.app();
  }
  result.pending = true;
  result.validation = bytes;
  result.line = line;
  Join(e.project(), event.result(), event.host());
}

// ---- Results -------------------------------------------------------------------------------------------

void Oracle::State::Join(std::uint32_t project_id, std::uint64_t result_id, std::uint64_t host_id) {
  Project& project = projects[project_id];
  ResultFacts& result = project.results[{result_id, host_id}];
  if (!result.pending || result.completion.empty() || result.validation.empty()) return;
  Envelope done;
  Envelope checked;
  done.ParseFromString(result.completion);
  checked.ParseFromString(result.validation);
  const v1::Completion& completion = done.completion();
  const v1::Validation& validation = checked.validation();
  if (validation.state() == v1::VALIDATE_STATE_INCONCLUSIVE) return;
  HostFacts& host = project.hosts[host_id];
  if (!host.known) {
    if (!result.waits_for_host) host.waiting.push_back(result_id);
    result.waits_for_host = true;
    return;
  }
  if (completion.workunit() != validation.workunit() || completion.app() != validation.app()) {
    CloseWithout(project_id, checked);
    Refuse("WRONG_WORKUNIT");
    Refuse("WRONG_WORKUNIT");
    if (result.dispatch.empty()) {
      result = {};
      return;
    }
    result.completion.clear();
    result.validation.clear();
    result.waits_for_host = false;
    result.line = 0;
    return;
  }
  const AppFacts& app = project.apps[completion.app()];
  // An earlier grant might have expired by now.
  if (WindowBegin(completion, done.time()) < app.workunits_from) {
    CloseWithout(project_id, checked);
    Refuse("TOO_LATE");
    Refuse("TOO_LATE");
    EndJob({project_id, result_id}, host_id, result, checked.time(), result.line);
    ForgetJob(project_id, result_id, host_id, result);
    result = {};
    return;
  }
  const bool valid = validation.state() == v1::VALIDATE_STATE_VALID;
  if (valid || app.rules.counts_invalid()) {
    Claim claim;
    claim.line = result.line;
    claim.result = result_id;
    claim.workunit = validation.workunit();
    claim.host = host_id;
    claim.user = host.user;
    claim.app = validation.app();
    claim.policy_version = app.policy_version;
    claim.time = checked.time();
    claim.sent = completion.sent_time();
    claim.received = completion.received_time();
    claim.pass = validation.pass();
    claim.awaited = validation.claims();
    claim.valid = valid;
    claim.late = validation.late();
    claim.host_deleted = host.deleted;
    claim.canonical = validation.canonical_result();
    app.rules.Price(completion, validation, {host.whetstone, host.dhrystone, host.cpus}, &claim);
    if (valid && !host.deleted && result.job) {
      claim.paid = result.job->paid;
      claim.settlement = app.settlement;
      result.job->ended = true;
    }
    TakeClaim(project_id, claim);
  }
  EndJob({project_id, result_id}, host_id, result, checked.time(), result.line);
  LeaveJob(project_id, result, done, result.line);
  result.ended_completion = std::exchange(result.completion, {});
  result.ended_validation = std::exchange(result.validation, {});
  result.dispatch.clear();
  result.pending = false;
  result.ended = true;
  result.begin = WindowBegin(completion, done.time());
  result.app = completion.app();
}

// A validation whose result can form no claim: its workunit need not wait for one.
void Oracle::State::CloseWithout(std::uint32_t project_id, const Envelope& e) {
  const v1::Validation& validation = e.validation();
  if (validation.late() || validation.claims() == 0) return;
  Claim claim;
  claim.line = line;
  claim.expired = true;
  claim.result = validation.result();
  claim.workunit = validation.workunit();
  claim.host = validation.host();
  claim.app = validation.app();
  claim.time = e.time();
  claim.pass = validation.pass();
  claim.awaited = validation.claims();
  claim.policy_version = projects[project_id].apps[validation.app()].policy_version;
  TakeClaim(project_id, claim);
}

void Oracle::State::Tick(std::uint32_t project_id, double time) {
  const auto found = projects.find(project_id);
  // In a project without a catalogue time changes nothing.
  if (found == projects.end() || time <= found->second.last_tick) return;
  Project& project = found->second;
  if (project.apps.empty()) return;
  project.last_tick = time;
  LetTimePass(project);
  for (auto& [id, user] : project.users) ExpireWaiting(user, time);
  for (auto& [id, host] : project.hosts) {
    if (!host.opening || !(host.opening->since + 30.0 * 86400 < time)) continue;
    Refuse("UNKNOWN_HOST");
    openings.erase(host.opening->subject);
    host.opening.reset();
  }
  for (auto& [key, result] : project.results) {
    if (!result.pending || !(result.since + project.apps[result.app].window < time)) continue;
    ResultFacts over = std::exchange(result, {});
    EndJob({project_id, key.first}, key.second, over, time, over.line);
    ForgetJob(project_id, key.first, key.second, over);
    const char* reason = over.waits_for_host ? "UNKNOWN_HOST" : "UNKNOWN_RESULT";
    if (!over.completion.empty()) Refuse(reason);
    if (over.validation.empty()) continue;
    Refuse(reason);
    Envelope e;
    e.ParseFromString(over.validation);
    if (e.validation().state() != v1::VALIDATE_STATE_INCONCLUSIVE) CloseWithout(project_id, e);
  }
  const auto expire = [&](auto& waiting) {
    std::erase_if(waiting, [&](const auto& entry) {
      if (!(entry.second.since + 30.0 * 86400 < time)) return false;
      for (std::size_t i = 0; i < entry.second.messages.size(); ++i) Refuse("UNKNOWN_RESULT");
      return true;
    });
  };
  expire(project.waiting_trickles);
  expire(project.waiting_names);
  estimates.Tick(project_id, time, [this](const char* reason) { Refuse(reason); });
  for (std::size_t over = merges.Expire(project_id, time); over > 0; --over) Refuse("UNKNOWN_HOST");
  ExpireWorkunits(project_id);
}

void Oracle::State::ExpireWorkunits(std::uint32_t project_id) {
  Project& project = projects[project_id];
  for (auto& [id, workunit] : project.workunits) {
    if (!workunit.open) continue;
    const std::uint64_t app =
        workunit.claims.empty() ? workunit.late.front().app : workunit.claims.front().app;
    if (!(workunit.since + project.apps[app].window < project.last_tick)) continue;
    if (!workunit.claims.empty()) {
      std::uint32_t last = 0;
      for (const Claim& claim : workunit.claims) last = std::max(last, claim.pass);
      Settle(project_id, id, last);
      continue;
    }
    for (const Claim& claim : workunit.late) {
      Refuse("UNKNOWN_RESULT");
      DropClaim(project_id, claim);
    }
    for (const LateTrickle& late : workunit.late_trickles) PayLate(late, 0);
    workunit = {};
  }
}

// ---- Workunits -----------------------------------------------------------------------------------------

void Oracle::State::TakeClaim(std::uint32_t project_id, const Claim& claim) {
  WorkunitFacts& workunit = projects[project_id].workunits[claim.workunit];
  if (workunit.decided &&
      IsEarlierDay(workunit.begin, projects[project_id].apps[workunit.app].workunits_from))
    workunit = {};
  if (workunit.decided) {
    if (!claim.expired) GrantTo(project_id, claim, workunit, true);
    return;
  }
  const double since = workunit.open ? std::min(workunit.since, claim.time) : claim.time;
  if (claim.late) {
    workunit.open = true;
    workunit.since = since;
    workunit.late.push_back(claim);
    return;
  }
  // A result counts once in a pass, and its claim takes precedence over the notice that there will be none.
  Claim* same = nullptr;
  for (Claim& other : workunit.claims) {
    if (other.result != claim.result) continue;
    if (!claim.expired && !other.expired) {  // one result, two hosts
      Refuse("ALREADY_DECIDED");
      return DropClaim(project_id, claim);
    }
    if (other.pass == claim.pass) same = &other;
  }
  if (same == nullptr) {
    workunit.claims.push_back(claim);
  } else if (claim.expired) {
    return;
  } else {
    *same = claim;
  }
  workunit.open = true;
  workunit.since = since;
  const auto there = std::count_if(workunit.claims.begin(), workunit.claims.end(),
                                   [&](const Claim& other) { return other.pass == claim.pass; });
  if (there >= static_cast<std::ptrdiff_t>(claim.awaited)) Settle(project_id, claim.workunit, claim.pass);
}

void Oracle::State::Settle(std::uint32_t project_id, std::uint64_t workunit_id, std::uint32_t pass) {
  Project& project = projects[project_id];
  WorkunitFacts& workunit = project.workunits[workunit_id];
  std::vector<Claim> claims;
  std::uint64_t last_line = 0;
  std::uint32_t version = 0;
  std::uint64_t app = 0;
  bool any_valid = false;
  double begin = 0;
  double time = 0;
  for (const Claim& claim : workunit.claims) {
    if (claim.pass != pass) continue;
    last_line = std::max(last_line, claim.line);
    time = std::max(time, claim.time);
    begin = std::max({begin, claim.time, claim.sent});
    any_valid = any_valid || claim.valid;
    if (claim.policy_version >= version) {
      version = claim.policy_version;
      app = claim.app;
    }
    if (!claim.expired) claims.push_back(claim);
  }
  if (!any_valid) {
    // Such a pass decides nothing.
    std::erase_if(workunit.claims, [pass](const Claim& claim) { return claim.pass == pass; });
    std::erase_if(workunit.late_trickles, [&](const LateTrickle& late) {
      if (Awaits(workunit, late.posting.key.result)) return false;
      PayLate(late, 0);
      return true;
    });
    workunit.open = !workunit.claims.empty() || !workunit.late.empty();
    return;
  }
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) { return a.result < b.result; });
  const OraclePolicy& rules = project.policies[{app, version}];
  workunit.open = false;
  workunit.decided = true;
  workunit.time = time;
  workunit.line = last_line;
  workunit.begin = begin;
  workunit.app = app;
  workunit.priced = rules.priced();
  workunit.credit = rules.priced() ? rules.Settle({claims.begin(), claims.end()}, project.cap) : 0;
  const auto micro = ToMicro(workunit.credit);
  workunit.micro = micro.value_or(0);
  const std::vector<Claim> late = std::exchange(workunit.late, {});
  const std::vector<Claim> all = std::exchange(workunit.claims, {});
  for (const Claim& claim : claims) {
    if (micro) {
      GrantTo(project_id, claim, workunit, false);
    } else {
      Refuse("NOT_FINITE");
      DropClaim(project_id, claim);
    }
  }
  // Claims of other passes: the workunit is decided without them.
  for (const Claim& claim : all)
    if (claim.pass != pass) DropClaim(project_id, claim);
  for (const Claim& claim : late) GrantTo(project_id, claim, workunit, true);
  for (const LateTrickle& trickle : std::exchange(workunit.late_trickles, {}))
    PayLate(trickle, outcome.grants.count(trickle.posting.key) > 0 ? workunit.micro : 0);
}

bool Oracle::State::Awaits(const WorkunitFacts& workunit, std::uint64_t result) {
  const auto is_its = [&](const Claim& claim) { return !claim.expired && claim.result == result; };
  return std::any_of(workunit.claims.begin(), workunit.claims.end(), is_its) ||
         std::any_of(workunit.late.begin(), workunit.late.end(), is_its);
}

void Oracle::State::TakeLate(std::uint64_t workunit_id, const LateTrickle& late) {
  Project& project = projects[late.posting.key.project];
  WorkunitFacts& workunit = project.workunits[workunit_id];
  if (!workunit.decided && Awaits(workunit, late.posting.key.result)) {
    workunit.late_trickles.push_back(late);
    return;
  }
  const bool known =
      workunit.decided && !IsEarlierDay(workunit.begin, project.apps[workunit.app].workunits_from);
  PayLate(late, known && outcome.grants.count(late.posting.key) > 0 ? workunit.micro : 0);
}

// With settlement `keep` a result gets the greater of its grant and the value of its messages.
void Oracle::State::PayLate(const LateTrickle& late, std::int64_t granted) {
  Posting posting = late.posting;
  posting.micro = std::max(late.after, granted) - std::max(late.before, granted);
  if (posting.micro == 0) return;
  PartialOutcome& sum = outcome.partials[{posting.key, posting.user}];
  sum.paid += posting.micro;
  sum.settled += posting.micro;
  Give(posting);
}

void Oracle::State::GrantTo(std::uint32_t project_id, const Claim& claim, const WorkunitFacts& workunit,
                            bool late) {
  if (!claim.valid || claim.host_deleted) return;
  const ResultKey key{project_id, claim.result};
  std::int64_t paid = 0;
  for (const OraclePartials& one : claim.paid) paid += one.micro;
  GrantOutcome grant;
  grant.workunit = claim.workunit;
  grant.host = claim.host;
  grant.user = claim.user;
  grant.app = claim.app;
  grant.micro = std::max<std::int64_t>(workunit.micro - paid, 0);
  grant.priced = workunit.priced;
  grant.late = late;
  if (!outcome.grants.emplace(key, grant).second) {
    Refuse("ALREADY_DECIDED");  // a valid result is granted once
    return DropClaim(project_id, claim);
  }
  const Project& project = projects[project_id];
  const Posting posting{
      .key = key,
      .host = claim.host,
      .user = claim.user,
      .app = claim.app,
      .micro = grant.micro,
      .final = true,
      .time = late ? claim.time : workunit.time,
      .line = late ? std::max(claim.line, workunit.line) : workunit.line,
      .team_time = claim.received,
      .team_at_grant = project.policies.at({claim.app, claim.policy_version}).team_at_grant()};
  Give(posting);
  Unsettle(posting, claim.paid, workunit.micro, claim.settlement, true);
}

void Oracle::State::Correct(const Envelope& e, std::string_view bytes) {
  CorrectionEffect effect;
  bool applied = false;
  const std::uint64_t user = (e.has_repricing() ? e.repricing().entry() : e.reversal().entry()).user();
  if (user != 0 && !projects[e.project()].users[user].known) return Refuse("UNKNOWN_USER");
  if (e.has_repricing() && e.repricing().has_judged_invalid() && user != 0)
    effect.team = projects[e.project()].users[user].TeamAt(e.repricing().judged_invalid().team_time());
  if (const char* reason = corrections.Apply(e, bytes, &effect, &applied)) return Refuse(reason);
  if (!applied) return;
  const ResultKey key{e.project(), effect.result};
  auto& sum = outcome.corrections[{key, effect.entry.user()}];
  sum.micro += effect.micro;
  ++sum.count;
  Give({.key = key,
        .host = effect.entry.host(),
        .user = effect.entry.user(),
        .app = effect.entry.app(),
        .micro = effect.micro,
        .time = e.time(),
        .line = line,
        .corrects = true,
        .uncounts = effect.uncounts,
        .recounts = effect.recounts,
        .team = effect.team});
}

Job* Oracle::State::RunningJob(std::uint32_t project_id, std::uint64_t result_id, std::uint64_t host) {
  Project& project = projects[project_id];
  const auto found = project.results.find({result_id, host});
  if (found == project.results.end()) {
    Refuse("UNKNOWN_RESULT");
    return nullptr;
  }
  ResultFacts& result = found->second;
  if (result.job && !result.job->ended) return result.job.get();
  const bool over = !result.ended || IsEarlierDay(result.begin, project.apps[result.app].results_from);
  Refuse(over ? "UNKNOWN_RESULT" : "ALREADY_DECIDED");
  return nullptr;
}

// Of a running job: the reversed part neither belongs to the owner nor is to be settled.
void Oracle::State::ReverseJob(const Envelope& e, std::string_view bytes) {
  const v1::JobReversal& event = e.job_reversal();
  Job* const running = RunningJob(e.project(), event.result(), event.host());
  if (running == nullptr) return;
  Job& job = *running;
  const std::uint64_t user = event.entry().user();
  const auto paid = std::find_if(job.paid.begin(), job.paid.end(),
                                 [&](const OraclePartials& one) { return one.user == user; });
  const bool is_paid = paid != job.paid.end();
  std::int64_t micro = 0;
  if (const char* reason = job.reversals.Apply(e, bytes, job.repriced.size(), is_paid ? paid->micro : 0,
                                               is_paid ? paid->reversed : 0, &micro))
    return Refuse(reason);
  if (micro == 0) return;
  paid->reversed += micro;
  const ResultKey key{e.project(), event.result()};
  auto& sum = outcome.corrections[{key, user}];
  sum.micro -= micro;
  ++sum.count;
  Give({.key = key,
        .host = event.host(),
        .user = user,
        .app = job.app,
        .micro = -micro,
        .settles = micro,
        .time = e.time(),
        .line = line,
        .corrects = true,
        .team = event.entry().team()});
}

// From now on the job counts as sent under the other version.
void Oracle::State::RepriceJob(const Envelope& e, std::string_view bytes) {
  const v1::JobRepricing& event = e.job_repricing();
  Job* const running = RunningJob(e.project(), event.result(), event.host());
  if (running == nullptr) return;
  Job& job = *running;
  for (const auto& [id, before] : job.repriced) {
    if (id != e.id()) continue;
    if (before != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  std::map<std::uint64_t, OraclePartials> was;
  std::map<std::uint64_t, OraclePartials> is;
  std::set<std::pair<std::uint64_t, std::uint64_t>> shares;
  std::int64_t all = 0;
  for (const v1::RepricedShare& share : event.shares()) {
    const std::uint64_t user = share.entry().user();
    if (!shares.emplace(user, share.entry().team()).second) return Refuse("OUT_OF_RANGE");
    if (const char* reason = job.reversals.RestsOn(share)) return Refuse(reason);
    was[user].micro += share.paid_micro();
    was[user].reversed += share.taken_micro();
    is[user].micro += share.repriced_paid_micro();
    is[user].reversed += share.repriced_taken_micro();
    all += share.repriced_paid_micro();
  }
  for (const OraclePartials& one : job.paid)
    if (was.count(one.user) == 0 || was[one.user].micro != one.micro ||
        was[one.user].reversed != one.reversed)
      return Refuse("ALREADY_DECIDED");
  if (was.size() != job.paid.size()) return Refuse("OUT_OF_RANGE");
  const Project& project = projects[e.project()];
  const auto version = project.versions_of_app.find({job.app, event.policy_version()});
  if (version == project.versions_of_app.end()) return Refuse("OUT_OF_RANGE");
  const AppFacts& app = version->second;
  if (const char* reason = job.terms->Reprice(app.trickles, app.cobblestones_per_gflops_day, all))
    return Refuse(reason);
  job.repriced.emplace_back(e.id(), std::string(bytes));
  for (OraclePartials& one : job.paid) {
    one.micro = is[one.user].micro;
    one.reversed = is[one.user].reversed;
  }
  for (const v1::RepricedShare& share : event.shares()) {
    job.reversals.Reprice(share);
    const std::int64_t micro =
        share.repriced_paid_micro() - share.repriced_taken_micro() - share.paid_micro() + share.taken_micro();
    const ResultKey key{e.project(), event.result()};
    auto& sum = outcome.corrections[{key, share.entry().user()}];
    sum.micro += micro;
    ++sum.count;
    Give({.key = key,
          .host = event.host(),
          .user = share.entry().user(),
          .app = job.app,
          .micro = micro,
          .settles = -micro,
          .time = e.time(),
          .line = line,
          .corrects = true,
          .team = share.entry().team()});
  }
}

void Oracle::State::Give(const Posting& posting) {
  const std::uint32_t project = posting.key.project;
  UserFacts* user = posting.user == 0 ? nullptr : &projects[project].users[posting.user];
  if (user == nullptr || user->known) return Post(posting);
  user->waiting.emplace_back(posting, posting.time + projects[project].apps.at(posting.app).window);
}

// In order of arrival: a posting that continues to wait blocks later ones. The host gets its share.
void Oracle::State::ExpireWaiting(UserFacts& user, double now) {
  while (!user.waiting.empty() && IsEarlierDay(user.waiting.front().second, now)) {
    const Posting posting = user.waiting.front().first;
    if (posting.final) {
      outcome.grants[posting.key].to_host = posting.host;
      outcome.grants[posting.key].day = DayOf(posting.time);
    }
    AddTo({posting.key.project, OracleAccountKind::kHost, posting.host}, posting,
          posting.paid - posting.settles);
    Refuse("UNKNOWN_USER");
    user.expired_provisional += posting.paid - std::min(user.expired_provisional, posting.settles);
    user.waiting.erase(user.waiting.begin());
  }
}

void Oracle::State::Post(const Posting& posting) {
  const std::uint32_t project = posting.key.project;
  std::uint64_t to_user = 0;
  std::uint64_t to_team = 0;
  std::int64_t of_user = posting.paid - posting.settles;
  if (posting.user != 0) {
    UserFacts& user = projects[project].users[posting.user];
    to_user = posting.user;
    to_team = user.updates.rbegin()->second.team;
    if (!posting.team_at_grant) to_team = user.TeamAt(posting.team_time);
    const std::int64_t expired =
        std::max<std::int64_t>(std::min(user.expired_provisional, posting.settles), 0);
    user.expired_provisional -= expired;
    of_user += expired;
  }
  if (posting.final) {
    GrantOutcome& grant = outcome.grants[posting.key];
    grant.to_host = posting.host;
    grant.day = DayOf(posting.time);
    grant.to_user = to_user;
    grant.to_team = to_team;
  }
  estimates.Granted({project, to_user, posting.host}, posting.micro, posting.time, posting.line,
                    posting.key.result);
  AddTo({project, OracleAccountKind::kHost, posting.host}, posting, posting.paid - posting.settles);
  AddTo({project, OracleAccountKind::kUser, to_user}, posting, of_user);
  if (posting.corrects) to_team = posting.team;
  AddTo({project, OracleAccountKind::kTeam, to_team}, posting, 0);
}

void Oracle::State::AddTo(const AccountKey& whose, const Posting& posting, std::int64_t provisional) {
  if (whose.account == 0) return;
  AccountKey key = whose;
  if (key.kind == OracleAccountKind::kHost) key.account = merges.HeirOf({key.project, key.account}).second;
  // A posting that only makes partial grants final does not concern a team.
  const bool counts = posting.final || posting.uncounts || posting.recounts;
  if (!counts && posting.micro == 0 && provisional == 0) return;
  AccountOutcome& account = outcome.accounts[key];
  account.provisional += provisional;
  if (!counts && posting.micro == 0) return;
  account.micro += posting.micro;
  account.grants += posting.final || posting.recounts ? 1 : posting.uncounts ? -1 : 0;
  account.apps[posting.app].first += posting.micro;
  account.apps[posting.app].second += posting.final || posting.recounts ? 1 : posting.uncounts ? -1 : 0;
  auto& day = account.days[DayOf(posting.time)];
  day.first += posting.micro;
  day.second += posting.final ? 1 : 0;
  unordered.emplace_back(key, posting);
}

void Oracle::State::Order() {
  estimates.Order(merges, &outcome.estimates);
  std::stable_sort(unordered.begin(), unordered.end(), [](const auto& a, const auto& b) {
    const auto place = [](const Posting& p) { return std::tuple(p.time, p.line, p.key.result); };
    return place(a.second) < place(b.second);
  });
  for (const auto& [key, posting] : std::exchange(unordered, {})) {
    BigMicro& debt = owed[key];
    if (posting.micro > 0) debt -= std::min<BigMicro>(debt, posting.micro);
    if (posting.micro < 0 && posting.owed) debt -= posting.micro;
  }
  for (auto& [key, account] : outcome.accounts) {
    const auto debt = owed.find(key);
    account.shown = account.micro + (debt == owed.end() ? 0 : debt->second);
  }
}

// ---- Host merges ---------------------------------------------------------------------------------------------

void Oracle::State::AddMerge(const Envelope& e, std::string_view bytes) {
  const auto known = projects[e.project()].hosts.find(e.host_merge().host());
  if (known == projects[e.project()].hosts.end() || !known->second.known) return Refuse("UNKNOWN_HOST");
  const bool ended = merges.Ended({e.project(), known->first});
  if (!ended && known->second.deleted) return Refuse("UNKNOWN_HOST");
  if (!ended && known->second.user == 0) return Refuse("UNKNOWN_USER");
  switch (merges.Apply(e, bytes, known->second.user, projects[e.project()].last_tick)) {
    case OracleMerges::Verdict::kAccepted: break;
    case OracleMerges::Verdict::kOtherContents: return Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    case OracleMerges::Verdict::kDecided: return Refuse("ALREADY_DECIDED");
    default: return;
  }
  // Results that are out, and decided results that may still receive trickles.
  Project& project = projects[e.project()];
  const std::uint64_t host = e.host_merge().host();
  std::vector<std::uint64_t> own;
  std::vector<std::uint64_t> others;
  for (const auto& [key, result] : project.results)
    if (key.second == host && (result.pending || (result.ended && result.job))) own.push_back(key.first);
  for (const auto& [key, by] : project.held)
    if (key.second == host) others.push_back(key.first);
  for (const std::uint64_t result : own) NotifyHeir(e.project(), result, host, line);
  for (const std::uint64_t result : others) PassOn(e.project(), result, host, line);
}

void Oracle::State::EndPeriod() {
  TakeHanded();
  Order();
  std::uint64_t refused = 0;
  for (const auto& [host, heir] : merges.EndPeriod(&refused)) {
    const AccountKey from{host.first, OracleAccountKind::kHost, host.second};
    const AccountKey to{heir.first, OracleAccountKind::kHost, heir.second};
    owed[to] += std::exchange(owed[from], 0);
    const auto gives = outcome.accounts.find(from);
    if (gives == outcome.accounts.end()) continue;
    AccountOutcome& takes = outcome.accounts[to];
    takes.micro += gives->second.micro;
    takes.provisional += gives->second.provisional;
    takes.shown += gives->second.shown;
    takes.grants += gives->second.grants;
    for (const auto& [app, sum] : gives->second.apps) {
      takes.apps[app].first += sum.first;
      takes.apps[app].second += sum.second;
    }
    for (const auto& [day, sum] : gives->second.days) {
      takes.days[day].first += sum.first;
      takes.days[day].second += sum.second;
    }
    outcome.accounts.erase(from);
  }
  OracleEstimates::Unite(merges, &outcome.estimates);
  for (; refused > 0; --refused) Refuse("OUT_OF_RANGE");
}

// ---- Trickles ------------------------------------------------------------------------------------------

void Oracle::State::OpenJob(const Envelope& e) {
  const v1::Dispatch& event = e.dispatch();
  Project& project = projects[e.project()];
  if (project.apps[event.app()].trickles.empty()) return;
  ResultFacts& result = project.results[{event.result(), event.host()}];
  result.job = std::make_shared<Job>();
  result.job->app = event.app();
  result.job->name = event.result_name();
  if (!event.result_name().empty()) project.names[{event.result_name(), event.host()}] = event.result();
  PriceOrWait(e.project(), event.result(), event.host());
}

void Oracle::State::PriceOrWait(std::uint32_t project, std::uint64_t result, std::uint64_t host_id) {
  HostFacts& host = projects[project].hosts[host_id];
  if (host.known) return PriceJob(project, result, host_id);
  host.unpriced.push_back(result);
}

void Oracle::State::PriceJob(std::uint32_t project_id, std::uint64_t result_id, std::uint64_t host_id) {
  Project& project = projects[project_id];
  const auto result = project.results.find({result_id, host_id});
  if (result == project.results.end() || !result->second.job || result->second.job->terms) return;
  if (const ResultFacts& of = result->second;
      of.ended && IsEarlierDay(of.begin, project.apps[of.app].results_from))
    return;
  Job& job = *result->second.job;
  const AppFacts& app = project.apps[job.app];
  OracleJob::Terms terms;
  terms.rules = app.trickles;
  terms.cobblestones_per_gflops_day = app.cobblestones_per_gflops_day;
  terms.project_cap = project.cap;
  terms.host_speed = project.hosts[host_id].whetstone;
  terms.dispatch.ParseFromString(result->second.dispatch);
  const std::int64_t version = terms.dispatch.dispatch().app_version();
  terms.anonymous = version < 0 || project.versions.count(static_cast<std::uint64_t>(version)) == 0;
  job.terms.emplace(std::move(terms));
  const std::string name = job.name;
  if (const auto waiting = project.waiting_names.extract({name, host_id})) TakeWaiting(waiting.mapped());
  if (const auto waiting = project.waiting_trickles.extract({result_id, host_id}))
    TakeWaiting(waiting.mapped());
}

void Oracle::State::TakeWaiting(const WaitingTrickles& waiting) {
  for (const auto& [bytes, from_line] : waiting.messages) {
    Envelope e;
    e.ParseFromString(bytes);
    AddTrickle(e, bytes, from_line);
  }
}

void Oracle::State::AddTrickle(const Envelope& e, std::string_view bytes, std::uint64_t from_line) {
  const v1::Trickle& event = e.trickle();
  Project& project = projects[e.project()];
  if (project.apps.empty()) return Refuse("UNKNOWN_APP");
  const auto wait = [&](WaitingTrickles& waiting) {
    for (const auto& [other, other_line] : waiting.messages)
      if (HaveSameFacts(other, bytes)) return;
    if (waiting.messages.empty()) waiting.since = std::max(e.time(), project.last_tick);
    waiting.messages.emplace_back(bytes, from_line);
  };
  std::uint64_t result_id = event.result();
  if (result_id == 0) {
    const auto named = project.names.find({event.result_name(), event.host()});
    if (named == project.names.end()) return wait(project.waiting_names[{event.result_name(), event.host()}]);
    result_id = named->second;
  }
  if (const auto found = project.results.find({result_id, event.host()}); found != project.results.end()) {
    const ResultFacts& result = found->second;
    const bool over = result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from);
    if (result.job && result.job->terms && !over) return Pay(e, result_id, *result.job, from_line);
    if (!result.job && result.pending && !result.dispatch.empty()) return Refuse("NOT_SUPPORTED");
    if (!result.job && result.ended && !over) return Refuse("ALREADY_DECIDED");
  }
  wait(project.waiting_trickles[{result_id, event.host()}]);
}

void Oracle::State::Pay(const Envelope& e, std::uint64_t result_id, Job& job, std::uint64_t from_line) {
  const v1::Trickle& event = e.trickle();
  if (event.app() != 0 && event.app() != job.app) return Refuse("DISPATCH_DIFFERS");
  const HostFacts& host = projects[e.project()].hosts[event.host()];
  if (host.deleted) return Refuse("UNKNOWN_HOST");
  std::int64_t micro = 0;
  // No work was done after the job's return.
  double until = e.time();
  if (job.ended) {
    until = std::min(until, job.back);
  } else if (const ResultFacts& result = projects[e.project()].results[{result_id, event.host()}];
             !result.completion.empty()) {
    Envelope back;
    back.ParseFromString(result.completion);
    const double received = back.completion().received_time();
    until = std::min(until, received > 0 ? received : back.time());
  }
  if (const char* reason = job.terms->Apply(event, until, &micro)) return Refuse(reason);
  if (micro == 0) return;
  std::int64_t before = 0;
  for (const OraclePartials& one : job.paid) before += one.micro;
  auto paid =
      std::find_if(job.paid.begin(), job.paid.end(), [&](const auto& one) { return one.user == host.user; });
  if (paid == job.paid.end()) paid = job.paid.insert(paid, {.user = host.user});
  paid->micro += micro;
  paid->newest = std::max(paid->newest, e.time());
  Posting posting{.key = {e.project(), result_id},
                  .host = event.host(),
                  .user = host.user,
                  .app = job.app,
                  .micro = micro,
                  .paid = micro,
                  .time = e.time(),
                  .line = std::max(from_line, job.line),
                  .team_time = e.time()};
  if (job.ended) {
    posting.paid = 0;  // it is final
    return TakeLate(job.workunit, {.posting = posting, .before = before, .after = before + micro});
  }
  outcome.partials[{posting.key, host.user}].paid += micro;
  Give(posting);
}

// For a result that was just decided.
void Oracle::State::LeaveJob(std::uint32_t project_id, ResultFacts& result, const Envelope& back,
                             std::uint64_t at_line) {
  const v1::Completion& event = back.completion();
  const AppFacts& app = projects[project_id].apps[event.app()];
  const bool keeps = app.settlement != "settle" && app.settlement != "cap";
  if (result.job && !keeps) return ForgetJob(project_id, event.result(), event.host(), result);
  if (!result.job) {
    if (!keeps || app.trickles.empty() || !result.dispatch.empty()) return;
    result.job = std::make_shared<Job>();
    result.job->app = event.app();
  }
  result.job->ended = true;
  result.job->back = event.received_time() > 0 ? event.received_time() : back.time();
  result.job->line = at_line;
  result.job->workunit = event.workunit();
}

void Oracle::State::ForgetJob(std::uint32_t project, std::uint64_t result_id, std::uint64_t host,
                              ResultFacts& result) {
  if (!result.job) return;
  auto& names = projects[project].names;
  const auto named = names.find({result.job->name, host});
  if (named != names.end() && named->second == result_id) names.erase(named);
  result.job.reset();
}

// The job fails.
void Oracle::State::EndJob(ResultKey key, std::uint64_t host, ResultFacts& result, double time,
                           std::uint64_t at_line) {
  if (!result.job || result.job->ended) return;
  const Posting of{.key = key, .host = host, .app = result.job->app, .time = time, .line = at_line};
  Unsettle(of, result.job->paid, 0, projects[key.project].apps[result.job->app].settlement, false);
  result.job->ended = true;
}

// A claim that gets no grant.
void Oracle::State::DropClaim(std::uint32_t project, const Claim& claim) {
  const Posting of{.key = {project, claim.result},
                   .host = claim.host,
                   .app = claim.app,
                   .time = claim.time,
                   .line = claim.line};
  Unsettle(of, claim.paid, 0, claim.settlement, false);
}

// Payments become final or are reversed.
void Oracle::State::Unsettle(const Posting& of, const OraclePaid& paid, std::int64_t worth,
                             const std::string& settlement, bool granted) {
  const std::vector<std::int64_t> reversed = ReversedShares(paid, worth, settlement);
  for (std::size_t i = 0; i < paid.size(); ++i) {
    PartialOutcome& sum = outcome.partials[{of.key, paid[i].user}];
    sum.settled += paid[i].micro - paid[i].reversed;
    sum.reversed += reversed[i];
    Posting posting = of;
    posting.user = paid[i].user;
    posting.micro = -reversed[i];
    posting.settles = paid[i].micro - paid[i].reversed;
    posting.final = false;
    posting.owed = settlement == "cap";
    posting.team_time = reversed[i] > 0 ? paid[i].newest : of.time;
    posting.team_at_grant = false;
    // If the owner keeps everything, the grant itself settles the payments: one record for a user who waits.
    const bool in_grant = granted && reversed[i] == 0 && posting.user == of.user;
    UserFacts& user = projects[of.key.project].users[posting.user];
    if (in_grant && posting.user != 0 && !user.known) {
      user.waiting.back().first.settles = posting.settles;
    } else {
      Give(posting);
    }
  }
}

}  // namespace cobblestone::testing

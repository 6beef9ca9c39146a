#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"
#include "tests/support/oracle_rules.h"

namespace cobblestone::testing {
namespace {

using v1::Envelope;

// ---- What the oracle knows -----------------------------------------------------------------------------

struct AppFacts {
  std::string policy = "creditnew";
  OraclePolicy rules;
  std::uint32_t policy_version = 1;
  double window = 0;
  // These never go back, whatever becomes of the window.
  double longest_window = 0;
  double results_from = 0;    // when a result was sent that is not too late
  double workunits_from = 0;  // when a workunit was decided that is not forgotten
};

struct HostFacts {
  bool known = false;
  bool deleted = false;
  std::uint64_t user = 0;
  double whetstone = 0;
  double dhrystone = 0;
  double cpus = 0;
  std::vector<std::uint64_t> waiting;  // results, in the order in which they began to wait
  struct Opening {
    std::int64_t micro = 0;
    double since = 0;
    std::string subject;
  };
  std::optional<Opening> opening;  // waits, too
};

struct UserFacts {
  bool known = false;
  bool deleted = false;
  struct Word {
    std::uint64_t team = 0;
    std::string bytes;
  };
  std::map<std::pair<double, std::uint64_t>, Word> words;  // by time and id; the first holds since ever
  std::vector<std::pair<ResultKey, double>> waiting;       // and until when
};

// One result on one host.
struct ResultFacts {
  std::string dispatch;
  std::string completion;
  std::string validation;
  double since = 0;
  std::uint64_t app = 0;
  bool pending = false;
  bool waits_for_host = false;
  bool ended = false;  // decided, or failed
  double begin = 0;    // then: of its window
  std::string ended_completion;
  std::string ended_validation;
};

struct WorkunitFacts {
  bool open = false;
  bool decided = false;
  double begin = 0;  // then: of the time for which it is remembered
  std::uint64_t app = 0;
  double since = 0;
  std::vector<OracleClaim> claims;
  std::vector<OracleClaim> late;
  double time = 0;  // of the decision
  double credit = 0;
  std::int64_t micro = 0;
  bool priced = true;
};

struct Project {
  double last_tick = 0;
  double cap = 0;
  std::map<std::uint64_t, AppFacts> apps;
  std::map<std::uint64_t, std::uint64_t> versions;  // app of each
  std::map<std::pair<std::uint64_t, std::uint32_t>, OraclePolicy> policies;
  std::map<std::uint64_t, HostFacts> hosts;
  std::map<std::uint64_t, UserFacts> users;
  std::map<std::pair<std::uint64_t, std::uint64_t>, ResultFacts> results;  // by result, host
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>
      failures;  // without a result: by host, event
  std::map<std::uint64_t, WorkunitFacts> workunits;
};

}  // namespace

struct Oracle::State {
  std::map<std::uint32_t, Project> projects;
  struct Word {
    double time = 0;
    std::uint64_t id = 0;
    std::string bytes;
  };
  std::map<std::string, Word> members;  // the newest word by kind and subject
  std::map<std::string, std::map<std::uint64_t, std::string>>
      told;                              // catalogue: bytes by subject and event id
  std::map<std::string, Word> openings;  // by subject: there is one
  std::map<ResultKey, std::pair<double, bool>>
      reported;  // of each grant: when, and whether the team at grant counts
  Outcome outcome;

  void Add(std::string_view bytes);
  void Refuse(const char* reason) { ++outcome.refusals[reason]; }

  // True: to be applied. Repeats are dropped, other contents under the same id are refused.
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
  void TakeClaim(std::uint32_t project, const OracleClaim& claim);
  void Settle(std::uint32_t project, std::uint64_t workunit, std::uint32_t pass);
  void GrantTo(std::uint32_t project, const OracleClaim& claim, const WorkunitFacts& workunit, bool late);
  void ExpireWaiting(UserFacts& user, double now);
  void Post(const ResultKey& key);
  void AddTo(const AccountKey& key, const GrantOutcome& grant);
};

Oracle::Oracle() : state_(std::make_unique<State>()) {}
Oracle::~Oracle() = default;

Outcome RunOracle(std::span<const std::string> envelopes) {
  Oracle oracle;
  for (const std::string& envelope : envelopes) oracle.Add(envelope);
  return oracle.Finish();
}

void Oracle::Add(std::string_view envelope) { state_->Add(envelope); }
Outcome Oracle::Finish() const { return state_->outcome; }

// ---- Events --------------------------------------------------------------------------------------------

void Oracle::State::Add(std::string_view bytes) {
  Envelope e;
  if (!e.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Refuse("UNDECODABLE");
  if (e.event_case() == Envelope::EVENT_NOT_SET) return Refuse("NOT_SUPPORTED");
  if (e.has_trickle() || e.has_host_merge() || e.has_reversal() || e.has_repricing() ||
      e.has_estimated_credit()) {
    return Refuse("NOT_SUPPORTED");
  }
  if (const char* reason = IllFormed(e); reason != nullptr) return Refuse(reason);
  if (e.has_completion()) return AddCompletion(e, bytes);
  if (e.has_validation()) return AddValidation(e, bytes);
  if (e.has_dispatch()) return AddDispatch(e, bytes);
  if (e.has_tick()) {
    if (e.project() != 0) return Tick(e.project(), e.tick().time());
    for (auto& [id, project] : projects) Tick(id, e.tick().time());  // of no project: of every one
    return;
  }
  if (e.has_host() || e.has_user() || e.has_team()) return AddMember(e, bytes);
  if (e.has_opening_total() || e.has_opening_host_version()) return AddOpening(e, bytes);
  AddBroadcast(e, bytes);
}

namespace {

// What is over is so with its whole day.
bool IsEarlierDay(double one, double other) { return std::floor(one / 86400) < std::floor(other / 86400); }

void LetTimePass(Project& project) {
  for (auto& [id, app] : project.apps) {
    app.longest_window = std::max(app.longest_window, app.window);
    app.results_from = std::max(app.results_from, project.last_tick - app.window);
    app.workunits_from = std::max(app.workunits_from, project.last_tick - 2 * app.longest_window);
  }
}

// When a result's window begins: it was sent, or, where the project does not say when, came back.
double WindowBegin(const v1::Completion& completion, double time) {
  return completion.sent_time() > 0 ? completion.sent_time() : time;
}

std::string SubjectKey(const Envelope& e, const std::string& subject) {
  return std::to_string(e.project()) + "/" + std::to_string(e.event_case()) + "/" + subject;
}

}  // namespace

// The newest by time and id is in force, whatever comes after it.
bool Oracle::State::IsNewMember(const Envelope& e, std::uint64_t subject, std::string_view bytes) {
  Word& word = members[SubjectKey(e, std::to_string(subject))];
  if (word.id == e.id()) {
    if (word.bytes != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return false;
  }
  if (std::pair{e.time(), e.id()} < std::pair{word.time, word.id}) return false;
  word = {e.time(), e.id(), std::string(bytes)};
  return true;
}

bool Oracle::State::IsNewBroadcast(const Envelope& e, const std::string& subject, std::string_view bytes) {
  const auto& words = told[SubjectKey(e, subject)];
  const auto same = words.find(e.id());
  if (same == words.end()) return true;
  if (same->second != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
  return false;
}

bool Oracle::State::IsNewOpening(const Envelope& e, const std::string& subject, std::string_view bytes) {
  const auto [it, is_new] =
      openings.emplace(SubjectKey(e, subject), Word{e.time(), e.id(), std::string(bytes)});
  if (is_new) return true;
  if (it->second.id != e.id()) Refuse("ALREADY_DECIDED");
  if (it->second.id == e.id() && it->second.bytes != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
  return false;
}

void Oracle::State::AddMember(const Envelope& e, std::string_view bytes) {
  Project& project = projects[e.project()];
  if (e.has_team()) {
    static_cast<void>(IsNewMember(e, e.team().team(), bytes));  // names move no credit
    return;
  }
  if (e.has_host()) {
    const v1::Host& said = e.host();
    if (!IsNewMember(e, said.host(), bytes)) return;
    HostFacts& host = project.hosts[said.host()];
    host.known = true;
    host.deleted = said.deleted();
    host.user = said.user();
    host.whetstone = said.whetstone();
    host.dhrystone = said.dhrystone();
    host.cpus = said.cpus();
    if (host.opening)
      outcome.accounts[{e.project(), OracleAccountKind::kHost, said.host()}].micro += host.opening->micro;
    host.opening.reset();
    const std::vector<std::uint64_t> waiting = std::exchange(host.waiting, {});
    for (const std::uint64_t result : waiting) Join(e.project(), result, said.host());
    return;
  }
  const v1::User& said = e.user();
  UserFacts& user = project.users[said.user()];
  for (const auto& [when, word] : user.words) {
    if (when.second != e.id()) continue;
    if (word.bytes != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  user.words[{e.time(), e.id()}] = {said.team(), std::string(bytes)};
  user.known = true;
  if (user.words.rbegin()->first.second == e.id()) user.deleted = said.deleted();
  ExpireWaiting(user, project.last_tick);
  for (const auto& [key, until] : std::exchange(user.waiting, {})) Post(key);
}

bool Oracle::State::AddApp(std::uint32_t project_id, const v1::App& said) {
  Project& project = projects[project_id];
  const auto known = project.apps.find(said.app());
  AppFacts app;
  if (!said.policy().empty()) {
    app.policy = said.policy();
    app.rules = OraclePolicy(said.policy(), said.constants());
  } else if (known != project.apps.end()) {
    app = known->second;
  } else {
    app.rules = OraclePolicy(app.policy, {});
  }
  const std::uint32_t asked = said.policy_version();
  const auto refuse = [this](const char* reason) {
    Refuse(reason);
    return false;
  };
  if (known == project.apps.end()) {
    app.policy_version = asked != 0 ? asked : 1;
  } else {
    const std::uint32_t last = known->second.policy_version;
    const bool same = known->second.rules == app.rules;
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
  app.window = said.result_window() > 0 ? said.result_window() : std::max(kMonth, 4 * said.delay_bound());
  project.policies[{said.app(), app.policy_version}] = app.rules;
  project.apps[said.app()] = app;
  LetTimePass(project);
  ExpireWorkunits(project_id);  // the window may be shorter
  return true;
}

bool Oracle::State::AddVersion(std::uint32_t project_id, const v1::AppVersion& said) {
  Project& project = projects[project_id];
  if (said.deleted()) {
    if (project.versions.erase(said.app_version()) != 0) return true;
    Refuse("UNKNOWN_APP_VERSION");
    return false;
  }
  if (project.apps.count(said.app()) == 0) {
    Refuse("UNKNOWN_APP");
    return false;
  }
  project.versions[said.app_version()] = said.app();
  return true;
}

void Oracle::State::AddBroadcast(const Envelope& e, std::string_view bytes) {
  std::string subject;
  if (e.has_app()) subject = std::to_string(e.app().app());
  if (e.has_app_version()) subject = std::to_string(e.app_version().app_version());
  if (e.has_plan_class_factor()) subject = e.plan_class_factor().plan_class();
  if (e.has_opening_app_version()) subject = std::to_string(e.opening_app_version().app_version());
  if (!IsNewBroadcast(e, subject, bytes)) return;
  bool taken = true;
  if (e.has_app()) {
    taken = AddApp(e.project(), e.app());
  } else if (e.has_app_version()) {
    taken = AddVersion(e.project(), e.app_version());
  } else if (e.has_settings() && e.settings().has_max_granted_credit()) {
    projects[e.project()].cap = e.settings().max_granted_credit();
  } else if (e.has_opening_app_version()) {
    // Averages are not the oracle's business.
    taken = projects[e.project()].versions.count(e.opening_app_version().app_version()) != 0;
    if (!taken) Refuse("UNKNOWN_APP_VERSION");
  } else if (e.has_validator_restart()) {
    taken = !projects[e.project()].apps.empty();
    if (!taken) Refuse("UNKNOWN_APP");
  }
  if (taken) told[SubjectKey(e, subject)].emplace(e.id(), bytes);
}

void Oracle::State::AddOpening(const Envelope& e, std::string_view bytes) {
  if (e.has_opening_host_version()) {
    const v1::OpeningHostVersion& said = e.opening_host_version();
    const std::uint64_t app = said.app_version() < 0 ? said.app() : 0;
    IsNewOpening(
        e, std::to_string(said.host()) + "/" + std::to_string(said.app_version()) + "/" + std::to_string(app),
        bytes);
    return;
  }
  const v1::OpeningTotal& said = e.opening_total();
  Project& project = projects[e.project()];
  const auto kind = said.kind() == v1::ACCOUNT_KIND_HOST   ? OracleAccountKind::kHost
                    : said.kind() == v1::ACCOUNT_KIND_USER ? OracleAccountKind::kUser
                                                           : OracleAccountKind::kTeam;
  const auto micro =
      said.has_total_micro() ? std::optional<std::int64_t>(said.total_micro()) : ToMicro(said.total());
  if (!micro) return Refuse("OUT_OF_RANGE");
  const std::string subject = std::to_string(said.kind()) + "/" + std::to_string(said.account());
  if (!IsNewOpening(e, subject, bytes)) return;
  if (kind == OracleAccountKind::kHost && !project.hosts[said.account()].known) {
    project.hosts[said.account()].opening = {*micro, std::max(e.time(), project.last_tick),
                                             SubjectKey(e, subject)};
    return;
  }
  outcome.accounts[{e.project(), kind, said.account()}].micro += *micro;
}

void Oracle::State::AddDispatch(const Envelope& e, std::string_view bytes) {
  const v1::Dispatch& said = e.dispatch();
  Project& project = projects[e.project()];
  if (project.apps.count(said.app()) == 0) return Refuse("UNKNOWN_APP");
  ResultFacts& result = project.results[{said.result(), said.host()}];
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  if (result.ended) return;
  if (!result.dispatch.empty()) {
    if (result.dispatch != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  const AppFacts& app = project.apps[said.app()];
  if ((said.sent_time() > 0 ? said.sent_time() : e.time()) < app.results_from) return Refuse("TOO_LATE");
  if (!result.pending) {
    result.since = e.time();
    result.app = said.app();
  }
  result.pending = true;
  result.dispatch = bytes;
}

void Oracle::State::AddCompletion(const Envelope& e, std::string_view bytes) {
  const v1::Completion& said = e.completion();
  Project& project = projects[e.project()];
  const auto app = project.apps.find(said.app());
  if (app == project.apps.end()) return Refuse("UNKNOWN_APP");
  if (said.outcome() != v1::OUTCOME_SUCCESS && said.result() == 0) {
    const auto known = project.failures.find({said.host(), e.id()});
    const double from = app->second.results_from;
    if (e.time() < from && (known == project.failures.end() || IsEarlierDay(e.time(), from)))
      return Refuse("TOO_LATE");
    const auto [it, is_new] = project.failures.emplace(std::pair{said.host(), e.id()}, bytes);
    if (!is_new && it->second != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  ResultFacts& result = project.results[{said.result(), said.host()}];
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  const std::string& before = result.ended ? result.ended_completion : result.completion;
  if (!before.empty()) {
    if (before != bytes) Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    return;
  }
  if (WindowBegin(said, e.time()) < app->second.results_from) return Refuse("TOO_LATE");
  if (!result.dispatch.empty()) {
    Envelope sent;
    sent.ParseFromString(result.dispatch);
    const v1::Dispatch& d = sent.dispatch();
    if (d.app_version() != said.app_version() || d.app() != said.app() ||
        d.peak_flops() != said.peak_flops()) {
      return Refuse("DISPATCH_DIFFERS");
    }
  }
  if (said.outcome() != v1::OUTCOME_SUCCESS) {
    if (!result.validation.empty()) {
      // The validator spoke of a result that came to nothing.
      Envelope validation;
      validation.ParseFromString(result.validation);
      CloseWithout(e.project(), validation);
      Refuse("UNKNOWN_RESULT");
    }
    result = {};
    result.ended = true;
    result.begin = WindowBegin(said, e.time());
    result.app = said.app();
    result.ended_completion = bytes;
    return;
  }
  if (!result.pending) {
    result.since = e.time();
    result.app = said.app();
  }
  result.pending = true;
  result.completion = bytes;
  Join(e.project(), said.result(), said.host());
}

void Oracle::State::AddValidation(const Envelope& e, std::string_view bytes) {
  const v1::Validation& said = e.validation();
  Project& project = projects[e.project()];
  const auto app = project.apps.find(said.app());
  if (app == project.apps.end()) return Refuse("UNKNOWN_APP");
  ResultFacts& result = project.results[{said.result(), said.host()}];
  const bool undecided = said.state() == v1::VALIDATE_STATE_INCONCLUSIVE;
  if (result.ended && IsEarlierDay(result.begin, project.apps[result.app].results_from)) result = {};
  if (result.ended) {
    if (result.ended_validation == bytes) return;
    if (result.ended_validation.empty()) {
      CloseWithout(e.project(), e);
      return Refuse("UNKNOWN_RESULT");
    }
    if (undecided) return;  // an older look
    return Refuse("ALREADY_DECIDED");
  }
  if (!result.validation.empty()) {
    if (result.validation == bytes) return;
    Envelope before;
    before.ParseFromString(result.validation);
    if (before.id() == e.id()) return Refuse("DUPLICATE_WITH_OTHER_CONTENTS");
    const bool decided = before.validation().state() != v1::VALIDATE_STATE_INCONCLUSIVE;
    if (decided && undecided) return;  // an older look
    if (decided) return Refuse("ALREADY_DECIDED");
    if (said.pass() < before.validation().pass()) return;
  }
  if (e.time() < app->second.results_from) return Refuse("TOO_LATE");
  if (!result.pending) {
    result.since = e.time();
    result.app = said.app();
  }
  result.pending = true;
  result.validation = bytes;
  Join(e.project(), said.result(), said.host());
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
    result = {};
    return;
  }
  const AppFacts& app = project.apps[completion.app()];
  // Whether it was granted before might be forgotten.
  if (WindowBegin(completion, done.time()) < app.workunits_from) {
    CloseWithout(project_id, checked);
    Refuse("TOO_LATE");
    Refuse("TOO_LATE");
    result = {};
    return;
  }
  const bool valid = validation.state() == v1::VALIDATE_STATE_VALID;
  if (valid || app.rules.counts_invalid()) {
    OracleClaim claim;
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
    TakeClaim(project_id, claim);
  }
  result.ended_completion = std::exchange(result.completion, {});
  result.ended_validation = std::exchange(result.validation, {});
  result.dispatch.clear();
  result.pending = false;
  result.ended = true;
  result.begin = WindowBegin(completion, done.time());
  result.app = completion.app();
}

// A validation whose result can make no claim: its workunit need not wait for one.
void Oracle::State::CloseWithout(std::uint32_t project_id, const Envelope& e) {
  const v1::Validation& validation = e.validation();
  if (validation.late() || validation.claims() == 0) return;
  OracleClaim claim;
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
  // A project without a catalogue has nothing that time could change.
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
    const ResultFacts over = std::exchange(result, {});
    const char* reason = over.waits_for_host ? "UNKNOWN_HOST" : "UNKNOWN_RESULT";
    if (!over.completion.empty()) Refuse(reason);
    if (over.validation.empty()) continue;
    Refuse(reason);
    Envelope e;
    e.ParseFromString(over.validation);
    if (e.validation().state() != v1::VALIDATE_STATE_INCONCLUSIVE) CloseWithout(project_id, e);
  }
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
      for (const OracleClaim& claim : workunit.claims) last = std::max(last, claim.pass);
      Settle(project_id, id, last);
      continue;
    }
    for (std::size_t i = 0; i < workunit.late.size(); ++i) Refuse("UNKNOWN_RESULT");
    workunit = {};
  }
}

// ---- Workunits -----------------------------------------------------------------------------------------

void Oracle::State::TakeClaim(std::uint32_t project_id, const OracleClaim& claim) {
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
  // A result counts once in a look's set, and its claim counts for more than word that there will be none.
  OracleClaim* same = nullptr;
  for (OracleClaim& other : workunit.claims) {
    if (other.result != claim.result) continue;
    if (!claim.expired && !other.expired) return Refuse("ALREADY_DECIDED");  // one result, two hosts
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
                                   [&](const OracleClaim& other) { return other.pass == claim.pass; });
  if (there >= static_cast<std::ptrdiff_t>(claim.awaited)) Settle(project_id, claim.workunit, claim.pass);
}

void Oracle::State::Settle(std::uint32_t project_id, std::uint64_t workunit_id, std::uint32_t pass) {
  Project& project = projects[project_id];
  WorkunitFacts& workunit = project.workunits[workunit_id];
  std::vector<OracleClaim> claims;
  std::uint32_t version = 0;
  std::uint64_t app = 0;
  bool any_valid = false;
  double begin = 0;
  double time = 0;
  for (const OracleClaim& claim : workunit.claims) {
    if (claim.pass != pass) continue;
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
    // Such a look decides nothing.
    std::erase_if(workunit.claims, [pass](const OracleClaim& claim) { return claim.pass == pass; });
    workunit.open = !workunit.claims.empty() || !workunit.late.empty();
    return;
  }
  std::sort(claims.begin(), claims.end(),
            [](const OracleClaim& a, const OracleClaim& b) { return a.result < b.result; });
  const OraclePolicy& rules = project.policies[{app, version}];
  workunit.open = false;
  workunit.decided = true;
  workunit.time = time;
  workunit.begin = begin;
  workunit.app = app;
  workunit.priced = rules.priced();
  workunit.credit = rules.priced() ? rules.Settle(claims, project.cap) : 0;
  const auto micro = ToMicro(workunit.credit);
  workunit.micro = micro.value_or(0);
  const std::vector<OracleClaim> late = std::exchange(workunit.late, {});
  for (const OracleClaim& claim : claims) {
    if (micro) {
      GrantTo(project_id, claim, workunit, false);
    } else {
      Refuse("NOT_FINITE");
    }
  }
  for (const OracleClaim& claim : late) GrantTo(project_id, claim, workunit, true);
}

void Oracle::State::GrantTo(std::uint32_t project_id, const OracleClaim& claim, const WorkunitFacts& workunit,
                            bool late) {
  if (!claim.valid || claim.host_deleted) return;
  const ResultKey key{project_id, claim.result};
  GrantOutcome grant;
  grant.workunit = claim.workunit;
  grant.host = claim.host;
  grant.user = claim.user;
  grant.app = claim.app;
  grant.micro = workunit.micro;
  grant.priced = workunit.priced;
  grant.late = late;
  if (!outcome.grants.emplace(key, grant).second) {
    Refuse("ALREADY_DECIDED");  // a valid result is granted once
    return;
  }
  const Project& project = projects[project_id];
  const bool team_at_grant = project.policies.at({claim.app, claim.policy_version}).team_at_grant();
  reported[key] = {claim.received, team_at_grant};
  UserFacts* user = claim.user == 0 ? nullptr : &projects[project_id].users[claim.user];
  if (user != nullptr && !user->known) {
    user->waiting.emplace_back(key, (late ? claim.time : workunit.time) + project.apps.at(claim.app).window);
    return;
  }
  Post(key);
}

// In the order in which they came: one that waits on holds up those behind it. The host gets its share.
void Oracle::State::ExpireWaiting(UserFacts& user, double now) {
  while (!user.waiting.empty() && IsEarlierDay(user.waiting.front().second, now)) {
    const ResultKey key = user.waiting.front().first;
    GrantOutcome& grant = outcome.grants[key];
    grant.to_host = grant.host;
    AddTo({key.project, OracleAccountKind::kHost, grant.to_host}, grant);
    Refuse("UNKNOWN_USER");
    user.waiting.erase(user.waiting.begin());
  }
}

void Oracle::State::Post(const ResultKey& key) {
  GrantOutcome& grant = outcome.grants[key];
  grant.to_host = grant.host;
  if (grant.user != 0) {
    const UserFacts& user = projects[key.project].users[grant.user];
    if (!user.deleted) {
      grant.to_user = grant.user;
      const auto [received, at_grant] = reported[key];
      grant.to_team = user.words.rbegin()->second.team;
      if (!at_grant) {
        grant.to_team = user.words.begin()->second.team;
        for (const auto& [when, word] : user.words) {
          if (when.first <= received) grant.to_team = word.team;
        }
      }
    }
  }
  AddTo({key.project, OracleAccountKind::kHost, grant.to_host}, grant);
  AddTo({key.project, OracleAccountKind::kUser, grant.to_user}, grant);
  AddTo({key.project, OracleAccountKind::kTeam, grant.to_team}, grant);
}

void Oracle::State::AddTo(const AccountKey& key, const GrantOutcome& grant) {
  if (key.account == 0) return;
  AccountOutcome& account = outcome.accounts[key];
  account.micro += grant.micro;
  account.grants += 1;
  account.apps[grant.app].first += grant.micro;
  account.apps[grant.app].second += 1;
}

// ---- What a pipeline did -------------------------------------------------------------------------------

bool AddLedgerRecord(std::string_view bytes, Outcome* outcome) {
  v1::Grant grant;
  if (!grant.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  if (grant.kind() != v1::GRANT_KIND_FINAL) return true;
  const ResultKey key{grant.project(), grant.result()};
  GrantOutcome told;
  told.workunit = grant.claim().workunit();
  told.host = grant.host();
  told.user = grant.user();
  told.app = grant.app();
  told.micro = grant.credit_micro();
  if (!outcome->grants.emplace(key, told).second) outcome->granted_twice.push_back(key);
  return true;
}

std::string DescribeLedgerRecord(std::string_view bytes) {
  v1::Grant grant;
  if (!grant.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return "no grant";
  return grant.ShortDebugString();
}

bool AddRefusedRecord(std::string_view bytes, Outcome* outcome) {
  v1::Refused refused;
  if (!refused.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  ++outcome->refusals[v1::RefusalReason_Name(refused.reason())];
  return true;
}

// ---- Comparing -----------------------------------------------------------------------------------------

namespace {

class Report {
 public:
  explicit Report(std::size_t limit) : limit_(limit) {}

  void Say(const std::string& line) {
    if (count_++ < limit_) text_ += line + "\n";
  }
  [[nodiscard]] std::string Text() const {
    if (count_ <= limit_) return text_;
    return text_ + "and " + std::to_string(count_ - limit_) + " more\n";
  }

 private:
  std::size_t limit_;
  std::size_t count_ = 0;
  std::string text_;
};

std::string Big(BigMicro v) {
  if (v == 0) return "0";
  std::string digits;
  const bool negative = v < 0;
  for (; v != 0; v /= 10) digits.push_back(static_cast<char>('0' + std::abs(static_cast<int>(v % 10))));
  if (negative) digits.push_back('-');
  return {digits.rbegin(), digits.rend()};
}

std::string Name(const ResultKey& key) {
  return "project " + std::to_string(key.project) + " result " + std::to_string(key.result);
}

std::string Name(const AccountKey& key) {
  static constexpr const char* kKinds[] = {"host", "user", "team"};
  return "project " + std::to_string(key.project) + " " + kKinds[static_cast<int>(key.kind)] + " " +
         std::to_string(key.account);
}

std::string Describe(const GrantOutcome& g) {
  return std::to_string(g.micro) + " micro-credits, workunit " + std::to_string(g.workunit) + ", host " +
         std::to_string(g.host) + ", user " + std::to_string(g.user) + ", app " + std::to_string(g.app);
}

std::string Describe(const AccountOutcome& a) {
  std::string text = Big(a.micro) + " micro-credits in " + std::to_string(a.grants) + " grants (";
  for (const auto& [app, sum] : a.apps) {
    text += " app " + std::to_string(app) + ": " + Big(sum.first) + " in " + std::to_string(sum.second);
  }
  return text + " )";
}

// Amounts that the oracle left open are the ledger's; accounts follow.
Outcome WithAmountsOf(const Outcome& actual, Outcome expected) {
  for (auto& [key, grant] : expected.grants) {
    const auto told = actual.grants.find(key);
    if (grant.priced || told == actual.grants.end()) continue;
    grant.micro = told->second.micro;
    for (const AccountKey& account : {AccountKey{key.project, OracleAccountKind::kHost, grant.to_host},
                                      AccountKey{key.project, OracleAccountKind::kUser, grant.to_user},
                                      AccountKey{key.project, OracleAccountKind::kTeam, grant.to_team}}) {
      if (account.account == 0) continue;
      expected.accounts[account].micro += grant.micro;
      expected.accounts[account].apps[grant.app].first += grant.micro;
    }
  }
  return expected;
}

template <class Map, class Same>
void Compare(const char* what, const Map& expected, const Map& actual, Report* report, Same same) {
  for (const auto& [key, value] : expected) {
    const auto it = actual.find(key);
    if (it == actual.end()) {
      report->Say(std::string(what) + " missing: " + Name(key) + ": " + Describe(value));
    } else if (!same(value, it->second)) {
      report->Say(std::string(what) + " differs: " + Name(key) + "\n  expected " + Describe(value) +
                  "\n  actual   " + Describe(it->second));
    }
  }
  for (const auto& [key, value] : actual) {
    if (expected.count(key) == 0) {
      report->Say(std::string(what) + " that should not be: " + Name(key) + ": " + Describe(value));
    }
  }
}

void CompareGrants(const Outcome& told, const Outcome& actual, Report* report) {
  const Outcome expected = WithAmountsOf(actual, told);
  for (const ResultKey& key : actual.granted_twice) report->Say("granted twice: " + Name(key));
  Compare("grant", expected.grants, actual.grants, report, [](const GrantOutcome& a, const GrantOutcome& b) {
    return std::tie(a.workunit, a.host, a.user, a.app, a.micro) ==
           std::tie(b.workunit, b.host, b.user, b.app, b.micro);
  });
  Compare("account", expected.accounts, actual.accounts, report,
          [](const AccountOutcome& a, const AccountOutcome& b) { return a == b; });
}

}  // namespace

std::string GrantDifferences(const Outcome& expected, const Outcome& actual, std::size_t limit) {
  Report report(limit);
  CompareGrants(expected, actual, &report);
  return report.Text();
}

std::string Differences(const Outcome& expected, const Outcome& actual, std::size_t limit) {
  Report report(limit);
  CompareGrants(expected, actual, &report);
  std::set<std::string> reasons;
  for (const auto& [reason, count] : expected.refusals) reasons.insert(reason);
  for (const auto& [reason, count] : actual.refusals) reasons.insert(reason);
  for (const std::string& reason : reasons) {
    const auto count = [&reason](const Outcome& o) {
      const auto it = o.refusals.find(reason);
      return it == o.refusals.end() ? 0 : it->second;
    };
    if (count(expected) == count(actual)) continue;
    report.Say("refused as " + reason + ": expected " + std::to_string(count(expected)) + ", actual " +
               std::to_string(count(actual)));
  }
  return report.Text();
}

}  // namespace cobblestone::testing

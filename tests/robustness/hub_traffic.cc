#include "tests/robustness/hub_traffic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "common/federation/identity/identities.h"
#include "common/federation/identity/ownership_proof.h"
#include "common/wire/control/identity_fact.h"
#include "common/wire/events/event_codec.h"
#include "services/identity/identity_rows.h"
#include "tests/support/signing_project.h"

namespace cobblestone::testing {

using wire::AccountKind;
using wire::EditionState;
using wire::FeedAccount;

namespace {

constexpr double kStart = 1.7e9;
constexpr double kDay = 86400;
constexpr double kKept = 5 * kDay;
constexpr std::uint32_t kProjects = 4;

std::string UrlOf(std::uint32_t project) { return "https://p" + std::to_string(project) + ".example/"; }

// Projects 1 and 2 sign. A key per process: the traffic is made once in a test.
const SigningProject& Signer(std::uint32_t project) {
  static const std::array<SigningProject, 2> signers;
  return signers[(project - 1) % 2];
}

// ---- Traffic ------------------------------------------------------------------------------------------------

struct LiveAccount {
  AccountKind kind = AccountKind::kUser;
  std::uint64_t id = 0;
  bool shown = false;
  bool sent = false;  // the collector's index has it
  double created = 0;
  std::int64_t micro = 0;
  char cpid = 0;
};

class HubGenerator {
 public:
  explicit HubGenerator(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t project = 1; project <= kProjects; ++project) {
      for (std::uint64_t id = 1; id <= 14; ++id) Add(project, AccountKind::kUser, id);
      for (std::uint64_t id = 1; id <= 6; ++id) Add(project, AccountKind::kHost, id);
      for (std::uint64_t id = 1; id <= 2; ++id) Add(project, AccountKind::kTeam, id);
    }
  }

  std::vector<Event> Days(int days) {
    for (std::uint32_t project = 1; project <= kProjects; ++project)
      Emit(project, kStart,
           wire::FeedProject{.name = "project " + std::to_string(project),
                             .url = UrlOf(project),
                             .mode = wire::FeedMode::kFiles,
                             .ownership_key = project <= 2 ? Signer(project).PublicKey() : "",
                             .erase_after = kKept});
    for (int day = 0; day < days; ++day) {
      now_ = kStart + day * kDay;
      for (std::uint32_t project = 1; project <= kProjects; ++project)
        if (Chance(90)) Edition(project);
      if (Chance(30)) Decide();
      if (Chance(50)) Prove();
      Emit(0, now_ + kDay / 2, wire::Tick{.time = now_ + kDay / 2});
    }
    return std::move(events_);
  }

 private:
  bool Chance(unsigned percent) { return random_() % 100 < percent; }
  std::uint64_t UpTo(std::uint64_t n) { return 1 + random_() % n; }

  void Add(std::uint32_t project, AccountKind kind, std::uint64_t id) {
    accounts_[project].push_back({.kind = kind,
                                  .id = id,
                                  .shown = Chance(80),
                                  .created = 1.2e9 + static_cast<double>(id),
                                  .micro = static_cast<std::int64_t>(UpTo(1000)) * 1'000'000,
                                  .cpid = static_cast<char>('a' + (id + project / 3) % 6)});
  }

  void Emit(std::uint32_t project, double time, wire::EventBody body) {
    const std::string envelope = wire::EncodeEvent(
        {.head = {.id = ++id_, .project = ProjectId(project), .time = time}, .body = std::move(body)});
    const auto routing = wire::PeekRouting(envelope);
    events_.push_back({envelope, routing && routing->key == wire::KeyKind::kBroadcast});
  }

  void Edition(std::uint32_t project) {
    const bool whole = editions_[project] == 0 || Chance(8);
    const std::uint64_t edition = ++editions_[project];
    const auto announce = [&](EditionState state) {
      Emit(project, now_, wire::FeedEdition{.edition = edition, .state = state, .whole = whole});
    };
    announce(EditionState::kBegun);
    for (LiveAccount& account : accounts_[project]) {
      const bool changed = Change(account);
      if (account.shown && (changed || whole || !account.sent)) SendAccount(project, edition, account);
      if (!account.shown && account.sent && !whole)
        Emit(project, now_,
             FeedAccount{.kind = account.kind, .account = account.id, .edition = edition, .gone = true});
      account.sent = account.shown;
    }
    // The collector may wait here for a long time.
    if (Chance(10)) Emit(0, now_ + 60, wire::Tick{.time = now_ + 60});
    announce(EditionState::kComplete);
    if (!Chance(15)) return;
    LiveAccount& deleted = accounts_[project][random_() % accounts_[project].size()];
    Emit(project, now_ + 1,
         FeedAccount{.kind = deleted.kind, .account = deleted.id, .gone = true, .erased = true});
    deleted.shown = false;
  }

  void SendAccount(std::uint32_t project, std::uint64_t edition, const LiveAccount& account) {
    const bool user = account.kind == AccountKind::kUser;
    Emit(project, now_,
         FeedAccount{.kind = account.kind,
                     .account = account.id,
                     .edition = edition,
                     .total_micro = account.micro,
                     .create_time = account.created,
                     .name = "name " + std::to_string(account.id),
                     .cross_project_id = user ? std::string(32, account.cpid) : std::string()});
  }

  // What happened to the account since the last edition.
  bool Change(LiveAccount& account) {
    if (account.shown && Chance(4)) {
      account.shown = false;
      return true;
    }
    if (!account.shown && Chance(12)) {
      account.shown = true;
      if (Chance(30)) account.created = now_ - kDay;  // another person with the number
      return true;
    }
    if (Chance(40)) return false;
    account.micro += static_cast<std::int64_t>(random_() % 900'000'000) - 100'000'000;
    account.micro = std::max<std::int64_t>(account.micro, 0);
    if (account.kind == AccountKind::kUser && Chance(10))
      account.cpid = static_cast<char>('a' + (account.cpid - 'a' + 1) % 6);
    return true;
  }

  void Decide() {
    const auto kind = static_cast<wire::IdentityDecisionKind>(UpTo(3));
    const std::uint64_t user = UpTo(14);
    wire::IdentityDecision decision{.kind = kind,
                                    .user = user,
                                    .create_time = 1.2e9 + static_cast<double>(user),
                                    .withdrawn = Chance(40),
                                    .reason = "asked for"};
    if (kind == wire::IdentityDecisionKind::kCut)
      decision.cross_project_id = std::string(32, static_cast<char>('a' + random_() % 6));
    if (kind == wire::IdentityDecisionKind::kJoin) {
      decision.other_project = 4;
      decision.other_user = UpTo(14);
      decision.other_create_time = 1.2e9 + static_cast<double>(decision.other_user);
    }
    Emit(static_cast<std::uint32_t>(UpTo(3)), now_, decision);
  }

  void ProveOne(std::uint32_t project, const std::string& message) {
    const bool forged = Chance(15);
    Emit(project, now_ + 2,
         wire::OwnershipProof{.master_url = UrlOf(project),
                              .message = message,
                              .signature = Signer(forged ? project + 1 : project).Sign(message)});
  }

  void Prove() {
    const std::uint64_t one = UpTo(14);
    const std::uint64_t two = UpTo(14);
    if (Chance(60)) {
      ProveOne(1, std::to_string(one) + " cobblestone joins " + UrlOf(2) + " " + std::to_string(two));
      ProveOne(2, std::to_string(two) + " cobblestone joins " + UrlOf(1) + " " + std::to_string(one));
      return;
    }
    // 2023-11-14 is the day of kStart.
    ProveOne(1, std::to_string(one) + " cobblestone " + (Chance(50) ? "leaves" : "returns") + " 2023-11-1" +
                    std::to_string(random_() % 5));
  }

  std::mt19937_64 random_;
  std::map<std::uint32_t, std::vector<LiveAccount>> accounts_;
  std::map<std::uint32_t, std::uint64_t> editions_;
  std::vector<Event> events_;
  std::uint64_t id_ = 0;
  double now_ = kStart;
};

// ---- Oracle -------------------------------------------------------------------------------------------------

wire::IdentityFact WireOf(const federation::Sighting& fact) {
  return {.kind = wire::IdentityFactKind::kSighting,
          .project = ProjectId(fact.account.project),
          .user = fact.account.user,
          .create_time = fact.account.create_time,
          .cpid_high = fact.cpid.high,
          .cpid_low = fact.cpid.low,
          .day = fact.day};
}
wire::IdentityFact WireOf(const federation::Ownership& fact) {
  return {.kind = wire::IdentityFactKind::kOwnership,
          .project = ProjectId(fact.project),
          .user = fact.user,
          .day = fact.day,
          .other_project = ProjectId(fact.other_project),
          .other_user = fact.other_user};
}
wire::IdentityFact WireOf(const federation::Departure& fact) {
  return {.kind = wire::IdentityFactKind::kDeparture,
          .project = ProjectId(fact.project),
          .user = fact.user,
          .day = fact.day,
          .withdrawn = fact.returns};
}
wire::IdentityFact WireOf(const federation::Decision& fact) {
  return {.kind = wire::IdentityFactKind::kDecision,
          .project = ProjectId(fact.account.project),
          .user = fact.account.user,
          .create_time = fact.account.create_time,
          .cpid_high = fact.cpid.high,
          .cpid_low = fact.cpid.low,
          .day = fact.day,
          .decision = static_cast<wire::IdentityDecisionKind>(fact.kind),
          .other_project = ProjectId(fact.other.project),
          .other_user = fact.other.user,
          .other_create_time = fact.other.create_time,
          .number = fact.number,
          .withdrawn = fact.withdrawn};
}
wire::IdentityFact WireOf(const federation::Deletion& fact) {
  return {.kind = wire::IdentityFactKind::kDeletion,
          .project = ProjectId(fact.project),
          .user = fact.user,
          .day = fact.day};
}

using Fact = std::variant<federation::Sighting, federation::Ownership, federation::Departure,
                          federation::Decision, federation::Deletion>;

struct OracleAccount {
  std::uint64_t edition = 0;  // of the newest state
  bool gone = false;
  std::int64_t total = 0;
  std::int64_t opening = 0;
  std::int64_t counted = 0;
  std::string name;
  std::string cpid;
  double person = 0;  // created, when the account was last shown
  double created = 0;
  std::map<std::int64_t, std::int64_t> days;
  std::optional<std::pair<double, std::uint64_t>> absent;  // since, first edition without it
};

struct OracleProject {
  wire::FeedProject facts;
  std::uint64_t complete = 0;
  std::uint64_t whole = 0;
  double whole_time = 0;
  bool whole_is_new = false;  // the hub has not looked yet who is not in it
  bool begun = false;
};

class HubOracleRun {
 public:
  HubOutcome Run(const std::vector<Event>& events) {
    for (const Event& one : events) {
      const auto event = wire::ParseEvent(one.envelope);
      if (!event.ok()) throw std::runtime_error(event.status().message());
      head_ = event->head;
      std::visit([this](const auto& body) { On(body); }, event->body);
    }
    for (const auto& [key, account] : accounts_) {
      const auto& [project, kind, id] = key;
      outcome_.accounts[std::to_string(project) + "/" + KindText(kind) + "/" + std::to_string(id)] =
          AccountText(account.gone, account.total, account.opening, account.counted, account.name,
                      account.days);
    }
    AddIdentities();
    return std::move(outcome_);
  }

 private:
  template <class Body>
  void On(const Body&) {}

  [[nodiscard]] federation::Day Today() const { return static_cast<federation::Day>(head_.time / kDay); }

  void On(const wire::FeedProject& facts) { projects_[head_.project.value].facts = facts; }
  void On(const wire::FeedEdition& edition) {
    OracleProject& project = projects_[head_.project.value];
    if (edition.state == EditionState::kBegun && !project.begun) {
      project.begun = true;
      since_[head_.project.value] = Today();
    }
    if (edition.state != EditionState::kComplete) return;
    project.complete = edition.edition;
    if (!edition.whole) return;
    project.whole = edition.edition;
    project.whole_time = head_.time;
    project.whole_is_new = true;
  }

  // Whoever was shown before and is not in the whole edition has left with it.
  void FindMissing(std::uint32_t number, OracleProject& project) {
    if (!std::exchange(project.whole_is_new, false)) return;
    for (auto& [key, account] : accounts_)
      if (std::get<0>(key) == number && account.edition < project.whole && !account.gone &&
          !(account.absent && account.absent->second > account.edition)) {
        account.absent = {project.whole_time, project.whole};
        ++outcome_.counts["missing"];
      }
  }

  void On(const FeedAccount& event) {
    const auto key = std::tuple(head_.project.value, event.kind, event.account);
    if (event.erased) {
      ++outcome_.counts["deleted"];
      return Erase(key, head_.time);
    }
    auto at = accounts_.find(key);
    if (at == accounts_.end()) {
      if (event.gone) return;
      const auto buried = buried_.find(key);
      if (buried != buried_.end() && head_.time <= buried->second) return;
      at = accounts_.emplace(key, OracleAccount{}).first;
      at->second.opening = at->second.counted = event.total_micro;
    }
    OracleAccount& account = at->second;
    See(event, account);
    if (event.kind == AccountKind::kUser && !event.gone) {
      const double person = std::exchange(account.person, event.create_time);
      if (person != 0 && person != event.create_time) {  // the number is another person's
        ++outcome_.counts["reused"];
        account.days.clear();
        account.opening = account.counted = event.total_micro;
      }
    }
    if (event.gone) {
      account.absent = {head_.time, event.edition};
    } else if (event.total_micro != account.counted) {
      if (event.total_micro < account.counted) ++outcome_.counts["fell"];
      account.days[Today()] += event.total_micro - account.counted;
      account.counted = event.total_micro;
    }
    if (account.gone && !event.gone) ++outcome_.counts["returned"];
    account.edition = event.edition;
    account.gone = event.gone;
    account.total = event.total_micro;
    account.name = event.name;
    account.cpid = event.cross_project_id;
    account.created = event.create_time;
  }

  void See(const FeedAccount& event, const OracleAccount& before) {
    const auto cpid = federation::ParseCpid(event.cross_project_id);
    if (event.kind != AccountKind::kUser || !cpid) return;
    if (before.cpid == event.cross_project_id && before.created == event.create_time) return;
    facts_.emplace_back(
        federation::Sighting{.account = {.project = head_.project.value,
                                         .user = event.account,
                                         .create_time = static_cast<std::uint64_t>(event.create_time)},
                             .cpid = *cpid,
                             .day = Today()});
  }

  void Erase(const std::tuple<std::uint32_t, AccountKind, std::uint64_t>& key, double until) {
    accounts_.erase(key);
    if (std::get<1>(key) != AccountKind::kUser) return;
    buried_[key] = std::max(buried_[key], until);
    facts_.emplace_back(federation::Deletion{.project = std::get<0>(key),
                                             .user = std::get<2>(key),
                                             .day = static_cast<federation::Day>(until / kDay)});
  }

  void On(const wire::Tick& tick) {
    const auto day = static_cast<std::int64_t>(tick.time / kDay);
    if (day <= ticked_) return;  // the hub looks once a day
    ticked_ = day;
    for (auto& [number, project] : projects_) FindMissing(number, project);
    std::vector<std::tuple<std::uint32_t, AccountKind, std::uint64_t>> due;
    for (const auto& [key, account] : accounts_) {
      const OracleProject& project = projects_.at(std::get<0>(key));
      const bool absent =
          account.edition <= project.complete && (account.gone || account.edition < project.whole);
      if (absent && account.absent && account.absent->first + kKept < tick.time) due.push_back(key);
    }
    for (const auto& key : due) Erase(key, accounts_.at(key).absent->first);
    outcome_.counts["erased"] += static_cast<int>(due.size());
  }

  void On(const wire::IdentityDecision& decision) {
    const federation::AccountKey account{.project = head_.project.value,
                                         .user = decision.user,
                                         .create_time = static_cast<std::uint64_t>(decision.create_time)};
    federation::Decision fact{.kind = static_cast<federation::DecisionKind>(decision.kind),
                              .account = account,
                              .day = Today(),
                              .number = head_.id,
                              .withdrawn = decision.withdrawn};
    if (decision.kind == wire::IdentityDecisionKind::kCut)
      fact.cpid = *federation::ParseCpid(decision.cross_project_id);
    if (decision.kind == wire::IdentityDecisionKind::kJoin)
      fact.other = {.project = decision.other_project,
                    .user = decision.other_user,
                    .create_time = static_cast<std::uint64_t>(decision.other_create_time)};
    facts_.emplace_back(fact);
  }

  // The traffic has statements that a hub understands; only the signature may be wrong.
  void On(const wire::OwnershipProof& proof) {
    const std::string& key = projects_.at(head_.project.value).facts.ownership_key;
    if (!federation::VerifyOwnershipProof(
             {.master_url = proof.master_url, .message = proof.message, .signature = proof.signature}, key)
             .ok()) {
      ++outcome_.refused;
      ++outcome_.counts["forged"];
      return;
    }
    const auto said = federation::ParseStatement(proof.message);
    if (!said.ok()) throw std::runtime_error(said.status().message());
    const std::uint32_t project = head_.project.value;
    ++outcome_.counts["proven"];
    if (said->kind == federation::StatementKind::kJoins) {
      facts_.emplace_back(federation::Ownership{.project = project,
                                                .user = said->user,
                                                .other_project = 3 - project,
                                                .other_user = said->other_user,
                                                .day = Today()});
    } else {
      facts_.emplace_back(
          federation::Departure{.project = project,
                                .user = said->user,
                                .day = said->day,
                                .returns = said->kind == federation::StatementKind::kReturns});
    }
  }

  template <class Row>
  void AddRows(const stream::TableSpec<Row>& spec, const federation::MemoryTable<Row>& table) {
    for (const auto& [key, row] : table.rows())
      stream::EncodeRow(spec, row, outcome_.identities[RowName(spec.id, key.project, key.id, key.sub)]);
  }

  void AddWire(const wire::IdentityFact& fact) {
    wire::EncodeIdentityFact(fact, &outcome_.facts.emplace_back());
  }

  // The rows are a function of the set of facts.
  void AddIdentities() {
    federation::MemoryTable<federation::UserRow> users;
    federation::MemoryTable<federation::CpidRow> cpids;
    federation::MemoryTable<federation::IdentityRow> identities;
    federation::MemoryTable<federation::ProjectRow> projects;
    federation::MemoryTable<federation::SwingerRow> swingers;
    federation::MemoryTable<federation::DeletionRow> deletions;
    const federation::IdentityTables tables{users, cpids, identities, projects, swingers, deletions};
    federation::Identities all(tables);
    for (const auto& [project, day] : since_)
      if (!all.AddProject(project, day).ok()) throw std::runtime_error("AddProject");
    for (const Fact& fact : facts_) std::visit([&](const auto& one) { AddWire(WireOf(one)); }, fact);
    for (const auto& [project, day] : since_)
      AddWire({.kind = wire::IdentityFactKind::kProject, .project = ProjectId(project), .day = day});
    std::sort(outcome_.facts.begin(), outcome_.facts.end());
    std::shuffle(facts_.begin(), facts_.end(), std::mt19937_64(7));
    for (const Fact& fact : facts_)
      std::visit(
          [&](const auto& one) {
            if (auto added = all.Add(one); !added.ok()) throw std::runtime_error(added.status().message());
          },
          fact);
    AddRows(identity::kUsersTable, users);
    AddRows(identity::kCpidsTable, cpids);
    AddRows(identity::kIdentitiesTable, identities);
    AddRows(identity::kProjectsTable, projects);
    AddRows(identity::kSwingersTable, swingers);
    AddRows(identity::kDeletionsTable, deletions);
  }

  wire::EventHead head_;
  std::map<std::uint32_t, OracleProject> projects_;
  std::map<std::uint32_t, federation::Day> since_;
  std::map<std::tuple<std::uint32_t, AccountKind, std::uint64_t>, OracleAccount> accounts_;
  std::map<std::tuple<std::uint32_t, AccountKind, std::uint64_t>, double> buried_;
  std::vector<Fact> facts_;
  std::int64_t ticked_ = -1;
  HubOutcome outcome_;
};

}  // namespace

std::string KindText(AccountKind kind) {
  return kind == AccountKind::kHost ? "host" : kind == AccountKind::kUser ? "user" : "team";
}

std::string AccountText(bool gone, std::int64_t total, std::int64_t opening, std::int64_t counted,
                        const std::string& name, const std::map<std::int64_t, std::int64_t>& days) {
  std::string text = std::string(gone ? "gone" : "here") + " total " + std::to_string(total) + " opening " +
                     std::to_string(opening) + " counted " + std::to_string(counted) + " " + name + ":";
  for (const auto& [day, micro] : days)
    if (micro != 0) text += " " + std::to_string(day) + "=" + std::to_string(micro);
  return text;
}

std::string RowName(std::uint8_t table, std::uint32_t project, std::uint64_t id, std::uint64_t sub) {
  return std::to_string(table) + " " + std::to_string(project) + "." + std::to_string(id) + "." +
         std::to_string(sub);
}

std::vector<Event> HubTraffic(std::uint64_t seed, int days) { return HubGenerator(seed).Days(days); }

HubOutcome HubOracle(const std::vector<Event>& events) { return HubOracleRun().Run(events); }

}  // namespace cobblestone::testing

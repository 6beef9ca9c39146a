#include "services/adoption/adoption.h"

#include <utility>
#include <vector>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/adoption/adopted_events.h"
#include "services/adoption/statistics_rows.h"

namespace cobblestone::adoption {

using events::EventFormat;
using events::EventItem;
using events::EventStream;

namespace {

using exports::EntitiesFile;
using wire::AccountKind;

// Each part of an account is an event of its own, with its own id.
enum Part : std::uint64_t { kBadges = 1, kCredit = 2, kConsent = 3, kTombstone = 4 };

class EventWriter {
 public:
  EventWriter(EntitiesFile& entities, const Options& options, const TakeEvent& take)
      : entities_(entities), options_(options), take_(take) {}

  Status Write() {
    Status status = Put(kEventId, ProfileOf(entities_.catalogue()), [this] { return entities_.path(); });
    if (status.ok()) status = Users();
    if (status.ok()) status = Teams();
    if (status.ok()) status = Hosts();
    if (status.ok() && !options_.statistics.empty()) status = StatisticsRows();
    return status;
  }

 private:
  using Place = std::function<std::string()>;

  Status Put(std::uint64_t id, wire::EventBody body, const Place& place) {
    event_ = {.head = {.id = id, .project = options_.project, .time = options_.time},
              .body = std::move(body)};
    return take_(event_, place);
  }
  Status PutFacts(Part part, wire::AccountFacts facts, const char* table) {
    if (facts.account == 0)
      return Status::InvalidArgument(entities_.path() + ", '" + table +
                                     "': number 0 is not a valid account number");
    const std::string account = std::to_string(static_cast<std::int64_t>(facts.account));
    return Put(kEventId + part, std::move(facts),
               [&] { return entities_.path() + ", '" + table + "', row of account " + account; });
  }
  Status CheckNumber(std::int64_t id, const Place& place) {
    if (id > 0) return Status::Ok();
    return Status::InvalidArgument(place() + ": " + std::to_string(id) +
                                   " is not a valid number: numbers start at 1");
  }

  template <class Row>
  Status Account(const Row& row, wire::EventBody member, const Place& place) {
    if (Status s = CheckNumber(row.id, place); !s.ok()) return s;
    if (Status s = Put(kEventId, std::move(member), place); !s.ok()) return s;
    return Put(kEventId, OpeningOf(row), place);
  }

  Status Users() {
    Status status = entities_.Users([&](const exports::User& user) {
      return Account(user, MemberOf(user), [&] {
        return entities_.path() + ", line " + std::to_string(entities_.LineOfUser(user.id));
      });
    });
    if (status.ok())
      status = Badges(AccountKind::kUser, "badge_user",
                      [&](const auto& take) { return entities_.UserBadges(take); });
    if (status.ok())
      status = Credit(AccountKind::kUser, "credit_user",
                      [&](const auto& take) { return entities_.UserCredit(take); });
    if (status.ok())
      status = entities_.Consents([&](const exports::ConsentGiven& given) {
        return PutFacts(kConsent,
                        {.kind = AccountKind::kUser,
                         .account = AccountNumber(given.user),
                         .badges = {},
                         .credit = {},
                         .consent = given.copies,
                         .tombstone = {}},
                        "consents");
      });
    if (!status.ok()) return status;
    return entities_.UsersDeleted([&](const exports::Deleted& deleted) {
      return Tombstone(AccountKind::kUser, deleted, "users_deleted");
    });
  }

  Status Teams() {
    Status status = entities_.Teams([&](const exports::Team& team) {
      return Account(team, MemberOf(team), [&] {
        return entities_.path() + ", line " + std::to_string(entities_.LineOfTeam(team.id));
      });
    });
    if (status.ok())
      status = Badges(AccountKind::kTeam, "badge_team",
                      [&](const auto& take) { return entities_.TeamBadges(take); });
    if (!status.ok()) return status;
    return Credit(AccountKind::kTeam, "credit_team",
                  [&](const auto& take) { return entities_.TeamCredit(take); });
  }

  Status Hosts() {
    Status status = entities_.Hosts([&](const exports::Host& host) {
      return Account(host, MemberOf(host), [&] {
        return entities_.path() + ", line " + std::to_string(entities_.LineOfHost(host.id));
      });
    });
    if (!status.ok()) return status;
    return entities_.HostsDeleted([&](const exports::Deleted& deleted) {
      return Tombstone(AccountKind::kHost, deleted, "hosts_deleted");
    });
  }

  // `all` visits rows in order of holder; the rows of one holder become one event.
  template <class Row, class Add, class All>
  Status ByHolder(Part part, AccountKind kind, const char* table, const All& all, const Add& add) {
    wire::AccountFacts facts{.kind = kind};
    bool any = false;
    const auto put = [&] {
      if (!std::exchange(any, false)) return Status::Ok();
      return PutFacts(part, std::exchange(facts, wire::AccountFacts{.kind = kind}), table);
    };
    Status status = all([&](const Row& row) {
      if (facts.account != AccountNumber(row.holder)) {
        if (Status s = put(); !s.ok()) return s;
        facts.account = AccountNumber(row.holder);
      }
      any = true;
      add(row, facts);
      return Status::Ok();
    });
    return status.ok() ? put() : status;
  }

  template <class All>
  Status Badges(AccountKind kind, const char* table, const All& all) {
    return ByHolder<exports::BadgeHeld>(
        kBadges, kind, table, all, [](const exports::BadgeHeld& badge, wire::AccountFacts& facts) {
          if (!facts.badges) facts.badges.emplace();
          facts.badges->push_back({.badge = badge.badge, .create_time = badge.create_time});
        });
  }

  template <class All>
  Status Credit(AccountKind kind, const char* table, const All& all) {
    return ByHolder<exports::AppCredit>(kCredit, kind, table, all,
                                        [](const exports::AppCredit& credit, wire::AccountFacts& facts) {
                                          if (!facts.credit) facts.credit.emplace();
                                          facts.credit->push_back({.app = credit.app,
                                                                   .credit_type = credit.credit_type,
                                                                   .njobs = credit.njobs,
                                                                   .total = credit.total,
                                                                   .expavg = credit.expavg,
                                                                   .expavg_time = credit.expavg_time});
                                        });
  }

  Status Tombstone(AccountKind kind, const exports::Deleted& deleted, const char* table) {
    return PutFacts(kTombstone,
                    {.kind = kind,
                     .account = AccountNumber(deleted.id),
                     .badges = {},
                     .credit = {},
                     .consent = {},
                     .tombstone = wire::Tombstone{.public_cross_project_id = deleted.public_cross_project_id,
                                                  .time = deleted.create_time}},
                    table);
  }

  Status StatisticsRows() {
    return ReadStatistics(options_.statistics, options_.project, [&](const StatisticsRow& row) {
      if (std::holds_alternative<std::monostate>(row.body)) return Status::Ok();
      return Put(kEventId, row.body,
                 [&] { return options_.statistics + ", line " + std::to_string(row.line); });
    });
  }

  EntitiesFile& entities_;
  const Options& options_;
  const TakeEvent& take_;
  wire::Event event_;
};

class Stream final : public EventStream {
 public:
  Stream(EntitiesFile& entities, Options options, std::uint64_t events)
      : entities_(entities), options_(std::move(options)), events_(events) {}

  Status ForEach(const std::function<Status(const EventItem&)>& take) override {
    EventItem item;
    std::string bytes;
    return ForEachEvent(entities_, options_, [&](const wire::Event& event, const auto&) {
      bytes = wire::EncodeEvent(event);
      item.envelope = item.raw = bytes;
      item.line = done_++;
      return take(item);
    });
  }
  [[nodiscard]] EventFormat format() const override { return EventFormat::kRows; }
  [[nodiscard]] bool has_own_ticks() const override { return false; }
  // Counts events, because there are no bytes to count.
  [[nodiscard]] std::uint64_t bytes_read() const override { return done_; }
  [[nodiscard]] std::uint64_t bytes_total() const override { return events_; }

 private:
  EntitiesFile& entities_;
  const Options options_;
  const std::uint64_t events_;
  std::uint64_t done_ = 0;
};

// Counts the events of a survey.
class Surveyor {
 public:
  Surveyor(EntitiesFile& entities, Survey& survey) : entities_(entities), survey_(survey) {}

  void Take(const wire::Event& event) {
    ++survey_.events;
    std::visit([this](const auto& body) { Count(body); }, event.body);
  }

 private:
  void Count(const wire::OpeningTotal& opening) {
    survey_.totals.Of(opening.kind).Add(opening.account, *opening.figures);
  }
  void Count(const wire::UserMember& user) {
    ++survey_.totals.users.profiles;
    const auto team = static_cast<std::int64_t>(user.team.value);
    if (user.team && !entities_.HasTeam(team)) ++survey_.teams_missing;
  }
  void Count(const wire::HostMember& host) {
    ++survey_.totals.hosts.profiles;
    if (!host.user)
      ++survey_.hosts_of_nobody;
    else if (!entities_.OwnerOf(static_cast<std::int64_t>(host.user.value)).exists)
      ++survey_.owners_missing;
  }
  void Count(const wire::TeamMember& team) {
    ++survey_.totals.teams.profiles;
    if (!entities_.OwnerOf(team.profile->founder).exists) ++survey_.founders_missing;
  }
  void Count(const wire::OpeningHostVersion&) { ++survey_.host_versions; }
  void Count(const wire::OpeningAppVersion&) { ++survey_.app_versions; }
  void Count(const wire::OpeningApp&) { ++survey_.apps; }
  template <class Other>
  void Count(const Other&) {}

  EntitiesFile& entities_;
  Survey& survey_;
};

}  // namespace

Status ForEachEvent(EntitiesFile& entities, const Options& options, const TakeEvent& take) {
  return EventWriter(entities, options, take).Write();
}

Result<Survey> LookAt(EntitiesFile& entities, const Options& options,
                      const std::function<void(std::uint64_t)>& progress) {
  Survey survey;
  Surveyor surveyor(entities, survey);
  Status status = ForEachEvent(entities, options, [&](const wire::Event& event, const auto& place) {
    if (const auto refusal = wire::CheckEvent(event))
      return Status::InvalidArgument(place() +
                                     ": the pipeline would refuse the event of this row: " + refusal->detail);
    surveyor.Take(event);
    if (progress) progress(survey.events);
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return survey;
}

std::unique_ptr<EventStream> StreamOf(EntitiesFile& entities, const Options& options, std::uint64_t events) {
  return std::make_unique<Stream>(entities, options, events);
}

}  // namespace cobblestone::adoption

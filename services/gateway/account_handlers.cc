#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "services/gateway/handlers.h"

namespace cobblestone::gateway {

using nlohmann::json;
using wire::AccountKind;

namespace {

constexpr std::uint64_t kMaxRankings = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxRows = 1000;
constexpr std::uint64_t kMaxOffset = 100000000;
constexpr std::size_t kHostsShown = 100;
constexpr std::size_t kMembersShown = 20;
constexpr std::size_t kLongestSearch = 200;

}  // namespace

Answer Handlers::User(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  const auto [project, id] = *subject;
  if (!visibility_.MaySee(request.rights, project, UserId(id))) return Forbidden(request);
  return About(project, [&]() -> Result<json> {
    auto user = questions_.Account(project, AccountKind::kUser, id);
    if (!user.ok()) return user;
    if (!visibility_.Name(request.rights, project, *user)) (*user)["id"] = id;
    if (!Visibility::Owns(request.rights, project, UserId(id))) user->erase("estimates");
    const bool shown = visibility_.MayLink(request.rights, project, UserId(id));
    (*user)["hosts_shown"] = shown;
    (*user)["hosts"] = json::array();
    if (!shown) return user;
    auto hosts = questions_.HostsOf(project, UserId(id), kHostsShown);
    if (!hosts.ok()) return hosts;
    (*user)["host_count"] = (*hosts)["count"];
    (*user)["hosts"] = std::move((*hosts)["rows"]);
    return user;
  });
}

Answer Handlers::Host(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  const auto [project, id] = *subject;
  // The owner is looked up first: only then may the reply admit that the host is absent.
  auto host = questions_.Account(project, AccountKind::kHost, id);
  const UserId owner(host.ok() ? host->value("user", std::uint64_t{0}) : 0);
  if (!visibility_.MaySee(request.rights, project, owner)) return Forbidden(request);
  return About(project, [&]() -> Result<json> {
    if (host.ok() && !Visibility::Owns(request.rights, project, owner)) host->erase("estimates");
    if (host.ok()) visibility_.Unlink(request.rights, project, *host);
    return std::move(host);
  });
}

Answer Handlers::Team(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  const auto [project, id] = *subject;
  return About(project, [&]() -> Result<json> {
    auto team = questions_.Account(project, AccountKind::kTeam, id);
    if (!team.ok()) return team;
    auto members = questions_.MembersOf(project, TeamId(id), kMembersShown);
    if (!members.ok()) return members;
    (*team)["members"] = (*members)["count"];
    json& rows = (*team)["top_members"] = json::array();
    if (!visibility_.MayList(request.rights)) return team;
    for (json& row : (*members)["rows"]) {
      visibility_.Name(request.rights, project, row);
      rows.push_back(std::move(row));
    }
    return team;
  });
}

Answer Handlers::Grants(const Request& request, AccountKind kind) {
  Query query(request);
  const std::uint64_t limit = query.Number("limit", 20, kMaxRows);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  const auto subject = SubjectOf(request);
  if (!subject.ok()) return ErrorAnswer(subject.status());
  const auto [project, id] = *subject;
  bool may_see = visibility_.MaySeeAll(request.rights);
  if (kind == AccountKind::kUser)
    may_see = visibility_.MaySee(request.rights, project, UserId(id)) &&
              visibility_.MayLink(request.rights, project, UserId(id));
  if (kind == AccountKind::kHost && !may_see) {
    const auto owner = OwnerOf(project, id);
    may_see = owner.ok() && visibility_.MaySee(request.rights, project, *owner);
  }
  if (!may_see) return Forbidden(request);
  return About(project, [&]() -> Result<json> {
    // Only the account itself may disclose its existence.
    if (const auto account = questions_.Account(project, kind, id); !account.ok()) return account.status();
    // A host may have had another owner before. Team grants of users who do not show their hosts are omitted
    // entirely: time and credit alone would identify the row among the grants of their hosts.
    auto grants = questions_.Grants(project, kind, id, limit, [&](UserId user) {
      return visibility_.MaySee(request.rights, project, user) &&
             (kind != AccountKind::kTeam || visibility_.MayLink(request.rights, project, user));
    });
    if (!grants.ok()) return grants;
    for (json& row : *grants) visibility_.Unlink(request.rights, project, row);
    return grants;
  });
}

Answer Handlers::UserGrants(const Request& request) { return Grants(request, AccountKind::kUser); }
Answer Handlers::HostGrants(const Request& request) { return Grants(request, AccountKind::kHost); }
Answer Handlers::TeamGrants(const Request& request) { return Grants(request, AccountKind::kTeam); }

Answer Handlers::Top(const Request& request, AccountKind kind) {
  Query query(request);
  const bool recent = query.Word("by", {"total", "rac"}) == "rac";
  const view::Questions::Page page{.ranking = query.Number("ranking", 0, kMaxRankings),
                                   .offset = query.Number("offset", 0, kMaxOffset),
                                   .limit = query.Number("limit", 50, kMaxRows)};
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (!visibility_.leaders())
    return ErrorAnswer(403, "forbidden", "lists of leaders are turned off (gateway.leaders)");
  if (!visibility_.MayList(request.rights)) return Forbidden(request);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  auto top =
      questions_.Top(*project, kind, recent ? view::RankBy::kRecentAverage : view::RankBy::kTotal, page);
  if (!top.ok()) return ErrorAnswer(top.status());
  for (json& row : (*top)["rows"]) {
    if (kind == AccountKind::kUser) visibility_.Name(request.rights, *project, row);
    if (kind == AccountKind::kHost) visibility_.Unlink(request.rights, *project, row);
  }
  const json as_of = std::move((*top)["as_of"]);
  top->erase("as_of");
  return JsonAnswer({{"as_of", as_of}, {"data", std::move(*top)}});
}

Answer Handlers::TopUsers(const Request& request) { return Top(request, AccountKind::kUser); }
Answer Handlers::TopHosts(const Request& request) { return Top(request, AccountKind::kHost); }
Answer Handlers::TopTeams(const Request& request) { return Top(request, AccountKind::kTeam); }

Answer Handlers::ProjectEstimates(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  return About(*project, [&]() -> Result<json> {
    auto estimates = questions_.EstimatesOf(*project);
    if (!estimates.ok()) return estimates;
    return json((*estimates)["estimates"]);
  });
}

Answer Handlers::Search(const Request& request) {
  Query query(request);
  const std::string text = query.RequiredText("q", kLongestSearch);
  const std::string kind = query.Word("kind", {"any", "user", "host", "team"});
  const std::uint64_t limit = query.Number("limit", 20, kMaxRows);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  const auto project = ProjectOf(request);
  if (!project.ok()) return ErrorAnswer(project.status());
  view::Questions::Wanted wanted{
      .limit = limit, .by_credit = visibility_.leaders(), .finds = [&](UserId user) {
        return visibility_.MayName(request.rights, *project, user);
      }};
  if (kind == "user") wanted.kind = AccountKind::kUser;
  if (kind == "host") wanted.kind = AccountKind::kHost;
  if (kind == "team") wanted.kind = AccountKind::kTeam;
  return About(*project, [&]() -> Result<json> {
    auto found = questions_.Search(*project, text, wanted);
    if (!found.ok()) return found;
    for (json& row : *found)
      if (row.value("kind", "") == "host") visibility_.Unlink(request.rights, *project, row);
    return found;
  });
}

}  // namespace cobblestone::gateway

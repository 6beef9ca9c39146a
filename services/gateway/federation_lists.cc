// Lists of a federation hub: ranks, people, teams, countries, hosts (view::HubLists).
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "services/gateway/federation_answers.h"
#include "services/gateway/handlers.h"
#include "services/view/hub_questions.h"

namespace cobblestone::gateway {

using nlohmann::json;
using view::HubLists;
using view::HubRank;
using wire::AccountKind;

namespace {

constexpr std::uint64_t kHighestProject = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kFarthestPage = view::kNowhere;
constexpr std::uint64_t kLargestPage = 500;
constexpr std::uint64_t kUsualPage = 50;
constexpr std::size_t kLongestListText = 255;

HubRank RankOf(Query& query) {
  return query.Word("sort", {"total", "rac"}) == "rac" ? HubRank::kRecent : HubRank::kTotal;
}

HubLists::Page PageOf(Query& query) {
  return {.offset = query.Number("offset", 0, kFarthestPage),
          .limit = query.Number("limit", kUsualPage, kLargestPage)};
}

Answer ListAnswer(const Result<json>& list) {
  return list.ok() ? JsonAnswer(*list) : ErrorAnswer(list.status());
}

}  // namespace

std::optional<Answer> Handlers::NoFederation(const Request& request, bool list) {
  if (questions_.hub() == nullptr) return NoHub();
  if (list && !visibility_.leaders())
    return ErrorAnswer(403, "forbidden", "lists of leaders are turned off (gateway.leaders)");
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  return std::nullopt;
}

Answer Handlers::FederationTop(const Request& request, AccountKind kind) {
  Query query(request);
  const HubRank by = RankOf(query);
  const HubLists::Page page = PageOf(query);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, true)) return std::move(*refused);
  const auto project = PathNumber(request.segments.at(0), kHighestProject);
  if (!project.ok()) return ErrorAnswer(project.status());
  return ListAnswer(
      questions_.hub()->lists().Top(ProjectId(static_cast<std::uint32_t>(*project)), kind, by, page));
}

Answer Handlers::FederationTopUsers(const Request& request) {
  return FederationTop(request, AccountKind::kUser);
}
Answer Handlers::FederationTopHosts(const Request& request) {
  return FederationTop(request, AccountKind::kHost);
}
Answer Handlers::FederationTopTeams(const Request& request) {
  return FederationTop(request, AccountKind::kTeam);
}

Answer Handlers::FederationDays(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  if (questions_.hub() == nullptr) return NoHub();
  const auto project = PathNumber(request.segments.at(0), kHighestProject);
  if (!project.ok()) return ErrorAnswer(project.status());
  const auto days = questions_.hub()->lists().Days(ProjectId(static_cast<std::uint32_t>(*project)));
  return days.ok() ? JsonAnswer({{"data", *days}}) : ErrorAnswer(days.status());
}

Answer Handlers::FederationPeople(const Request& request) {
  Query query(request);
  const HubRank by = RankOf(query);
  const HubLists::Page page = PageOf(query);
  HubLists::PeopleWanted wanted;
  const std::pair<const char*, std::string*> filters[] = {
      {"country", &wanted.country}, {"team", &wanted.team}, {"name", &wanted.name}};
  int set = 0;
  for (const auto& [name, text] : filters) {
    if (!query.Has(name)) continue;
    *text = query.RequiredText(name, kLongestListText);
    ++set;
  }
  if (set > 1) query.Fail("country, team and name exclude each other: set only one of them");
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, true)) return std::move(*refused);
  return ListAnswer(questions_.hub()->lists().People(wanted, by, page));
}

Answer Handlers::FederationTeams(const Request& request) {
  Query query(request);
  const HubRank by = RankOf(query);
  const HubLists::Page page = PageOf(query);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, true)) return std::move(*refused);
  return ListAnswer(questions_.hub()->lists().Teams(by, page));
}

Answer Handlers::FederationTeamOfName(const Request& request) {
  Query query(request);
  const HubLists::Page page = PageOf(query);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, false)) return std::move(*refused);
  const auto key = view::ParseTeamNameKey(request.segments.at(0));
  if (!key)
    return ErrorAnswer(
        Status::NotFound("the key of a team is the MD5 of its name in lower case, 32 hexadecimal digits"));
  return ListAnswer(questions_.hub()->lists().Team(*key, page));
}

Answer Handlers::FederationCountries(const Request& request) {
  Query query(request);
  const HubRank by = RankOf(query);
  const HubLists::Page page = PageOf(query);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, true)) return std::move(*refused);
  return ListAnswer(questions_.hub()->lists().Countries(by, page));
}

Answer Handlers::FederationHosts(const Request& request) {
  Query query(request);
  const HubLists::Page page = PageOf(query);
  const auto cpid = federation::ParseCpid(query.RequiredText("cpid", kLongestListText));
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (!cpid) return ErrorAnswer(Status::InvalidArgument("cpid: 32 hexadecimal digits"));
  if (auto refused = NoFederation(request, false)) return std::move(*refused);
  return ListAnswer(questions_.hub()->lists().Hosts(*cpid, page));
}

}  // namespace cobblestone::gateway

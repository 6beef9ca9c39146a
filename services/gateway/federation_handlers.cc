#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/gateway/federation_answers.h"
#include "services/gateway/handlers.h"
#include "services/view/hub_questions.h"

namespace cobblestone::gateway {

using nlohmann::json;
using wire::AccountKind;

namespace {

constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMostProjects = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostEditions = 1000;
constexpr std::uint64_t kEditionsShown = 20;
constexpr std::size_t kLongestCpid = 100;

Answer Data(const Result<json>& data) {
  return data.ok() ? JsonAnswer({{"data", *data}}) : ErrorAnswer(data.status());
}

}  // namespace

Answer NoHub() {
  return ErrorAnswer(
      Status::NotFound("this deployment is no federation hub (role: hub in its configuration)"));
}

Answer Handlers::FederationProjects(const Request& request) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  if (questions_.hub() == nullptr) return NoHub();
  return Data(questions_.hub()->Projects());
}

Answer Handlers::FederationProject(const Request& request) {
  Query query(request);
  const std::uint64_t limit = query.Number("limit", kEditionsShown, kMostEditions);
  const bool figures = query.Word("figures", {"true", "false"}) == "true";
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (questions_.hub() == nullptr) return NoHub();
  const auto project = PathNumber(request.segments.at(0), kMostProjects);
  if (!project.ok()) return ErrorAnswer(project.status());
  return Data(questions_.hub()->Project(ProjectId(static_cast<std::uint32_t>(*project)), limit, figures));
}

Answer Handlers::FederationFactors(const Request& request) {
  Query query(request);
  std::optional<std::uint64_t> sequence;
  if (query.Has("sequence")) sequence = query.RequiredNumber("sequence", 1, kLargestNumber);
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (questions_.hub() == nullptr) return NoHub();
  return Data(questions_.hub()->Factors(sequence));
}

Answer Handlers::FederationPerson(const Request& request) {
  Query query(request);
  const bool by_cpid = query.Has("cpid");
  const bool by_identity = !by_cpid && query.Has("identity");
  const bool by_user = !by_cpid && !by_identity;
  const std::string cpid = by_cpid ? query.RequiredText("cpid", kLongestCpid) : std::string();
  const std::string identity = by_identity ? query.RequiredText("identity", kLongestCpid) : std::string();
  const std::uint64_t project = by_user ? query.RequiredNumber("project", 1, kMostProjects) : 0;
  const std::uint64_t user = by_user ? query.RequiredNumber("user", 1, kLargestNumber) : 0;
  if (Status s = query.status(); !s.ok()) return ErrorAnswer(s);
  if (auto refused = NoFederation(request, false)) return std::move(*refused);
  view::HubQuestions& hub = *questions_.hub();
  if (by_cpid) return Data(hub.PersonOfCpid(cpid));
  if (by_identity) return Data(hub.PersonOfIdentity(identity));
  return Data(hub.PersonOf(ProjectId(static_cast<std::uint32_t>(project)), UserId(user)));
}

Answer Handlers::FederationUser(const Request& request) {
  return FederationAccount(request, AccountKind::kUser);
}
Answer Handlers::FederationHost(const Request& request) {
  return FederationAccount(request, AccountKind::kHost);
}
Answer Handlers::FederationTeam(const Request& request) {
  return FederationAccount(request, AccountKind::kTeam);
}

// A hub has what projects publish: it is shown to everyone, or to nobody but tokens that may read everything.
Answer Handlers::FederationAccount(const Request& request, AccountKind kind) {
  if (Status s = Query(request).status(); !s.ok()) return ErrorAnswer(s);
  if (questions_.hub() == nullptr) return NoHub();
  if (!visibility_.MaySeeAll(request.rights)) return Forbidden(request);
  const auto project = PathNumber(request.segments.at(0), kMostProjects);
  if (!project.ok()) return ErrorAnswer(project.status());
  const auto id = PathNumber(request.segments.at(1), kLargestNumber);
  if (!id.ok()) return ErrorAnswer(id.status());
  return Data(questions_.hub()->Account(ProjectId(static_cast<std::uint32_t>(*project)), kind, *id));
}

}  // namespace cobblestone::gateway

// Handlers of the routes. Each handler queries the view or the pipeline and returns what the viewer may see. Threads:
// any, several at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/ledger/account_codec.h"
#include "services/gateway/message.h"
#include "services/gateway/pipeline.h"
#include "services/gateway/rights/token_store.h"
#include "services/gateway/rights/visibility.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

class Handlers {
 public:
  // `questions`, `pipeline` and `tokens` must outlive the handlers.
  Handlers(view::Questions& questions, Pipeline& pipeline, TokenStore& tokens,
           const settings::GatewaySettings& settings);

  [[nodiscard]] const Visibility& visibility() const { return visibility_; }

  Answer HealthNow(const Request& request);
  Answer OpenApi(const Request& request);
  Answer Metrics(const Request& request);
  Answer Tasks(const Request& request);
  Answer Watch(const Request& request);
  Answer RefusedList(const Request& request);
  Answer RefusedShow(const Request& request);
  Answer Resubmit(const Request& request);
  Answer Source(const Request& request);
  Answer Events(const Request& request);
  // The answer to a request with events that would be throttled, whatever its body; must not wait.
  std::optional<Answer> ThrottledEvents(const Rights& rights);

  Answer Projects(const Request& request);
  Answer Catalogue(const Request& request);
  Answer Scales(const Request& request);
  Answer ScalesHistory(const Request& request);
  Answer AppVersions(const Request& request);
  Answer ProjectEstimates(const Request& request);
  Answer Search(const Request& request);
  Answer TopUsers(const Request& request);
  Answer TopHosts(const Request& request);
  Answer TopTeams(const Request& request);
  Answer Explain(const Request& request);

  Answer User(const Request& request);
  Answer UserGrants(const Request& request);
  Answer Host(const Request& request);
  Answer HostGrants(const Request& request);
  Answer Team(const Request& request);
  Answer TeamGrants(const Request& request);

  // Of a federation hub.
  Answer FederationProjects(const Request& request);
  Answer FederationProject(const Request& request);
  Answer FederationFactors(const Request& request);
  Answer FederationPerson(const Request& request);
  Answer FederationUser(const Request& request);
  Answer FederationHost(const Request& request);
  Answer FederationTeam(const Request& request);
  Answer FederationTopUsers(const Request& request);
  Answer FederationTopHosts(const Request& request);
  Answer FederationTopTeams(const Request& request);
  Answer FederationDays(const Request& request);
  Answer FederationPeople(const Request& request);
  Answer FederationTeams(const Request& request);
  Answer FederationTeamOfName(const Request& request);
  Answer FederationCountries(const Request& request);
  Answer FederationHosts(const Request& request);
  // In XML (federation_xml.h).
  Answer RpcGetUser(const Request& request);
  Answer RpcGetUserCreditHistory(const Request& request);
  Answer RpcGetProjects(const Request& request);
  Answer RpcGetHost(const Request& request);
  Answer RpcGetTeam(const Request& request);

  // For schedulers.
  Answer HostVersions(const Request& request);
  Answer Estimate(const Request& request);
  Answer SchedulerReply(const Request& request);

 private:
  // Project and id from the path of a request.
  struct Subject {
    ProjectId project;
    std::uint64_t id = 0;
  };
  // Project of the path; an error if the project does not exist.
  Result<ProjectId> ProjectOf(const Request& request);
  Result<Subject> SubjectOf(const Request& request);
  // Owner of a host; none if the owner is unknown.
  Result<UserId> OwnerOf(ProjectId project, std::uint64_t host);
  // `as_of` of an answer that is computed after this call: the answer rests on these positions or on later ones.
  // Cached as text for a moment, because its computation is a large part of the cost of a short answer.
  Result<std::string> AsOf(ProjectId project);
  static Answer With(const std::string& as_of, const nlohmann::json& data);
  // {"as_of", "data"}; `ask` returns the data.
  template <class Ask>
  Answer About(ProjectId project, Ask&& ask);
  Answer Top(const Request& request, wire::AccountKind kind);
  Answer Grants(const Request& request, wire::AccountKind kind);
  Answer FederationAccount(const Request& request, wire::AccountKind kind);
  Answer FederationTop(const Request& request, wire::AccountKind kind);
  // Set if the deployment is no hub, or its accounts are not for the viewer. `list`: the answer is in order of credit.
  std::optional<Answer> NoFederation(const Request& request, bool list);
  template <class Make>
  Answer RpcOfPerson(const Request& request, Make&& make);
  Answer Forbidden(const Request& request) const;
  bool ShowExplained(const Rights& viewer, ProjectId project, nlohmann::json& data);

  view::Questions& questions_;
  Pipeline& pipeline_;
  TokenStore& tokens_;
  const Visibility visibility_;

  struct Rested {
    std::string text;
    std::chrono::steady_clock::time_point at;
  };
  std::mutex mutex_;
  std::map<std::uint32_t, Rested> rested_;  // by project; guarded by mutex_
};

template <class Ask>
Answer Handlers::About(ProjectId project, Ask&& ask) {
  const auto as_of = AsOf(project);
  if (!as_of.ok()) return ErrorAnswer(as_of.status());
  const Result<nlohmann::json> data = ask();
  return data.ok() ? With(*as_of, *data) : ErrorAnswer(data.status());
}

}  // namespace cobblestone::gateway

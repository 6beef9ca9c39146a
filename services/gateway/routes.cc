#include "services/gateway/routes.h"

#include "services/gateway/handlers.h"

namespace cobblestone::gateway {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/api/v1/health", Needs::kNothing, &Handlers::HealthNow},
    {"GET", "/api/v1/openapi.json", Needs::kNothing, &Handlers::OpenApi},
    {"GET", "/api/v1/metrics", Needs::kMetrics, &Handlers::Metrics},
    {"GET", "/api/v1/live", Needs::kRead, nullptr},
    {"GET", "/api/v1/tasks", Needs::kRead, &Handlers::Tasks},
    {"GET", "/api/v1/watch", Needs::kRead, &Handlers::Watch},
    {"GET", "/api/v1/refused", Needs::kRead, &Handlers::RefusedList},
    {"GET", "/api/v1/refused/{number}", Needs::kRead, &Handlers::RefusedShow},
    {"POST", "/api/v1/refused/{number}/resubmit", Needs::kOperate, &Handlers::Resubmit},
    {"GET", "/api/v1/events", Needs::kIngest, &Handlers::Source},
    {"POST", "/api/v1/events", Needs::kIngest, &Handlers::Events, true},
    {"GET", "/api/v1/projects", Needs::kRead, &Handlers::Projects},
    {"GET", "/api/v1/projects/{project}/catalogue", Needs::kRead, &Handlers::Catalogue},
    {"GET", "/api/v1/projects/{project}/scales", Needs::kRead, &Handlers::Scales},
    {"GET", "/api/v1/projects/{project}/scales/history", Needs::kRead, &Handlers::ScalesHistory},
    {"GET", "/api/v1/projects/{project}/app_versions", Needs::kRead, &Handlers::AppVersions},
    {"GET", "/api/v1/projects/{project}/estimates", Needs::kRead, &Handlers::ProjectEstimates},
    {"GET", "/api/v1/projects/{project}/search", Needs::kRead, &Handlers::Search},
    {"GET", "/api/v1/projects/{project}/scheduler-reply", Needs::kRead, &Handlers::SchedulerReply},
    {"GET", "/api/v1/projects/{project}/top/users", Needs::kRead, &Handlers::TopUsers},
    {"GET", "/api/v1/projects/{project}/top/hosts", Needs::kRead, &Handlers::TopHosts},
    {"GET", "/api/v1/projects/{project}/top/teams", Needs::kRead, &Handlers::TopTeams},
    {"GET", "/api/v1/projects/{project}/results/{result}", Needs::kRead, &Handlers::Explain},
    {"GET", "/api/v1/projects/{project}/users/{id}", Needs::kRead, &Handlers::User},
    {"GET", "/api/v1/projects/{project}/users/{id}/grants", Needs::kRead, &Handlers::UserGrants},
    {"GET", "/api/v1/projects/{project}/hosts/{id}", Needs::kRead, &Handlers::Host},
    {"GET", "/api/v1/projects/{project}/hosts/{id}/grants", Needs::kRead, &Handlers::HostGrants},
    {"GET", "/api/v1/projects/{project}/hosts/{id}/versions", Needs::kRead, &Handlers::HostVersions},
    {"GET", "/api/v1/projects/{project}/hosts/{id}/estimate", Needs::kRead, &Handlers::Estimate},
    {"GET", "/api/v1/projects/{project}/teams/{id}", Needs::kRead, &Handlers::Team},
    {"GET", "/api/v1/projects/{project}/teams/{id}/grants", Needs::kRead, &Handlers::TeamGrants},
    {"GET", "/api/v1/federation/projects", Needs::kRead, &Handlers::FederationProjects},
    {"GET", "/api/v1/federation/projects/{project}", Needs::kRead, &Handlers::FederationProject},
    {"GET", "/api/v1/federation/projects/{project}/users/{id}", Needs::kRead, &Handlers::FederationUser},
    {"GET", "/api/v1/federation/projects/{project}/hosts/{id}", Needs::kRead, &Handlers::FederationHost},
    {"GET", "/api/v1/federation/projects/{project}/teams/{id}", Needs::kRead, &Handlers::FederationTeam},
    {"GET", "/api/v1/federation/projects/{project}/days", Needs::kRead, &Handlers::FederationDays},
    {"GET", "/api/v1/federation/projects/{project}/top/users", Needs::kRead, &Handlers::FederationTopUsers},
    {"GET", "/api/v1/federation/projects/{project}/top/hosts", Needs::kRead, &Handlers::FederationTopHosts},
    {"GET", "/api/v1/federation/projects/{project}/top/teams", Needs::kRead, &Handlers::FederationTopTeams},
    {"GET", "/api/v1/federation/factors", Needs::kRead, &Handlers::FederationFactors},
    {"GET", "/api/v1/federation/person", Needs::kRead, &Handlers::FederationPerson},
    {"GET", "/api/v1/federation/people", Needs::kRead, &Handlers::FederationPeople},
    {"GET", "/api/v1/federation/teams", Needs::kRead, &Handlers::FederationTeams},
    {"GET", "/api/v1/federation/teams/{key}", Needs::kRead, &Handlers::FederationTeamOfName},
    {"GET", "/api/v1/federation/countries", Needs::kRead, &Handlers::FederationCountries},
    {"GET", "/api/v1/federation/hosts", Needs::kRead, &Handlers::FederationHosts},
    // Where BOINC's web pages and signature images look for them.
    {"GET", "/get_user.php", Needs::kRead, &Handlers::RpcGetUser},
    {"GET", "/get_user_credit_history.php", Needs::kRead, &Handlers::RpcGetUserCreditHistory},
    {"GET", "/get_projects.php", Needs::kRead, &Handlers::RpcGetProjects},
    {"GET", "/get_host.php", Needs::kRead, &Handlers::RpcGetHost},
    {"GET", "/get_team.php", Needs::kRead, &Handlers::RpcGetTeam},
};

// The part before the next '/'; removes both from `rest`.
std::string_view NextSegment(std::string_view* rest) {
  const std::size_t end = std::min(rest->find('/'), rest->size());
  const std::string_view segment = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return segment;
}

bool Matches(std::string_view pattern, std::string_view path, std::vector<std::string>* segments) {
  segments->clear();
  // Both begin with '/', and an empty last segment counts as a segment.
  while (!pattern.empty()) {
    if (path.empty()) return false;
    const std::string_view wanted = NextSegment(&pattern);
    const bool last = path.find('/') == std::string_view::npos;
    const std::string_view segment = NextSegment(&path);
    if (last != pattern.empty()) return false;
    if (wanted.starts_with('{')) {
      if (segment.empty()) return false;
      segments->emplace_back(segment);
    } else if (wanted != segment) {
      return false;
    }
  }
  return path.empty();
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

Found FindRoute(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  Found found;
  for (const Route& route : kRoutes) {
    if (!Matches(route.path, path, &found.segments)) continue;
    if (route.method == method) {
      found.route = &route;
      found.allowed.clear();
      return found;
    }
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
    if (route.method == "GET") found.allowed += ", HEAD";
  }
  found.segments.clear();
  return found;
}

bool Satisfies(const Rights& rights, Needs needs) {
  switch (needs) {
    case Needs::kNothing: return true;
    case Needs::kRead: return rights.read;
    case Needs::kMetrics: return rights.metrics;
    case Needs::kIngest: return rights.ingest.has_value();
    case Needs::kOperate: return rights.operate;
  }
  return false;
}

}  // namespace cobblestone::gateway

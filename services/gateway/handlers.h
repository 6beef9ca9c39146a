// The answers: each route's question, asked of the view or of the pipeline, as far as its viewer may see it.
// Threads: any, several at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/ledger/account_codec.h"
#include "services/gateway/message.h"
#include "services/gateway/pipeline.h"
#include "services/gateway/token_store.h"
#include "services/gateway/visibility.h"
#include "services/view/questions.h"

namespace cobblestone::gateway {

class Handlers {
 public:
  // `questions`, `pipeline` and `tokens` must outlive it.
  Handlers(view::Questions& questions, Pipeline& pipeline, TokenStore& tokens,
           const settings::GatewaySettings& settings);

  [[nodiscard]] const Visibility& visibility() const { return visibility_; }

  Answer HealthNow(const Request& request);
  Answer OpenApi(const Request& request);
  Answer Metrics(const Request& request);
  Answer Tasks(const Request& request);
  Answer RefusedList(const Request& request);
  Answer RefusedShow(const Request& request);
  Answer Resubmit(const Request& request);
  Answer Source(const Request& request);
  Answer Events(const Request& request);

  Answer Projects(const Request& request);
  Answer Catalogue(const Request& request);
  Answer Scales(const Request& request);
  Answer ScalesHistory(const Request& request);
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

  // Schedulers'.
  Answer HostVersions(const Request& request);
  Answer Estimate(const Request& request);
  Answer SchedulerReply(const Request& request);

 private:
  // Project and number of a path, and of it the owner whose right it is to be asked about.
  struct Subject {
    ProjectId project;
    std::uint64_t id = 0;
  };
  // The project of the path, which there is.
  Result<ProjectId> ProjectOf(const Request& request);
  Result<Subject> SubjectOf(const Request& request);
  // Whose host it is, none: nobody's that is known.
  Result<UserId> OwnerOf(ProjectId project, std::uint64_t host);
  // On what an answer that is asked for now rests, or on more: of the last moments, as text, for it is a good part of a short
  // answer's cost.
  Result<std::string> AsOf(ProjectId project);
  static Answer With(const std::string& as_of, const nlohmann::json& data);
  // {"as_of", "data"}; `ask` gives the data.
  template <class Ask>
  Answer About(ProjectId project, Ask&& ask);
  Answer Top(const Request& request, wire::AccountKind kind);
  Answer Grants(const Request& request, wire::AccountKind kind);
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

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/wire/events/head_peek.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/view/json.h"
#include "services/view/project_now.h"

namespace cobblestone::view {

using nlohmann::json;

namespace {

constexpr double kDaySeconds = 86400;
// As the alert CobblestoneLevelMoved (deploy/monitoring/alerts.yml).
constexpr double kLevelMoves = 0.1;
// Epochs that are read for one that is a day old: at first a few, and more if they do not reach back as far.
constexpr std::size_t kFirstEpochs = 32;
constexpr std::size_t kMostEpochs = 2048;

// An app's X in the table; 0: not defined.
double LevelIn(const credit::ScaleTable& table, std::uint64_t app) {
  const auto scale = table.apps.find(app);
  return scale == table.apps.end() || !scale->second.defined ? 0.0 : scale->second.min_avg_pfc;
}

}  // namespace

std::string Questions::AppName(ProjectId project, AppId app) {
  const auto now = Now(project);
  if (!now.ok()) return {};
  const credit::AppRow* row = (*now)->state.catalogue.FindApp(app);
  return row == nullptr ? std::string() : row->name;
}

// A host raises an alarm again and again while its reports rise: only its newest is shown.
Result<json> Questions::RisingHosts(std::size_t limit) {
  auto places = ledger_.Alarms(limit);
  if (!places.ok()) return places.status();
  places->erase(std::unique(places->begin(), places->end()), places->end());
  std::map<std::tuple<ProjectId, AppId, HostId>, credit::Claim> newest;
  for (const LedgerPlace& place : *places) {
    Status read = ledger_.ReadGrant(place, [&](std::string_view record) {
      wire::Grant grant;
      if (!wire::IsFinalOfClaim(record, credit::kClaimRising) || !wire::DecodeGrant(record, &grant))
        return true;
      if (!grant.claim) return true;
      credit::Claim& known = newest[{grant.head.project, grant.head.app, grant.head.host}];
      if (known.time < grant.claim->time) known = *std::move(grant.claim);
      return true;
    });
    if (!read.ok()) return read;
  }
  std::vector<credit::Claim> claims;
  for (auto& [host, claim] : newest) claims.push_back(std::move(claim));
  std::stable_sort(claims.begin(), claims.end(),
                   [](const credit::Claim& a, const credit::Claim& b) { return a.time > b.time; });
  claims.resize(std::min(claims.size(), limit));
  json hosts = json::array();
  for (const credit::Claim& claim : claims)
    hosts.push_back({{"project", claim.project.value},
                     {"app", claim.app.value},
                     {"app_name", AppName(claim.project, claim.app)},
                     {"host", claim.host.value},
                     {"result", claim.result.value},
                     {"time", Number(claim.time)},
                     {"why", "rising"}});
  return hosts;
}

// X before is that of the newest epoch that is a day older than the newest one; of a younger project, that of its first
// epoch with a time (the catalogue makes epochs before the first tick).
Result<json> Questions::MovedLevels() {
  const auto rows = state_.Of(Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  std::vector<ProjectId> projects;
  Status read = ForEach(**rows, coordinator::kProjectsTable,
                        [&](const stream::Key& key, const coordinator::ProjectState&) {
                          projects.emplace_back(key.project);
                          return Status::Ok();
                        });
  if (!read.ok()) return read;
  json levels = json::array();
  for (const ProjectId project : projects) {
    std::vector<credit::ScaleTable> epochs;
    for (std::size_t n = kFirstEpochs; n <= kMostEpochs; n *= 4) {
      auto newest = ledger_.Epochs(project, {.limit = n});
      if (!newest.ok()) return newest.status();
      epochs = std::move(*newest);
      if (epochs.size() < n || epochs.front().time <= epochs.back().time - kDaySeconds) break;
    }
    std::erase_if(epochs, [](const credit::ScaleTable& table) { return !(table.time > 0); });
    if (epochs.empty()) continue;
    const credit::ScaleTable& now = epochs.back();
    const auto later = std::find_if(epochs.begin(), epochs.end(), [&](const credit::ScaleTable& table) {
      return table.time > now.time - kDaySeconds;
    });
    const credit::ScaleTable& before = later == epochs.begin() ? epochs.front() : *std::prev(later);
    for (const auto& [app, scale] : now.apps) {
      const double x = LevelIn(now, app);
      const double was = LevelIn(before, app);
      if (x <= 0 || was <= 0 || !(std::abs(x / was - 1) > kLevelMoves)) continue;
      levels.push_back({{"project", project.value},
                        {"app", app},
                        {"app_name", AppName(project, AppId(app))},
                        {"x", Number(x)},
                        {"x_before", Number(was)},
                        {"time", Number(now.time)},
                        {"time_before", Number(before.time)}});
    }
  }
  return levels;
}

Result<json> Questions::Watch(std::size_t limit) {
  auto hosts = RisingHosts(limit);
  if (!hosts.ok()) return hosts;
  auto levels = MovedLevels();
  if (!levels.ok()) return levels;
  return json{{"hosts", std::move(*hosts)}, {"levels", std::move(*levels)}};
}

}  // namespace cobblestone::view

#include "services/intake/quotas.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cobblestone::intake {
namespace {

constexpr std::size_t kMaxOtherProjects = 10000;
constexpr double kShortestWait = 0.001;  // s
constexpr std::string_view kEvents = "events_per_second";
constexpr std::string_view kBytes = "bytes_per_second";

double SystemSteady() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::map<ProjectId, settings::ProjectEntry> ById(const std::vector<settings::ProjectEntry>& entries) {
  std::map<ProjectId, settings::ProjectEntry> by_id;
  for (const settings::ProjectEntry& entry : entries) by_id.emplace(entry.id, entry);
  return by_id;
}

}  // namespace

std::string ExcessText(const Excess& excess) {
  return "project " + std::to_string(excess.project.value) + " is beyond its quota of " +
         std::to_string(excess.limit) + (excess.quota == kEvents ? " events" : " bytes") + " per second";
}

Quotas::Quotas(const settings::RunSettings& settings, std::function<double()> steady)
    : usual_(settings.quota),
      configured_(ById(settings.projects)),
      burst_(std::chrono::duration<double>(settings.quota.burst).count()),
      steady_(steady ? std::move(steady) : SystemSteady) {}

Quotas::Project& Quotas::Of(ProjectId id, double now) {
  auto known = projects_.find(id);
  if (known == projects_.end()) {
    const auto entry = configured_.find(id);
    if (entry == configured_.end() && id && projects_.size() >= configured_.size() + kMaxOtherProjects)
      return Of(ProjectId(), now);
    Project fresh{.at = now};
    fresh.events.per_second = usual_.events_per_second;
    fresh.bytes.per_second = usual_.bytes_per_second;
    if (entry != configured_.end()) {
      fresh.events.per_second = entry->second.events_per_second.value_or(usual_.events_per_second);
      fresh.bytes.per_second = entry->second.bytes_per_second.value_or(usual_.bytes_per_second);
    }
    for (Bucket* bucket : {&fresh.events, &fresh.bytes})
      bucket->left = static_cast<double>(bucket->per_second) * burst_;
    fresh.use = {.project = id,
                 .events_per_second = fresh.events.per_second,
                 .bytes_per_second = fresh.bytes.per_second};
    known = projects_.emplace(id, fresh).first;
  }
  Project& project = known->second;
  const double passed = std::max(0.0, now - project.at);
  for (Bucket* bucket : {&project.events, &project.bytes}) {
    const auto rate = static_cast<double>(bucket->per_second);
    bucket->left = std::min(bucket->left + passed * rate, burst_ * rate);
  }
  project.at = now;
  return project;
}

std::optional<Excess> Quotas::ExcessOf(ProjectId id, const Project& project) const {
  std::optional<Excess> longest;
  for (const auto& [bucket, name] :
       {std::pair{&project.events, kEvents}, std::pair{&project.bytes, kBytes}}) {
    if (bucket->per_second == 0 || bucket->left > 0) continue;
    const double wait = std::max(-bucket->left / static_cast<double>(bucket->per_second), kShortestWait);
    if (!longest || wait > longest->wait)
      longest = Excess{.project = id, .quota = name, .limit = bucket->per_second, .wait = wait};
  }
  return longest;
}

std::optional<Excess> Quotas::Take(const Charges& charges) {
  const std::lock_guard lock(mutex_);
  const double now = steady_();
  std::optional<Excess> longest;
  for (const auto& [id, use] : charges.by_project()) {
    Project& project = Of(id, now);
    const auto excess = ExcessOf(id, project);
    if (!excess) continue;
    ++project.use.throttled;
    if (!longest || excess->wait > longest->wait) longest = excess;
  }
  if (longest) return longest;
  for (const auto& [id, use] : charges.by_project()) {
    Project& project = Of(id, now);
    if (project.events.per_second > 0) project.events.left -= static_cast<double>(use.events);
    if (project.bytes.per_second > 0) project.bytes.left -= static_cast<double>(use.bytes);
    project.use.events += use.events;
    project.use.bytes += use.bytes;
  }
  return std::nullopt;
}

std::optional<Excess> Quotas::TakeNone(const std::vector<ProjectId>& projects) {
  const std::lock_guard lock(mutex_);
  const double now = steady_();
  std::optional<Excess> shortest;
  for (const ProjectId id : projects) {
    const auto excess = ExcessOf(id, Of(id, now));
    if (!excess) return std::nullopt;
    if (!shortest || excess->wait < shortest->wait) shortest = excess;
  }
  for (const ProjectId id : projects) ++Of(id, now).use.throttled;
  return shortest;
}

std::vector<Quotas::ProjectUse> Quotas::Look() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProjectUse> uses;
  for (const auto& [id, project] : projects_)
    if (project.use.events + project.use.throttled > 0) uses.push_back(project.use);
  return uses;
}

}  // namespace cobblestone::intake

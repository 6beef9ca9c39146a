#include "services/hub/push/feed_sender.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "services/export/state/state_source.h"
#include "services/hub/push/push_edition.h"
#include "services/hub/push/push_wait.h"

namespace cobblestone::hub {

namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

double UnixNow() { return Seconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

// Times of several deployments differ by chance, but nobody comes before the hub has asked for it.
Seconds WaitAfter(std::uint64_t failures_in_a_row, const AskedPause& asked, settings::Duration interval) {
  std::random_device device;
  std::uniform_real_distribution<double> chance(asked.seconds > 0 ? 1.0 : 0.8, 1.2);
  return Seconds(PushWait(failures_in_a_row, asked, Seconds(interval).count()) * chance(device));
}

wire::FeedHealth HealthOf(const gateway::Health& health) {
  wire::FeedHealth made{.condition = wire::FeedCondition::kFine};
  if (health.grade == gateway::Health::Grade::kOk) return made;
  made.condition = wire::FeedCondition::kStuck;
  for (const std::string& problem : health.problems)
    made.reason += (made.reason.empty() ? "" : "; ") + problem;
  if (made.reason.empty()) made.reason = "the project's credit pipeline is not healthy";
  return made;
}

}  // namespace

Result<std::unique_ptr<FeedSender>> FeedSender::Start(FeedSenderOptions options, view::State& state,
                                                      view::Questions& questions,
                                                      gateway::Pipeline& pipeline) {
  std::unique_ptr<FeedSender> sender(new FeedSender(std::move(options), state, questions, pipeline));
  for (const settings::ProjectEntry& entry : sender->options_.projects) {
    if (!entry.hub_project) continue;
    auto push =
        ProjectPush::Open(sender->options_.directory + "/project-" + std::to_string(entry.hub_project->value),
                          *entry.hub_project, sender->options_.push);
    if (!push.ok()) return push.status();
    const double accepted = (*push)->state().accepted_time;
    sender->looks_.push_back(
        {.project = entry.id.value, .accepted_time = accepted > 0 ? accepted : UnixNow()});
    sender->projects_.push_back({.entry = entry, .push = std::move(*push)});
  }
  sender->thread_ = std::jthread([raw = sender.get()](const std::stop_token& stop) { raw->Run(stop); });
  return sender;
}

FeedSender::FeedSender(FeedSenderOptions options, view::State& state, view::Questions& questions,
                       gateway::Pipeline& pipeline)
    : options_(std::move(options)),
      state_(state),
      questions_(questions),
      pipeline_(pipeline),
      client_({.url = options_.hub.url,
               .ca_file = options_.hub.ca_file,
               .token_file = options_.hub.push_token_file}) {}

FeedSender::~FeedSender() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

std::vector<metrics::HubPushLook> FeedSender::Look() const {
  const std::lock_guard lock(mutex_);
  return looks_;
}

void FeedSender::Run(const std::stop_token& stop) {
  std::vector<SteadyClock::time_point> due(projects_.size(), SteadyClock::now());
  while (!stop.stop_requested()) {
    for (std::size_t at = 0; at < projects_.size() && !stop.stop_requested(); ++at) {
      if (due[at] > SteadyClock::now()) continue;
      const Seconds wait = Round(projects_[at], at, stop);
      due[at] = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(wait);
    }
    std::unique_lock lock(wake_mutex_);
    wake_.wait_until(lock, stop, *std::min_element(due.begin(), due.end()), [] { return false; });
  }
}

Seconds FeedSender::Round(Pushed& project, std::size_t at, const std::stop_token& stop) {
  const Status done = project.push->Round(
      client_, [&] { return Contents(project.entry); }, UnixNow(),
      [&](const std::string& problem) { Warn(project, problem); }, stop);
  if (stop.stop_requested()) return Seconds(0);
  project.failures_in_a_row = done.ok() ? 0 : project.failures_in_a_row + 1;
  {
    const std::lock_guard lock(mutex_);
    metrics::HubPushLook& look = looks_[at];
    if (const double accepted = project.push->state().accepted_time; accepted > 0)
      look.accepted_time = accepted;
    if (done.ok()) look.checked_time = UnixNow();
    if (!done.ok()) ++look.failures;
  }
  if (!done.ok()) {
    if (done.message() != project.last_warning) Warn(project, done.message());
  } else if (!project.last_warning.empty()) {
    if (options_.info)
      options_.info("project " + std::to_string(project.entry.id.value) + ": the hub has all accounts again");
    project.last_warning.clear();
  }
  return WaitAfter(project.failures_in_a_row, project.push->asked(), options_.hub.push_interval);
}

void FeedSender::Warn(Pushed& project, const std::string& problem) {
  project.last_warning = problem;
  if (options_.warn)
    options_.warn("accounts of project " + std::to_string(project.entry.id.value) +
                  " for the hub: " + problem);
}

Result<PushedContents> FeedSender::Contents(const settings::ProjectEntry& entry) {
  auto source = exports::StateSource::Open(state_, {.project = entry.id, .statsexport_enabled = {}});
  if (!source.ok()) return source.status();
  PushedContents contents{.source = {}, .time = (*source)->event_time(), .facts = {}};
  contents.source = std::move(*source);
  wire::FeedProject project{.name = entry.name,
                            .url = {},
                            .mode = wire::FeedMode::kDirect,
                            .present = wire::FeedProject::kRequired};
  const auto published = questions_.AppVersions(entry.id);
  if (published.ok()) {
    if (const std::string name = published->at("name").get<std::string>(); !name.empty()) project.name = name;
    project.url = published->at("url").get<std::string>();
    if (!project.url.empty()) project.present |= wire::FeedProject::kUrl;
  } else if (published.status().code() != StatusCode::kNotFound) {
    return published.status();
  }
  contents.facts.emplace_back("project", std::move(project));
  contents.facts.emplace_back("health", HealthOf(pipeline_.CheckHealth()));
  if (published.ok())
    if (wire::FeedVersions versions = FeedVersionsOf(*published); versions.as_of > 0)
      contents.facts.emplace_back("versions", std::move(versions));
  return contents;
}

}  // namespace cobblestone::hub

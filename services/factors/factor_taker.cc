#include "services/factors/factor_taker.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include "common/federation/plan_class.h"
#include "common/wire/events/event_codec.h"
#include "services/coordinator/coordinator_stage.h"
#include "services/factors/hub_answer.h"

namespace cobblestone::factors {
namespace {

constexpr std::string_view kPath = "/api/v1/federation/factors";
constexpr double kFirstRetry = 5;  // s

void PutDelimited(const std::string& envelope, std::string* out) {
  std::size_t length = envelope.size();
  for (; length >= 0x80; length >>= 7) out->push_back(static_cast<char>(length | 0x80));
  out->push_back(static_cast<char>(length));
  out->append(envelope);
}

ProjectFactors FactorsOf(std::uint32_t project, const coordinator::ProjectState& state) {
  ProjectFactors made{.project = ProjectId(project), .time = state.last_tick};
  for (const auto& [id, version] : state.catalogue.versions) {
    const auto resource = version.resource != credit::Resource::kUnknown
                              ? version.resource
                              : federation::ResourceOfPlanClass(version.plan_class);
    if (!version.deleted && version.IsGpu() && !version.plan_class.empty())
      made.classes.try_emplace(version.plan_class, resource);
  }
  for (const auto& [plan_class, factor] : state.catalogue.plan_class_factors)
    made.in_force[plan_class].factor = factor;
  return made;
}

// Of the events that set the factors; `none`: without such an event.
double NewestTime(const std::vector<ProjectFactors>& projects, double none) {
  double newest = 0;
  for (const ProjectFactors& project : projects)
    for (const auto& [plan_class, in_force] : project.in_force) newest = std::max(newest, in_force.time);
  return newest > 0 ? newest : none;
}

}  // namespace

FactorTaker::FactorTaker(TakerOptions options, view::State& state, gateway::Pipeline& pipeline)
    : options_(std::move(options)), state_(state), pipeline_(pipeline) {
  look_.as_of = Now();  // until the first answer: the age counts from the start
  thread_ = std::thread([this] { Run(); });
}

FactorTaker::~FactorTaker() {
  {
    const std::lock_guard lock(wake_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

double FactorTaker::Now() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

metrics::HubLook FactorTaker::Look() const {
  const std::lock_guard lock(mutex_);
  return look_;
}

std::chrono::duration<double> FactorTaker::NextWait(std::uint64_t failures_in_a_row) {
  double wait = std::chrono::duration<double>(options_.hub.interval).count();
  if (failures_in_a_row > 0)
    wait = std::min(
        wait, kFirstRetry * static_cast<double>(1ULL << std::min<std::uint64_t>(failures_in_a_row - 1, 20)));
  std::random_device device;
  std::uniform_real_distribution<double> chance(0.8, 1.2);
  return std::chrono::duration<double>(wait * chance(device));
}

void FactorTaker::Run() {
  std::uint64_t failures = 0;
  while (!stop_) {
    failures = AskNow().ok() ? 0 : failures + 1;
    std::unique_lock lock(wake_mutex_);
    wake_.wait_for(lock, NextWait(failures), [this] { return stop_.load(); });
  }
}

Status FactorTaker::AskNow() {
  const std::lock_guard asking(asking_);
  std::string problem;
  Status asked = Ask(&problem);
  if (stop_ && !asked.ok()) return asked;  // the question was cut off
  if (!asked.ok()) problem = asked.message();
  const std::lock_guard lock(mutex_);
  if (asked.ok()) {
    look_.last_success = Now();
    look_.as_of = newest_;
    look_.answered = true;
  } else if (!look_.answered) {
    // The process may have been restarted while the hub was away.
    if (const auto projects = Committed(); projects.ok()) look_.as_of = NewestTime(*projects, look_.as_of);
  }
  if (!problem.empty()) ++look_.failures;
  if (problem == last_warning_) return asked;
  if (problem.empty() && options_.info) options_.info("the hub answers again");
  if (!problem.empty() && options_.warn)
    options_.warn("factors of the hub: " + problem + ". The factors in force stay");
  last_warning_ = problem;
  return asked;
}

Status FactorTaker::Ask(std::string* rejected) {
  const auto body =
      Fetch(options_.hub.url + std::string(kPath), options_.hub.ca_file, options_.limits, stop_);
  if (!body.ok()) return body.status();
  auto answer = ParseHubAnswer(*body);
  if (!answer.ok()) return answer.status();
  answer->hub = options_.hub.url;
  if (answer->as_of > Now() + options_.future_limit)
    return Status::InvalidArgument("the hub's answer is from the future; is a clock wrong?");
  if (answer->as_of < newest_)
    return Status::InvalidArgument("the hub's answer, sequence " + std::to_string(answer->sequence) +
                                   ", is older than its answer before");
  auto projects = Committed();
  if (!projects.ok()) return projects.status();
  const FactorEvents made = EventsOf(*answer, *projects);
  if (Status sent = Send(made.events); !sent.ok()) return sent;
  newest_ = answer->as_of;
  if (!made.events.empty() && options_.info)
    options_.info("applied " + std::to_string(made.events.size()) + " factors of hub " + answer->hub +
                  ", sequence " + std::to_string(answer->sequence));
  for (const std::string& one : made.rejected) *rejected += (rejected->empty() ? "" : "; ") + one;
  return Status::Ok();
}

Result<std::vector<ProjectFactors>> FactorTaker::Committed() {
  const auto rows = state_.Of(view::Stage::kCoordinator, 0);
  if (!rows.ok()) return rows.status();
  std::map<std::uint32_t, ProjectFactors> found;
  Status read = view::ForEach(**rows, coordinator::kProjectsTable,
                              [&](const stream::Key& key, const coordinator::ProjectState& state) {
                                found[key.project] = FactorsOf(key.project, state);
                                return Status::Ok();
                              });
  if (!read.ok()) return read;
  read = view::ForEach(**rows, coordinator::kFactorOriginsTable,
                       [&](const stream::Key& key, const coordinator::FactorOriginsRow& row) {
                         for (const auto& [plan_class, origin] : row.origins)
                           found[key.project].in_force[plan_class].time = origin.time;
                         return Status::Ok();
                       });
  if (!read.ok()) return read;
  for (auto it = sent_.begin(); it != sent_.end();) {
    const auto project = found.find(it->first.first);
    const bool shown =
        project == found.end() || project->second.in_force[it->first.second].time >= it->second.time;
    if (!shown) project->second.in_force[it->first.second] = it->second;
    it = shown ? sent_.erase(it) : std::next(it);
  }
  std::vector<ProjectFactors> projects;
  for (auto& [id, project] : found) projects.push_back(std::move(project));
  return projects;
}

Status FactorTaker::Send(const std::vector<wire::Event>& events) {
  if (events.empty()) return Status::Ok();
  const auto source = pipeline_.Source(options_.source);
  if (!source.ok()) return source.status();
  std::string body;
  for (const wire::Event& event : events) PutDelimited(wire::EncodeEvent(event), &body);
  const auto outcome = pipeline_.Append({.source = options_.source,
                                         .sender = {},
                                         .first_line = source->lines,
                                         .format = gateway::EventBatch::Format::kDelimited,
                                         .body = body});
  if (!outcome.ok()) return outcome.status();
  if (outcome->others_source || !outcome->conflict.empty() || !outcome->bad.empty())
    return Status::Retry("the factors could not be sent: " +
                         (outcome->others_source
                              ? "source " + options_.source + " belongs to a token of the gateway"
                          : !outcome->conflict.empty() ? outcome->conflict
                                                       : outcome->bad.front().reason));
  for (const wire::Event& event : events) {
    const auto& factor = std::get<wire::PlanClassFactor>(event.body);
    sent_[{event.head.project.value, factor.plan_class}] = {.factor = factor.factor, .time = event.head.time};
  }
  return Status::Ok();
}

}  // namespace cobblestone::factors

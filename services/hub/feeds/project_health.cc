#include "services/hub/feeds/project_health.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "services/hub/feeds/document.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/feeds/figures.h"

namespace cobblestone::hub {
namespace {

constexpr std::int64_t kErrorProjectDown = -183;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

bool IsSet(std::string_view value) { return Trimmed(value) != "0"; }

struct StatusNumber {
  std::string_view tag;
  std::optional<double> ServerStatus::*number;
};
constexpr std::array kStatusNumbers = {
    StatusNumber{"results_ready_to_send", &ServerStatus::ready_to_send},
    StatusNumber{"results_in_progress", &ServerStatus::in_progress},
    StatusNumber{"workunits_waiting_for_validation", &ServerStatus::waiting_for_validation},
    StatusNumber{"workunits_waiting_for_assimilation", &ServerStatus::waiting_for_assimilation},
    StatusNumber{"transitioner_backlog_hours", &ServerStatus::transitioner_backlog_hours},
    StatusNumber{"users_with_recent_credit", &ServerStatus::users_with_recent_credit},
    StatusNumber{"users_with_credit", &ServerStatus::users_with_credit},
    StatusNumber{"hosts_with_recent_credit", &ServerStatus::hosts_with_recent_credit},
    StatusNumber{"current_floating_point_speed", &ServerStatus::gigaflops},
};

ProjectDaemon DaemonOf(std::string_view text) {
  ProjectDaemon daemon;
  ElementScan scan(text);
  while (scan.Next()) {
    if (scan.tag() == "host") daemon.host = TextBytes(Trimmed(scan.value()));
    if (scan.tag() == "command") daemon.command = TextBytes(Trimmed(scan.value()));
    if (scan.tag() != "status") continue;
    const std::string_view state = Trimmed(scan.value());
    daemon.state = state == "running"    ? DaemonState::kRunning
                   : state == "disabled" ? DaemonState::kDisabled
                                         : DaemonState::kNotRunning;
  }
  return daemon;
}

AppTasks TasksOf(std::string_view text) {
  AppTasks app;
  ElementScan scan(text);
  while (scan.Next()) {
    const std::string_view value = Trimmed(scan.value());
    if (scan.tag() == "name") app.name = TextBytes(value);
    if (scan.tag() == "unsent") app.unsent = ParseMeasure(value);
    if (scan.tag() == "in_progress") app.in_progress = ParseMeasure(value);
    if (scan.tag() == "users") app.users = ParseMeasure(value);
  }
  return app;
}

// The elements of the document are in groups, whose depth has changed between servers.
void ReadStatus(std::string_view text, ServerStatus* status, bool* bad) {
  ElementScan scan(text);
  while (scan.Next()) {
    const std::string_view tag = scan.tag();
    if (tag == "daemon_status" || tag == "database_file_states" || tag == "tasks_by_app") {
      ReadStatus(scan.value(), status, bad);
    } else if (tag == "daemon") {
      status->daemons.push_back(DaemonOf(scan.value()));
    } else if (tag == "app") {
      status->apps.push_back(TasksOf(scan.value()));
    } else {
      for (const StatusNumber& known : kStatusNumbers)
        if (tag == known.tag) status->*known.number = ParseMeasure(Trimmed(scan.value()));
    }
  }
  *bad = *bad || scan.bad();
}

// Without scheme, "www.", upper case in the host and the slash at the end: http://www.Example.org/x/ and
// https://example.org/x are one project.
std::string PlaceOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  while (url.ends_with('/')) url.remove_suffix(1);
  std::string place(url);
  const std::size_t host = std::min(place.find('/'), place.size());
  for (std::size_t i = 0; i < host; ++i)
    if (place[i] >= 'A' && place[i] <= 'Z') place[i] = static_cast<char>(place[i] + 32);
  return place.starts_with("www.") ? place.substr(4) : place;
}

bool IsValidator(const ProjectDaemon& daemon) { return daemon.command.find("validat") != std::string::npos; }
bool IsScheduler(const ProjectDaemon& daemon) { return daemon.command.starts_with("Scheduler"); }

// A fetch that failed because the server is not there, rather than because it does not answer this question.
bool IsOutage(FetchFailure failure) {
  switch (failure) {
    case FetchFailure::kUnreachable:
    case FetchFailure::kTls:
    case FetchFailure::kTimeout:
    case FetchFailure::kIncomplete:
    case FetchFailure::kServerError:
    case FetchFailure::kPage: return true;
    default: return false;
  }
}

std::string Whole(double number) { return std::to_string(std::llround(number)); }

class HealthJudge {
 public:
  HealthJudge(const HealthEvidence& evidence, const HealthLimits& limits)
      : evidence_(evidence), limits_(limits) {}

  Health Judge() {
    JudgePlace();
    JudgeOutage();
    JudgeStopped();
    if (evidence_.status) {
      JudgeValidation(*evidence_.status);
      JudgeWork(*evidence_.status);
    }
    if (health_.reasons.empty() && (evidence_.status || evidence_.config)) health_.state = HealthState::kFine;
    if (health_.state == HealthState::kUnknown && evidence_.status_failure != FetchFailure::kNone)
      health_.reasons.push_back("server_status.php: " +
                                std::string(FetchFailureName(evidence_.status_failure)));
    return std::move(health_);
  }

 private:
  void Add(HealthState state, std::string reason) {
    if (health_.reasons.empty()) health_.state = state;
    health_.reasons.push_back(std::move(reason));
  }

  void JudgePlace() {
    if (!evidence_.moved_to.empty()) {
      Add(HealthState::kMoved, "the server redirects permanently to " + evidence_.moved_to);
    } else if (evidence_.config && !evidence_.config->master_url.empty() &&
               PlaceOf(evidence_.config->master_url) != PlaceOf(evidence_.master_url)) {
      Add(HealthState::kMoved,
          "the project says that its URL is " + UrlForMessages(evidence_.config->master_url));
    }
  }

  void JudgeOutage() {
    if (evidence_.status || evidence_.config) return;
    for (const FetchFailure failure : {evidence_.config_failure, evidence_.status_failure}) {
      if (!IsOutage(failure)) continue;
      Add(HealthState::kDown, "the server does not answer: " + std::string(FetchFailureName(failure)));
      return;
    }
  }

  void JudgeStopped() {
    if (evidence_.config) {
      const ProjectConfig& config = *evidence_.config;
      if (config.web_stopped || config.error_num == kErrorProjectDown)
        Add(HealthState::kStopped, "the project has stopped its web site for maintenance");
      if (config.sched_stopped) Add(HealthState::kStopped, "the project has stopped its scheduler");
    }
    if (!evidence_.status) return;
    for (const ProjectDaemon& daemon : evidence_.status->daemons)
      if (IsScheduler(daemon) && daemon.state != DaemonState::kRunning)
        Add(HealthState::kStopped, "the scheduler on " + Printable(daemon.host) + " does not run");
  }

  void JudgeValidation(const ServerStatus& status) {
    const double waiting = status.waiting_for_validation.value_or(0);
    for (const ProjectDaemon& daemon : status.daemons) {
      if (!IsValidator(daemon) || daemon.state != DaemonState::kNotRunning || waiting <= 0) continue;
      Add(HealthState::kValidatorStuck, Printable(daemon.command) + " does not run, and " + Whole(waiting) +
                                            " workunits wait for validation");
      break;
    }
    if (evidence_.earlier && evidence_.earlier_by >= limits_.compared_after &&
        waiting > limits_.validation_backlog &&
        waiting >= evidence_.earlier->waiting_for_validation.value_or(waiting + 1)) {
      Add(HealthState::kValidatorStuck, Whole(waiting) + " workunits wait for validation, after " +
                                            Whole(*evidence_.earlier->waiting_for_validation) + " " +
                                            Whole(evidence_.earlier_by / 3600) + " hours before");
    }
    const double backlog = status.transitioner_backlog_hours.value_or(0);
    if (backlog > limits_.transitioner_hours)
      Add(HealthState::kValidatorStuck,
          "the transitioner, which starts validation, is " + Whole(backlog) + " hours late");
  }

  void JudgeWork(const ServerStatus& status) {
    if (!status.ready_to_send || *status.ready_to_send > 0) return;
    Add(HealthState::kNoWork,
        "no task is ready to send; " + Whole(status.in_progress.value_or(0)) + " are in progress");
  }

  const HealthEvidence& evidence_;
  const HealthLimits& limits_;
  Health health_;
};

}  // namespace

std::variant<ServerStatus, FileRefusal> ParseServerStatus(std::string_view bytes, const std::string& name) {
  const Document document(bytes, name, "server_status");
  if (document.refusal()) return *document.refusal();
  ServerStatus status;
  bool bad = false;
  ReadStatus(document.contents(), &status, &bad);
  if (bad) return document.Refusal(FileProblem::kUnclosedElement, {}, "server_status");
  return status;
}

std::variant<ProjectConfig, FileRefusal> ParseProjectConfig(std::string_view bytes, const std::string& name) {
  // A project that demands a newer client answers without the opening tag.
  constexpr std::string_view kOpen = "<project_config>";
  const std::string repaired =
      bytes.find(kOpen) == std::string_view::npos && bytes.find("<error_num>") != std::string_view::npos
          ? std::string(kOpen) + std::string(bytes.substr(std::min(bytes.find("<error"), bytes.size())))
          : std::string(bytes);
  const Document document(repaired, name, "project_config");
  if (document.refusal()) return *document.refusal();
  ProjectConfig config;
  ElementScan scan(document.contents());
  while (scan.Next()) {
    const std::string_view tag = scan.tag();
    const std::string_view value = Trimmed(scan.value());
    if (tag == "name") config.name = TextBytes(value);
    if (tag == "master_url") config.master_url = value;
    if (tag == "web_rpc_url_base") config.web_rpc_url_base = value;
    if (tag == "server_version") config.server_version = value;
    if (tag == "web_stopped") config.web_stopped = IsSet(value);
    if (tag == "sched_stopped") config.sched_stopped = IsSet(value);
    if (tag == "account_manager") config.account_manager = IsSet(value);
    if (tag == "account_creation_disabled") config.account_creation_disabled = IsSet(value);
    if (tag == "error_num") {
      if (const auto number = ParseMeasure(value); number && std::abs(*number) < 1e9)
        config.error_num = static_cast<std::int64_t>(*number);
    }
  }
  if (scan.bad()) return document.Refusal(FileProblem::kUnclosedElement, {}, Printable(scan.rest()));
  return config;
}

std::string_view HealthStateName(HealthState state) {
  switch (state) {
    case HealthState::kFine: return "fine";
    case HealthState::kMoved: return "moved";
    case HealthState::kDown: return "down";
    case HealthState::kStopped: return "stopped";
    case HealthState::kValidatorStuck: return "validator_stuck";
    case HealthState::kNoWork: return "no_work";
    case HealthState::kUnknown: break;
  }
  return "unknown";
}

Health HealthOf(const HealthEvidence& evidence, const HealthLimits& limits) {
  return HealthJudge(evidence, limits).Judge();
}

}  // namespace cobblestone::hub

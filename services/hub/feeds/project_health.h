// What a stock project says about its own servers: server_status.php?xml=1 and get_project_config.php, and what follows
// from both. A project without new credit can be out of work, have a validator that stands still, be stopped by its
// operators, be down, or have moved. Pure functions, for any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/hub/feeds/fetcher.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

enum class DaemonState : std::uint8_t { kRunning, kNotRunning, kDisabled };

struct ProjectDaemon {
  std::string host{};
  std::string command{};  // "sample_bitwise_validator (app)"
  DaemonState state = DaemonState::kRunning;
};

struct AppTasks {
  std::string name{};
  std::optional<double> unsent{};
  std::optional<double> in_progress{};
  std::optional<double> users{};  // in the last 24 hours
};

// A number that is missing or not finite is absent. The server recomputes the numbers once an hour.
struct ServerStatus {
  std::vector<ProjectDaemon> daemons{};
  std::optional<double> ready_to_send{};
  std::optional<double> in_progress{};
  std::optional<double> waiting_for_validation{};
  std::optional<double> waiting_for_assimilation{};
  std::optional<double> transitioner_backlog_hours{};
  std::optional<double> users_with_recent_credit{};
  std::optional<double> users_with_credit{};
  std::optional<double> hosts_with_recent_credit{};
  std::optional<double> gigaflops{};
  std::vector<AppTasks> apps{};
};

struct ProjectConfig {
  std::string name{};
  std::string master_url{};
  // Where RPCs and statistics are, if not below master_url.
  std::string web_rpc_url_base{};
  std::string server_version{};
  bool web_stopped = false;
  bool sched_stopped = false;
  bool account_manager = false;
  bool account_creation_disabled = false;
  std::optional<std::int64_t> error_num{};  // -183: stopped for maintenance
};

// Whole answers, at most 1 MiB. A web page or a cut answer is a refusal.
std::variant<ServerStatus, FileRefusal> ParseServerStatus(std::string_view bytes, const std::string& name);
std::variant<ProjectConfig, FileRefusal> ParseProjectConfig(std::string_view bytes, const std::string& name);

// The numbers never change: they are stored and exported as metrics. In the order in which one hides the others.
enum class HealthState : std::uint8_t {
  kUnknown = 0,  // nothing was asked, or the project answers neither question (404)
  kFine = 1,
  kMoved = 2,
  kDown = 3,
  kStopped = 4,
  kValidatorStuck = 5,
  kNoWork = 6,
};
std::string_view HealthStateName(HealthState state);

struct HealthLimits {
  double validation_backlog = 1000;  // workunits
  double compared_after = 6 * 3600;  // s between two statuses of which the later has no smaller backlog
  double transitioner_hours = 12;
};

struct HealthEvidence {
  std::string master_url{};  // as the hub knows the project
  std::string moved_to{};    // by a permanent redirect; empty: none
  std::optional<ServerStatus> status{};
  FetchFailure status_failure = FetchFailure::kNone;
  std::optional<ProjectConfig> config{};
  FetchFailure config_failure = FetchFailure::kNone;
  // An older status of the same project, and how many s before `status` it was fetched.
  std::optional<ServerStatus> earlier{};
  double earlier_by = 0;
};

struct Health {
  HealthState state = HealthState::kUnknown;
  // For people; the first one is why `state`, others follow. Empty: fine.
  std::vector<std::string> reasons{};
};

Health HealthOf(const HealthEvidence& evidence, const HealthLimits& limits);

}  // namespace cobblestone::hub

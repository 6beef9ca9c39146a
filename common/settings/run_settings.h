// The configuration of `cobblestone run`: typed, in range, with all defaults filled in. This struct is the
// only place that defines defaults; common/settings/registry.cc has each option's range and reason.
//
// Pure except LoadRunSettings, which reads one file. Threads: any. Nothing here throws.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/ip_network.h"
#include "common/base/status.h"

namespace cobblestone::settings {

using Duration = std::chrono::microseconds;
using Bytes = std::uint64_t;  // a plain number, because it is only passed to other libraries' options

inline constexpr Bytes kMiB = 1u << 20;
inline constexpr Bytes kGiB = 1u << 30;

// A pipeline of projects, or a federation hub (docs/design/federation.md).
enum class Role : std::uint8_t { kProject, kHub };
enum class Backend : std::uint8_t { kEmbedded, kKafka };
enum class KafkaSecurity : std::uint8_t { kPlaintext, kSsl, kSaslPlaintext, kSaslSsl };
enum class KafkaMechanism : std::uint8_t { kScramSha512, kScramSha256, kPlain };
enum class KafkaStandby : std::uint8_t { kNone, kCheckpoint, kHot };
enum class KafkaMembership : std::uint8_t { kStatic, kDynamic };
enum class Ticks : std::uint8_t { kInput, kWall };
enum class Order : std::uint8_t { kArrival, kLockstep };
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };
enum class LogFormat : std::uint8_t { kText, kJson };
enum class AnonymousRole : std::uint8_t { kRead, kNone };
enum class GatewayFollow : std::uint8_t { kCheckpoints, kCommits };
enum class AccountsVisible : std::uint8_t { kPublic, kOwn };

// The stages of a pipeline of projects; a process on Kafka may run a subset (kafka.slots: by_stage).
enum class Stage : std::uint8_t { kClaims, kGrants, kAccounts, kTeams, kCoordinator };
inline constexpr std::string_view kStageNames[] = {"claims", "grants", "accounts", "teams", "coordinator"};
struct StageSet {
  std::uint8_t bits = 0x1f;  // indexed by Stage

  [[nodiscard]] bool has(Stage stage) const { return (bits >> static_cast<int>(stage) & 1) != 0; }
  static StageSet Of(Stage stage) { return {static_cast<std::uint8_t>(1u << static_cast<int>(stage))}; }
  friend bool operator==(const StageSet&, const StageSet&) = default;
};
enum class KafkaSlots : std::uint8_t { kTogether, kByStage };

struct CommitSettings {
  Duration interval = std::chrono::milliseconds(10);
  std::uint64_t max_records = 20000;
  Bytes max_bytes = 4 * kMiB;
};

struct StateSettings {
  Duration flush_interval = std::chrono::seconds(5);
  std::uint64_t max_debt_records = 1000000;
};

struct CheckpointSettings {
  Duration interval = std::chrono::seconds(60);
  std::uint32_t keep = 2;
  bool verify = true;
};

struct MemorySettings {
  Bytes objects = kGiB;
  Bytes block_cache = 256 * kMiB;
  Bytes log_tail = 256 * kMiB;
  Bytes write_buffer = 128 * kMiB;
};

struct RetentionSettings {
  Duration inputs_age = std::chrono::days(3);
  Bytes inputs_bytes = 50 * kGiB;
};

// For the kafka backend only. The file never contains secrets: it names files or environment variables.
struct KafkaSettings {
  std::string bootstrap = "127.0.0.1:9092";
  std::string prefix = "cobblestone";
  std::string instance;  // never empty after parsing with the kafka backend
  std::uint32_t replication = 3;
  KafkaSecurity security = KafkaSecurity::kPlaintext;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string key_password_file;
  KafkaMechanism mechanism = KafkaMechanism::kScramSha512;
  std::string user;
  std::string password_file;
  std::string password_variable;
  Duration session_timeout = std::chrono::seconds(10);
  Duration transaction_timeout = std::chrono::seconds(10);
  Duration commit_min = std::chrono::milliseconds(10);
  Duration commit_max = std::chrono::milliseconds(50);
  Duration checkpoint_interval = std::chrono::seconds(30);
  KafkaSlots slots = KafkaSlots::kTogether;
  KafkaStandby standby = KafkaStandby::kNone;
  KafkaMembership membership = KafkaMembership::kStatic;
  std::uint32_t alarm_refused_percent = 20;
  Duration alarm_window = std::chrono::minutes(5);
  std::string options;
};

struct ListenSettings {
  std::string socket;  // never empty after parsing
};

// The HTTP interface. The file never contains secrets: it names the file that has them.
struct GatewaySettings {
  std::string listen;  // host:port, port 0 for any free port; empty: no gateway within `run`
  std::string tls_certificate;
  std::string tls_key;
  bool allow_plaintext = false;
  std::vector<IpNetwork> trusted_proxies;  // whose X-Forwarded-For is trusted
  std::string hosts;                       // comma-separated names that requests may use for this server
  std::string tokens_file;
  AnonymousRole anonymous_role = AnonymousRole::kRead;
  AccountsVisible accounts_visible = AccountsVisible::kPublic;
  bool leaders = true;
  GatewayFollow follow = GatewayFollow::kCheckpoints;  // on Kafka
  std::uint32_t rate_limit = 20;                       // requests/s per address
  std::uint32_t rate_burst = 200;
  Bytes largest_body = 16 * kMiB;
  Duration timeout = std::chrono::seconds(30);
  std::uint32_t connections = 512;
  std::uint32_t connections_per_address = 64;
  std::uint32_t streams = 16;
  bool access_log = false;
};

// What each project may send through this process, unless its entry in `projects` says otherwise
// (services/intake/quotas.h).
struct QuotaSettings {
  std::uint64_t events_per_second = 0;  // 0: no limit
  Bytes bytes_per_second = 0;           // 0: no limit
  Duration burst = std::chrono::seconds(10);
};

// The federation hub whose factors of plan classes this deployment uses, and which receives the accounts of projects with
// a `hub_project`.
struct HubSettings {
  std::string url;  // http:// or https://, without a '/' at its end; empty: no hub
  bool factors = true;
  Duration interval = std::chrono::minutes(10);
  std::string ca_file;          // empty: the system's
  std::string push_token_file;  // empty: nothing is pushed
  Duration push_interval = std::chrono::minutes(10);
};

// role: hub. What `cobblestone hub snapshot` writes (docs/operations/federation-hub.md).
struct SnapshotSettings {
  std::string directory;  // of the snapshots; empty: none
  std::string key_file;   // Ed25519, private
  std::string hub;        // URL or name of the operator
  std::string consent;
  std::string continues;   // why this key continues the chain of another key
  std::uint32_t keep = 0;  // 0: all
  std::string combined;    // directory of the statistics files over all projects; empty: none
};

struct MetricsSettings {
  std::string listen;  // host:port; empty: disabled
};

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

// More accounts of account managers at one project than exist, and as many as an event may have.
inline constexpr std::size_t kMostSharedAccounts = 1000;

// A project that the operator names in the configuration. The project's own events override its name.
struct ProjectEntry {
  ProjectId id;  // never 0
  std::string name;
  // Instead of those of QuotaSettings; 0: no limit.
  std::optional<std::uint64_t> events_per_second{};
  std::optional<Bytes> bytes_per_second{};
  // role: hub. What `cobblestone hub collect` fetches; empty: nothing.
  std::string url{};         // master URL: condition and app versions
  std::string statistics{};  // URL of the directory with the statistics files
  // role: hub. What the hub should know of the project that the project does not publish.
  std::string ownership_key{};  // file with the public key (PEM) of signed proofs of ownership; empty: none
  std::string ownership_key_place{};  // "hub.yaml:12:5": of the option, for messages about the file
  double points_per_cobblestone = 0;  // 0: 1
  std::int64_t points_since = 0;  // UNIX day from which on points_per_cobblestone holds; 0: for all credit
  std::optional<Duration>
      erase_after{};  // texts of accounts that the project no longer exports; absent: 30 days
  std::vector<std::uint64_t> shared_accounts{};  // users that belong to an account manager; each once
  bool account_manager = false;                  // it is an account manager, and its users are the members
  std::optional<Duration> fetch_time{};          // for one export of the project; absent: 30 minutes
  // role: project. The hub's number of this project, whose accounts are pushed to hub.url; none: they are not.
  std::optional<ProjectId> hub_project{};
};

struct RunSettings {
  Role role = Role::kProject;
  Backend backend = Backend::kEmbedded;
  std::string data_directory = "cobblestone-data";
  StageSet stages;
  std::uint32_t partitions = 8;
  std::uint32_t threads = 0;  // in a file, 0 means one per core; never 0 after parsing
  CommitSettings commit;
  StateSettings state;
  CheckpointSettings checkpoint;
  MemorySettings memory;
  RetentionSettings retention;
  KafkaSettings kafka;
  Ticks ticks = Ticks::kInput;
  Order order = Order::kArrival;
  bool sync = true;
  ListenSettings listen;
  GatewaySettings gateway;
  QuotaSettings quota;
  HubSettings hub;
  SnapshotSettings snapshots;
  MetricsSettings metrics;
  Duration future_limit = std::chrono::hours(1);
  LogSettings log;
  std::vector<ProjectEntry> projects;  // unique ids and names
};

// `file_name` is for messages only. kInvalidArgument: one line per error, at most 20, each as
// "file:line:column: key: what was found and what is allowed". An empty text gives all defaults.
Result<RunSettings> ParseRunSettings(std::string_view text, std::string_view file_name);

// As above; kNotFound when there is no such file.
Result<RunSettings> LoadRunSettings(const std::string& path);

// All options as a Markdown table: option, allowed values, default, reason.
std::string DescribeOptions();

// A configuration file with every default, each with its range and reason as a comment: config/default.yaml.
std::string DefaultConfigFile();

// The kind of a deployment, fixed when its data are created: a pipeline in order of arrival, one in lockstep, or a hub.
inline constexpr std::string_view kArrivalKind = "arrival";
inline constexpr std::string_view kLockstepKind = "lockstep";
inline constexpr std::string_view kHubKind = "hub";
std::string_view KindOf(const RunSettings& settings);
// The message for a configuration of another kind than the data. `place`: what holds the data, with a verb ("the topics
// were"); `instead`: what to use for a new deployment.
std::string OtherKind(const std::string& place, std::string_view made, std::string_view configured,
                      std::string_view instead);

}  // namespace cobblestone::settings

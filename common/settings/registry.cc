#include "common/settings/registry.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

namespace cobblestone::settings {
namespace {

constexpr std::int64_t kMillisecond = 1000;  // base unit of durations: microsecond
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kKiBytes = std::int64_t{1} << 10;
constexpr std::int64_t kMiBytes = std::int64_t{1} << 20;
constexpr std::int64_t kGiBytes = std::int64_t{1} << 30;
constexpr std::int64_t kTiBytes = std::int64_t{1} << 40;

// Indexed by the enum of the same name in run_settings.h.
constexpr std::string_view kRoles[] = {"project", "hub"};
constexpr std::string_view kBackends[] = {"embedded", "kafka"};
constexpr std::string_view kTicks[] = {"input", "wall"};
constexpr std::string_view kOrders[] = {"arrival", "lockstep"};
constexpr std::string_view kLevels[] = {"error", "warn", "info", "debug"};
constexpr std::string_view kFormats[] = {"text", "json"};
constexpr std::string_view kSecurities[] = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"};
constexpr std::string_view kMechanisms[] = {"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"};
constexpr std::string_view kStandbys[] = {"none", "checkpoint", "hot"};
constexpr std::string_view kSlots[] = {"together", "by_stage"};
constexpr std::string_view kFollows[] = {"checkpoints", "commits"};
constexpr std::string_view kAnonymousRoles[] = {"read", "none"};
constexpr std::string_view kVisibilities[] = {"public", "own"};
constexpr std::string_view kMemberships[] = {"static", "dynamic"};

Option Count(std::string_view key, Target (*target)(RunSettings&), std::int64_t least, std::int64_t most,
             std::string_view reason) {
  return {.key = key,
          .target = target,
          .kind = Kind::kQuantity,
          .reason = reason,
          .quantity = Quantity::kCount,
          .least = least,
          .most = most};
}

Option Size(std::string_view key, Target (*target)(RunSettings&), std::int64_t least, std::int64_t most,
            std::string_view reason) {
  return {.key = key,
          .target = target,
          .kind = Kind::kQuantity,
          .reason = reason,
          .quantity = Quantity::kBytes,
          .least = least,
          .most = most};
}

Option Time(std::string_view key, Target (*target)(RunSettings&), std::int64_t least, std::int64_t most,
            std::string_view reason) {
  return {.key = key,
          .target = target,
          .kind = Kind::kQuantity,
          .reason = reason,
          .quantity = Quantity::kDuration,
          .least = least,
          .most = most};
}

Option Flag(std::string_view key, Target (*target)(RunSettings&), std::string_view reason) {
  return {.key = key, .target = target, .kind = Kind::kFlag, .reason = reason};
}

Option Choice(std::string_view key, Target (*target)(RunSettings&), std::span<const std::string_view> choices,
              std::string_view reason) {
  return {.key = key, .target = target, .kind = Kind::kChoice, .reason = reason, .choices = choices};
}

Option Set(std::string_view key, Target (*target)(RunSettings&), std::span<const std::string_view> choices,
           std::string_view reason) {
  return {.key = key, .target = target, .kind = Kind::kSet, .reason = reason, .choices = choices};
}

Option Networks(std::string_view key, Target (*target)(RunSettings&), std::string_view reason) {
  return {.key = key, .target = target, .kind = Kind::kNetworks, .reason = reason};
}

Option Text(std::string_view key, Target (*target)(RunSettings&), std::string_view allowed, bool may_be_empty,
            std::string_view reason) {
  return {.key = key,
          .target = target,
          .kind = Kind::kText,
          .reason = reason,
          .text_allowed = allowed,
          .may_be_empty = may_be_empty};
}

// The target of an option: AT(commit.interval) is a function from settings to the address of this member.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name cannot stand in parentheses.
#define COBBLESTONE_AT(member) +[](RunSettings& s) -> Target { return &s.member; }

std::vector<Option> MakeOptions() {
  return {
      Choice(
          "role", COBBLESTONE_AT(role), kRoles,
          "project: credit for results; hub: accounts and factors of many projects; fixed like partitions"),
      Choice("backend", COBBLESTONE_AT(backend), kBackends,
             "location of the log: a database on this machine, or a Kafka cluster for many machines"),
      Text("data_directory", COBBLESTONE_AT(data_directory), "a directory, relative to the working directory",
           false, "holds log, state and checkpoints; created if missing; needs a disk that honours sync"),
      Set("stages", COBBLESTONE_AT(stages), kStageNames,
          "stages that this process runs; a subset is only allowed on Kafka with kafka.slots: by_stage"),
      Count("partitions", COBBLESTONE_AT(partitions), 1, 4096,
            "partitions of every topic, each processed by one thread; fixed when the directory is created"),
      Count("threads", COBBLESTONE_AT(threads), 0, 1024,
            "threads that process partitions; 0: one per core; threads beyond the number of "
            "partitions stay idle"),

      Time("commit.interval", COBBLESTONE_AT(commit.interval), 0, 10 * kSecond,
           "time between synced writes: longer needs fewer syncs, shorter gives lower latency"),
      Count("commit.max_records", COBBLESTONE_AT(commit.max_records), 1, 10000000,
            "input records that trigger a commit at once: limits the work to repeat after a crash"),
      Size("commit.max_bytes", COBBLESTONE_AT(commit.max_bytes), 4 * kKiBytes, kGiBytes,
           "output bytes that trigger a commit at once: a large write delays the next write"),

      Time("state.flush_interval", COBBLESTONE_AT(state.flush_interval), 10 * kMillisecond, kHour,
           "time between writes of changed state to disk: longer writes less, shorter restarts faster"),
      Count("state.max_debt_records", COBBLESTONE_AT(state.max_debt_records), 1, 1000000000,
            "records that the state on disk may lag before an early flush: limits the time of a restart"),

      Time("checkpoint.interval", COBBLESTONE_AT(checkpoint.interval), kSecond, 7 * kDay,
           "minimum time between copies of the state; inputs before a copy may be deleted"),
      Count("checkpoint.keep", COBBLESTONE_AT(checkpoint.keep), 2, 100,
            "number of copies; the log is kept from the oldest copy, so that one damaged copy is no loss"),
      Flag("checkpoint.verify", COBBLESTONE_AT(checkpoint.verify),
           "read what the oldest copy does not have and check all checksums before a copy counts"),

      Size("memory.objects", COBBLESTONE_AT(memory.objects), kMiBytes, 64 * kTiBytes,
           "decoded state of hosts, workunits, accounts and waiting events; throughput drops if "
           "it does not fit"),
      Size("memory.block_cache", COBBLESTONE_AT(memory.block_cache), kMiBytes, 64 * kTiBytes,
           "cache for blocks of the state on disk, shared by all partitions"),
      Size("memory.log_tail", COBBLESTONE_AT(memory.log_tail), kMiBytes, 64 * kTiBytes,
           "newest part of the log, which stages read without disk access"),
      Size("memory.write_buffer", COBBLESTONE_AT(memory.write_buffer), kMiBytes, 64 * kGiBytes,
           "synced log writes that are not in their final files yet: larger means fewer and larger files"),

      Time("retention.inputs_age", COBBLESTONE_AT(retention.inputs_age), kMinute, 10000 * kDay,
           "retention of inputs that all checkpoints include; ledger and scales are kept for ever"),
      Size("retention.inputs_bytes", COBBLESTONE_AT(retention.inputs_bytes), kMiBytes, 1024 * kTiBytes,
           "size limit for inputs; older inputs are deleted before their age, but never ahead of "
           "a checkpoint"),

      Text("kafka.bootstrap", COBBLESTONE_AT(kafka.bootstrap), "host:port, or a list separated by commas",
           false, "initial brokers; at least one must answer at the start"),
      Text("kafka.prefix", COBBLESTONE_AT(kafka.prefix), "letters, digits, '.', '_' and '-'", false,
           "prefix of the names of topics, groups and transactions: several deployments can share "
           "a cluster"),
      Text("kafka.instance", COBBLESTONE_AT(kafka.instance),
           "letters, digits, '.', '_' and '-'; empty for the name of the machine", true,
           "unique name of this worker; must be the same after a restart so that the worker gets "
           "its slots again"),
      Count("kafka.replication", COBBLESTONE_AT(kafka.replication), 1, 15,
            "replicas of each topic; 3 survives the loss of a broker, 1 is for tests with one broker"),
      Choice("kafka.security", COBBLESTONE_AT(kafka.security), kSecurities,
             "security protocol: ssl encrypts, sasl authenticates this client"),
      Text("kafka.ca_file", COBBLESTONE_AT(kafka.ca_file), "a PEM file; empty for the system's", true,
           "certificate authority of the brokers' certificates"),
      Text("kafka.certificate_file", COBBLESTONE_AT(kafka.certificate_file), "a PEM file; empty for none",
           true, "client certificate, if the brokers require one"),
      Text("kafka.key_file", COBBLESTONE_AT(kafka.key_file), "a PEM file; empty for none", true,
           "key of the client certificate"),
      Text("kafka.key_password_file", COBBLESTONE_AT(kafka.key_password_file), "a file; empty for none", true,
           "file with the password of the key"),
      Choice("kafka.mechanism", COBBLESTONE_AT(kafka.mechanism), kMechanisms,
             "SASL mechanism; SCRAM needs librdkafka 2.6.1 or newer (Debian 12: PLAIN over TLS)"),
      Text("kafka.user", COBBLESTONE_AT(kafka.user), "a name; empty for none", true, "user name for SASL"),
      Text("kafka.password_file", COBBLESTONE_AT(kafka.password_file), "a file; empty for none", true,
           "file with the password on its first line, without the end of the line"),
      Text("kafka.password_variable", COBBLESTONE_AT(kafka.password_variable),
           "the name of an environment variable; empty for none", true,
           "environment variable with the password, if no file is set"),
      Time("kafka.session_timeout", COBBLESTONE_AT(kafka.session_timeout), kSecond, 10 * kMinute,
           "a worker silent for this time loses its slots: shorter takes over faster, but more "
           "often by mistake"),
      Time("kafka.transaction_timeout", COBBLESTONE_AT(kafka.transaction_timeout), kSecond, 10 * kMinute,
           "time after which the brokers abort a transaction of a dead worker without a successor"),
      Time("kafka.commit_min", COBBLESTONE_AT(kafka.commit_min), 0, 10 * kSecond,
           "minimum duration of a transaction: longer needs less work, shorter gives lower latency"),
      Time("kafka.commit_max", COBBLESTONE_AT(kafka.commit_max), kMillisecond, 10 * kSecond,
           "maximum duration of a transaction while records are waiting"),
      Time("kafka.checkpoint_interval", COBBLESTONE_AT(kafka.checkpoint_interval), kSecond, kDay,
           "time between writes of changed state to the cluster: limits the work of a worker with "
           "an empty disk"),
      Choice("kafka.slots", COBBLESTONE_AT(kafka.slots), kSlots,
             "together: a slot has all stages; by_stage: each stage has its own slots, for separate "
             "processes"),
      Choice("kafka.standby", COBBLESTONE_AT(kafka.standby), kStandbys,
             "hot: executes other workers' commits for fast takeover; checkpoint: keeps only their "
             "checkpoints"),
      Choice("kafka.membership", COBBLESTONE_AT(kafka.membership), kMemberships,
             "static: slots of a stopped worker wait for it (session_timeout); dynamic: others get "
             "them at once"),
      Count("kafka.alarm_refused_percent", COBBLESTONE_AT(kafka.alarm_refused_percent), 1, 100,
            "share of refused records of a project that triggers a warning, from 100 records on; "
            "100: never"),
      Time("kafka.alarm_window", COBBLESTONE_AT(kafka.alarm_window), kSecond, kDay,
           "time window of this count, and time between two warnings"),
      Text("kafka.options", COBBLESTONE_AT(kafka.options),
           "name=value ..., names as in librdkafka; empty for none", true,
           "for experts: options of the Kafka client; producer.NAME or consumer.NAME for one kind "
           "only. producer.compression.type=lz4 writes a third less and needs a fifth more CPU "
           "per result"),

      Choice("ticks", COBBLESTONE_AT(ticks), kTicks,
             "source of time; input: a project's events, for this project; wall: this machine's "
             "clock, for all"),
      Choice("order", COBBLESTONE_AT(order), kOrders,
             "arrival: in order of arrival; lockstep: slower, bit for bit as `replay`; fixed like "
             "partitions"),
      Flag("sync", COBBLESTONE_AT(sync),
           "wait for the disk at each commit; false for tests only: a power cut loses acknowledged work"),
      Text("listen.socket", COBBLESTONE_AT(listen.socket),
           "a path of at most 107 bytes; empty for cobblestone.sock in the data directory", true,
           "Unix socket of the running pipeline, for ingest and queries"),

      Text("gateway.listen", COBBLESTONE_AT(gateway.listen),
           "host:port, with port 0 for any free port; empty for none", true,
           "address of the web page and the HTTP API in `run`; `cobblestone gateway` always serves them"),
      Text("gateway.tls_certificate", COBBLESTONE_AT(gateway.tls_certificate),
           "a PEM file with the whole chain; empty for none", true,
           "enables HTTPS; required for addresses that other machines can reach"),
      Text("gateway.tls_key", COBBLESTONE_AT(gateway.tls_key), "a PEM file; empty for none", true,
           "key of the certificate"),
      Flag("gateway.allow_plaintext", COBBLESTONE_AT(gateway.allow_plaintext),
           "listen without TLS on an address that other machines can reach; for use behind a "
           "proxy with TLS"),
      Networks("gateway.trusted_proxies", COBBLESTONE_AT(gateway.trusted_proxies),
               "proxies with trusted X-Forwarded-For; without this option all clients of a proxy are "
               "one address"),
      Text("gateway.hosts", COBBLESTONE_AT(gateway.hosts), "names separated by commas; empty for none", true,
           "allowed host names of requests; default on a loopback address: localhost (against DNS "
           "rebinding)"),
      Text("gateway.tokens_file", COBBLESTONE_AT(gateway.tokens_file),
           "a file that other users cannot read; empty for the environment variable COBBLESTONE_TOKENS", true,
           "tokens and their rights, one `ROLE TOKEN` per line (docs/operations/security.md)"),
      Choice("gateway.anonymous_role", COBBLESTONE_AT(gateway.anonymous_role), kAnonymousRoles,
             "rights of requests without a token: read public data, or only the page and the health"),
      Choice("gateway.accounts_visible", COBBLESTONE_AT(gateway.accounts_visible), kVisibilities,
             "own: accounts and grants are shown only to their user and to reading tokens; no "
             "lists, no search"),
      Flag("gateway.leaders", COBBLESTONE_AT(gateway.leaders), "lists of leaders by credit"),
      Choice("gateway.follow", COBBLESTONE_AT(gateway.follow), kFollows,
             "on Kafka: follow the checkpoints (kafka.checkpoint_interval), or each commit, like a "
             "hot standby"),
      Count("gateway.rate_limit", COBBLESTONE_AT(gateway.rate_limit), 1, 1000000,
            "requests per second (5 ms of CPU each) of one address without a token or with a "
            "volunteer's token"),
      Count("gateway.rate_burst", COBBLESTONE_AT(gateway.rate_burst), 1, 1000000,
            "burst of requests after a pause; opening the page needs about twenty"),
      Size("gateway.largest_body", COBBLESTONE_AT(gateway.largest_body), kKiBytes, kGiBytes,
           "largest request body (a batch of events), decompressed; at most four such bodies are "
           "in memory"),
      Time("gateway.timeout", COBBLESTONE_AT(gateway.timeout), kSecond, kHour,
           "timeout for the head of a request, its body, each answer, and between two requests"),
      Count("gateway.connections", COBBLESTONE_AT(gateway.connections), 2, 65536,
            "connections at a time; a new connection replaces the one that has been idle longest"),
      Count("gateway.connections_per_address", COBBLESTONE_AT(gateway.connections_per_address), 1, 65536,
            "connections of one client address; connections of trusted_proxies are not counted"),
      Count("gateway.streams", COBBLESTONE_AT(gateway.streams), 0, 4095,
            "streams of live figures at a time; each one uses a connection; must be less than connections"),
      Flag("gateway.access_log", COBBLESTONE_AT(gateway.access_log),
           "log one line for each request, without tokens and query values"),

      Count(
          "quota.events_per_second", COBBLESTONE_AT(quota.events_per_second), 0, 1000000000,
          "events per second of each project over HTTP and the socket; 0: no limit; `projects` has exceptions"),
      Size("quota.bytes_per_second", COBBLESTONE_AT(quota.bytes_per_second), 0, 1024 * kGiBytes,
           "bytes per second of each project, as protobuf (JSON is about three times as long); 0: no limit"),
      Time("quota.burst", COBBLESTONE_AT(quota.burst), kSecond, kHour,
           "time whose quota a project may use at once after a pause; longer suits senders of large batches"),

      Text("hub.url", COBBLESTONE_AT(hub.url), "http://HOST:PORT or https://HOST; empty for none", true,
           "federation hub of this deployment's projects; one process asks it (docs/operations/hub.md)"),
      Flag("hub.factors", COBBLESTONE_AT(hub.factors),
           "apply the hub's factors of plan classes to apps that have GPU versions only"),
      Time("hub.interval", COBBLESTONE_AT(hub.interval), kSecond, kDay,
           "time between two questions to the hub; its factors change about once a day"),
      Text("hub.ca_file", COBBLESTONE_AT(hub.ca_file), "a PEM file; empty for the system's", true,
           "certificate authorities that may sign the hub's certificate"),
      Text("hub.push_token_file", COBBLESTONE_AT(hub.push_token_file),
           "a file that other users cannot read; empty for none", true,
           "token with which accounts of `projects` with a hub_project are sent to the hub"),
      Time("hub.push_interval", COBBLESTONE_AT(hub.push_interval), kSecond, kDay,
           "time between two editions for the hub; shorter shows credit there earlier, and costs a scan"),

      Text("snapshots.directory", COBBLESTONE_AT(snapshots.directory), "a directory; empty for none", true,
           "role: hub: where `cobblestone hub snapshot` writes the signed state of each day"),
      Text("snapshots.key_file", COBBLESTONE_AT(snapshots.key_file), "a private PEM file", true,
           "Ed25519 key that signs the snapshots; `cobblestone hub new-key` makes one"),
      Text("snapshots.hub", COBBLESTONE_AT(snapshots.hub), "a URL or a name", true,
           "the hub's name in its snapshots"),
      Text("snapshots.consent", COBBLESTONE_AT(snapshots.consent), "any text", true,
           "statement in each snapshot: under which consent of the members its records are published"),
      Text("snapshots.continues", COBBLESTONE_AT(snapshots.continues), "any text; empty for none", true,
           "why this key continues the snapshots of another key; used once, when the key changes"),
      Count("snapshots.keep", COBBLESTONE_AT(snapshots.keep), 0, 1000000,
            "snapshots that stay in the directory, the newest ones; 0: all"),
      Text("snapshots.combined", COBBLESTONE_AT(snapshots.combined), "a directory; empty for none", true,
           "role: hub: where `cobblestone hub snapshot` publishes statistics files over all projects"),
      Text("metrics.listen", COBBLESTONE_AT(metrics.listen),
           "host:port such as 127.0.0.1:9464, port 0 for any free port; empty for none", true,
           "address of /metrics (Prometheus) and /health; without authentication, so do not "
           "expose it publicly"),
      Time("future_limit", COBBLESTONE_AT(future_limit), 0, 365 * kDay,
           "events dated later than this after their arrival are refused: limits the effect of a "
           "wrong clock"),

      Choice("log.level", COBBLESTONE_AT(log.level), kLevels, "verbosity of the log"),
      Choice("log.format", COBBLESTONE_AT(log.format), kFormats,
             "text for people, json (one object per line) for machines"),
  };
}

#undef COBBLESTONE_AT

std::string JoinedChoices(std::span<const std::string_view> choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i != 0) out += i + 1 == choices.size() ? " or " : ", ";
    out += choices[i];
  }
  return out;
}

// The words of a list, with or without brackets; at least one, which may be empty.
std::vector<std::string_view> WordsOf(std::string_view list) {
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  std::vector<std::string_view> words;
  while (true) {
    while (list.starts_with(' ')) list.remove_prefix(1);
    words.push_back(list.substr(0, list.find(',')));
    if (words.back().size() == list.size()) return words;
    list.remove_prefix(words.back().size() + 1);
  }
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const Option> Options() {
  static const std::vector<Option> options = MakeOptions();
  return options;
}

std::string Allowed(const Option& option) {
  switch (option.kind) {
    case Kind::kFlag: return "true or false";
    case Kind::kChoice: return JoinedChoices(option.choices);
    case Kind::kSet: return "a list of " + JoinedChoices(option.choices);
    case Kind::kNetworks: return "a list of addresses and networks, such as [127.0.0.1, 10.0.0.0/8]";
    case Kind::kText: return std::string(option.text_allowed);
    case Kind::kQuantity: break;
  }
  const std::string range = " from " + FormatQuantity(option.quantity, option.least) + " to " +
                            FormatQuantity(option.quantity, option.most);
  switch (option.quantity) {
    case Quantity::kCount: return "a number" + range;
    case Quantity::kBytes: return "a size" + range;
    case Quantity::kDuration: return "a duration" + range;
  }
  return {};
}

std::string ValueText(const Option& option, const RunSettings& settings) {
  RunSettings copy = settings;  // a Target is a non-const pointer
  return std::visit(
      [&](auto* at) -> std::string {
        using T = std::remove_pointer_t<decltype(at)>;
        if constexpr (std::is_same_v<T, Duration>) {
          return FormatQuantity(option.quantity, at->count());
        } else if constexpr (std::is_same_v<T, bool>) {
          return *at ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return at->empty() ? "\"\"" : *at;
        } else if constexpr (std::is_same_v<T, std::vector<IpNetwork>>) {
          std::string list;
          for (const IpNetwork& network : *at) list += (list.empty() ? "" : ", ") + network.text();
          return "[" + list + "]";
        } else if constexpr (std::is_same_v<T, StageSet>) {
          std::string list;
          for (std::size_t i = 0; i < option.choices.size(); ++i)
            if (at->has(static_cast<Stage>(i)))
              list += (list.empty() ? "[" : ", ") + std::string(option.choices[i]);
          return list + "]";
        } else if constexpr (std::is_enum_v<T>) {
          return std::string(option.choices[static_cast<std::size_t>(*at)]);
        } else {
          return FormatQuantity(option.quantity, static_cast<std::int64_t>(*at));
        }
      },
      option.target(copy));
}

Status SetFromText(const Option& option, std::string_view text, RunSettings& settings) {
  std::int64_t value = 0;
  std::vector<IpNetwork> networks;
  switch (option.kind) {
    case Kind::kQuantity: {
      const Result<std::int64_t> parsed = ParseQuantity(option.quantity, text);
      if (!parsed.ok()) return parsed.status();
      if (*parsed < option.least) return Status::InvalidArgument("is too small");
      if (*parsed > option.most) return Status::InvalidArgument("is too large");
      value = *parsed;
      break;
    }
    case Kind::kFlag:
      if (text != "true" && text != "false") return Status::InvalidArgument("is neither true nor false");
      value = text == "true" ? 1 : 0;
      break;
    case Kind::kChoice: {
      const auto found = std::find(option.choices.begin(), option.choices.end(), text);
      if (found == option.choices.end()) return Status::InvalidArgument("is not one of them");
      value = found - option.choices.begin();
      break;
    }
    case Kind::kSet:
      for (const std::string_view word : WordsOf(text)) {
        const auto found = std::find(option.choices.begin(), option.choices.end(), word);
        if (found == option.choices.end())
          return Status::InvalidArgument("names '" + std::string(word) + "', which is not one of them");
        value |= std::int64_t{1} << (found - option.choices.begin());
      }
      break;
    case Kind::kNetworks:
      if (text.empty() || text == "[]") break;
      for (const std::string_view word : WordsOf(text)) {
        auto network = IpNetwork::Parse(word);
        if (!network.ok())
          return Status::InvalidArgument("names '" + std::string(word) + "', which " +
                                         network.status().message());
        networks.push_back(std::move(*network));
      }
      break;
    case Kind::kText:
      if (text.empty() && !option.may_be_empty) return Status::InvalidArgument("is empty");
      if (text.find('\0') != std::string_view::npos) return Status::InvalidArgument("contains a zero byte");
      break;
  }
  std::visit(
      [&](auto* at) {
        using T = std::remove_pointer_t<decltype(at)>;
        if constexpr (std::is_same_v<T, std::string>) {
          at->assign(text);
        } else if constexpr (std::is_same_v<T, std::vector<IpNetwork>>) {
          *at = std::move(networks);
        } else if constexpr (std::is_same_v<T, StageSet>) {
          at->bits = static_cast<std::uint8_t>(value);
        } else {
          *at = static_cast<T>(value);
        }
      },
      option.target(settings));
  return Status::Ok();
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // the distance takes quadratic time; option names are shorter
  if (word.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : known) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  // If more than a third of the letters differ, the word is another word, not a typing error.
  return least <= std::max<std::size_t>(1, best.size() / 3) ? best : std::string_view{};
}

std::string DescribeOptions() {
  std::string out = "| option | allowed | default | reason |\n|---|---|---|---|\n";
  const RunSettings defaults;
  for (const Option& option : Options()) {
    out += "| `" + std::string(option.key) + "` | " + Allowed(option) + " | " + ValueText(option, defaults) +
           " | " + std::string(option.reason) + " |\n";
  }
  out += "| `" + std::string(kProjectsKey) + "` | a list | [] | " + std::string(kProjectsReason) + " |\n";
  return out;
}

std::string DefaultConfigFile() {
  std::string out =
      "# Every option of `cobblestone run`: reason, allowed values, default.\n"
      "# A file needs only the options that differ from the defaults. Durations: " +
      UnitsOf(Quantity::kDuration) + ". Sizes: " + UnitsOf(Quantity::kBytes) + ".\n";
  const RunSettings defaults;
  std::string_view open;
  for (const Option& option : Options()) {
    const std::size_t dot = option.key.find('.');
    const bool grouped = dot != std::string_view::npos;
    const std::string_view group = grouped ? option.key.substr(0, dot) : std::string_view{};
    if (!grouped || group != open) out += "\n";
    if (grouped && group != open) out += std::string(group) + ":\n";
    open = group;
    const std::string indent = grouped ? "  " : "";
    out += indent + "# " + std::string(option.reason) + "\n";
    out += indent + "# (" + Allowed(option) + ")\n";
    out += indent + std::string(grouped ? option.key.substr(dot + 1) : option.key) + ": " +
           ValueText(option, defaults) + "\n";
  }
  out += "\n# " + std::string(kProjectsReason) + "\n" + std::string(kProjectsKey) + ": []\n";
  return out;
}

}  // namespace cobblestone::settings

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
          "backend", COBBLESTONE_AT(backend), kBackends,
          "where the log is: in a database of its own on this machine, or on a Kafka cluster for many machines"),
      Text("data_directory", COBBLESTONE_AT(data_directory),
           "a directory, relative to where the program is started", false,
           "holds the log, the state and the checkpoints; made when missing; on a disk that keeps its word"),
      Set("stages", COBBLESTONE_AT(stages), kStageNames,
          "what this process runs; fewer than all only on Kafka, with kafka.slots: by_stage"),
      Count("partitions", COBBLESTONE_AT(partitions), 1, 4096,
            "parts of every topic, each worked on by one thread at a time; fixed once the directory is made"),
      Count("threads", COBBLESTONE_AT(threads), 0, 1024,
            "threads that work on partitions; 0: one per core; more than there are partitions stay idle"),

      Time("commit.interval", COBBLESTONE_AT(commit.interval), 0, 10 * kSecond,
           "work is gathered for so long into one synced write: longer saves syncs, shorter saves latency"),
      Count("commit.max_records", COBBLESTONE_AT(commit.max_records), 1, 10000000,
            "input records after which a commit comes at once: bounds what a crash makes us do again"),
      Size("commit.max_bytes", COBBLESTONE_AT(commit.max_bytes), 4 * kKiBytes, kGiBytes,
           "output bytes after which a commit comes at once: large writes make the next one wait"),

      Time("state.flush_interval", COBBLESTONE_AT(state.flush_interval), 10 * kMillisecond, kHour,
           "how often changed state goes to disk: longer writes less, shorter starts faster after a crash"),
      Count("state.max_debt_records", COBBLESTONE_AT(state.max_debt_records), 1, 1000000000,
            "records that the state on disk lags behind before a flush comes early: bounds a restart"),

      Time("checkpoint.interval", COBBLESTONE_AT(checkpoint.interval), kSecond, 7 * kDay,
           "how often at most a copy of the state is made, behind which inputs may be forgotten"),
      Count("checkpoint.keep", COBBLESTONE_AT(checkpoint.keep), 2, 100,
            "copies kept: the log is kept from the oldest on, so that one damaged copy never matters"),
      Flag("checkpoint.verify", COBBLESTONE_AT(checkpoint.verify),
           "read every copy back and check all checksums before it counts: costs reading it once"),
      Text("checkpoint.copy_directory", COBBLESTONE_AT(checkpoint.copy_directory),
           "a directory; empty for none", true,
           "a real second copy of each checkpoint, on another disk; the others share the state's files"),

      Size("memory.objects", COBBLESTONE_AT(memory.objects), kMiBytes, 64 * kTiBytes,
           "decoded state of hosts, workunits, accounts and waiting events; rates drop when it does not fit"),
      Size("memory.block_cache", COBBLESTONE_AT(memory.block_cache), kMiBytes, 64 * kTiBytes,
           "blocks of the state on disk, of all partitions together"),
      Size("memory.log_tail", COBBLESTONE_AT(memory.log_tail), kMiBytes, 64 * kTiBytes,
           "newest part of the log, handed from stage to stage without a read"),
      Size(
          "memory.write_buffer", COBBLESTONE_AT(memory.write_buffer), kMiBytes, 64 * kGiBytes,
          "log writes that are synced but not yet in their final files: larger means larger and fewer files"),

      Time("retention.inputs_age", COBBLESTONE_AT(retention.inputs_age), kMinute, 10000 * kDay,
           "inputs that every checkpoint has behind it are kept for so long; ledger and scales for ever"),
      Size("retention.inputs_bytes", COBBLESTONE_AT(retention.inputs_bytes), kMiBytes, 1024 * kTiBytes,
           "inputs beyond so many bytes are forgotten before their age, but never ahead of a checkpoint"),

      Text("kafka.bootstrap", COBBLESTONE_AT(kafka.bootstrap), "host:port, or several with commas", false,
           "brokers of which one at least must answer at the start; they name the others"),
      Text(
          "kafka.prefix", COBBLESTONE_AT(kafka.prefix), "letters, digits, '.', '_' and '-'", false,
          "first part of the names of topics, groups and transactions: several deployments may share a cluster"),
      Text(
          "kafka.instance", COBBLESTONE_AT(kafka.instance),
          "letters, digits, '.', '_' and '-'; empty for the name of the machine", true,
          "this worker's name, of which there is one: the same after a restart, so that it finds its slots again"),
      Count("kafka.replication", COBBLESTONE_AT(kafka.replication), 1, 15,
            "copies of each topic; 3 outlives the loss of a broker, 1 is for trials with one broker"),
      Choice("kafka.security", COBBLESTONE_AT(kafka.security), kSecurities,
             "how the brokers are spoken to: ssl encrypts, sasl says who we are"),
      Text("kafka.ca_file", COBBLESTONE_AT(kafka.ca_file), "a PEM file; empty for the system's", true,
           "who signs the brokers' certificates"),
      Text("kafka.certificate_file", COBBLESTONE_AT(kafka.certificate_file), "a PEM file; empty for none",
           true, "our own certificate, where the brokers ask for one"),
      Text("kafka.key_file", COBBLESTONE_AT(kafka.key_file), "a PEM file; empty for none", true,
           "the key of our own certificate"),
      Text("kafka.key_password_file", COBBLESTONE_AT(kafka.key_password_file), "a file; empty for none", true,
           "holds the password of that key"),
      Choice("kafka.mechanism", COBBLESTONE_AT(kafka.mechanism), kMechanisms,
             "how SASL proves who we are; SCRAM needs librdkafka 2.6.1 or newer (Debian 12: PLAIN over TLS)"),
      Text("kafka.user", COBBLESTONE_AT(kafka.user), "a name; empty for none", true, "who we are, for SASL"),
      Text("kafka.password_file", COBBLESTONE_AT(kafka.password_file), "a file; empty for none", true,
           "holds the password; of its first line the end is cut off"),
      Text("kafka.password_variable", COBBLESTONE_AT(kafka.password_variable),
           "the name of a variable of the environment; empty for none", true,
           "holds the password, where no file does"),
      Time(
          "kafka.session_timeout", COBBLESTONE_AT(kafka.session_timeout), kSecond, 10 * kMinute,
          "a worker that is silent for so long loses its slots: shorter takes over faster, and errs more often"),
      Time("kafka.transaction_timeout", COBBLESTONE_AT(kafka.transaction_timeout), kSecond, 10 * kMinute,
           "after so long the brokers give up a transaction whose owner is gone and has no successor"),
      Time(
          "kafka.commit_min", COBBLESTONE_AT(kafka.commit_min), 0, 10 * kSecond,
          "a transaction lasts so long at least, though nothing waits: longer saves work, shorter saves latency"),
      Time("kafka.commit_max", COBBLESTONE_AT(kafka.commit_max), kMillisecond, 10 * kSecond,
           "and at most so long while more waits"),
      Time("kafka.checkpoint_interval", COBBLESTONE_AT(kafka.checkpoint_interval), kSecond, kDay,
           "how often changed state goes to the cluster: bounds what one with an empty disk must do again"),
      Choice(
          "kafka.slots", COBBLESTONE_AT(kafka.slots), kSlots,
          "together: a slot has all stages; by_stage: each stage has its own, for processes that share them out"),
      Choice(
          "kafka.standby", COBBLESTONE_AT(kafka.standby), kStandbys,
          "hot: does others' work, too, to take over in a moment; checkpoint: keeps their checkpoints at hand"),
      Choice(
          "kafka.membership", COBBLESTONE_AT(kafka.membership), kMemberships,
          "static: a worker that stops is waited for (session_timeout); dynamic: others get its slots at once"),
      Count("kafka.alarm_refused_percent", COBBLESTONE_AT(kafka.alarm_refused_percent), 1, 100,
            "a worker warns when more of a project's records is refused, of 100 at least; 100: never"),
      Time("kafka.alarm_window", COBBLESTONE_AT(kafka.alarm_window), kSecond, kDay,
           "the time in which these are counted, and after which it warns again"),
      Text(
          "kafka.options", COBBLESTONE_AT(kafka.options),
          "name=value ..., names as in librdkafka; empty for none", true,
          "for those who know: options of the Kafka client, of producers or consumers alone as producer.NAME. "
          "producer.compression.type=lz4 takes a third off what is written and costs a fifth more CPU for each result"),

      Choice("ticks", COBBLESTONE_AT(ticks), kTicks,
             "what moves time: a project's events, for this project alone, or this machine's clock, for all"),
      Choice("order", COBBLESTONE_AT(order), kOrders,
             "events are taken as they come, or, slower, with the bits of `replay`; fixed as partitions are"),
      Flag("sync", COBBLESTONE_AT(sync),
           "wait for the disk at each commit; false for trials only: a power cut loses acknowledged work"),
      Text("listen.socket", COBBLESTONE_AT(listen.socket),
           "a path of at most 107 bytes; empty for cobblestone.sock in the data directory", true,
           "Unix socket at which ingest and the queries reach the running program"),

      Text("gateway.listen", COBBLESTONE_AT(gateway.listen),
           "host:port, with port 0 for any that is free; empty for none", true,
           "where `run` serves the web page and the HTTP interface, too; `cobblestone gateway` does always"),
      Text("gateway.tls_certificate", COBBLESTONE_AT(gateway.tls_certificate),
           "a PEM file with the whole chain; empty for none", true,
           "makes it HTTPS; needed for addresses that other machines reach"),
      Text("gateway.tls_key", COBBLESTONE_AT(gateway.tls_key), "a PEM file; empty for none", true,
           "the certificate's key"),
      Flag("gateway.allow_plaintext", COBBLESTONE_AT(gateway.allow_plaintext),
           "listen without TLS where other machines reach it: for a proxy in front that does TLS"),
      Networks(
          "gateway.trusted_proxies", COBBLESTONE_AT(gateway.trusted_proxies),
          "proxies in front, whose X-Forwarded-For is believed: else all their visitors are one address"),
      Text(
          "gateway.hosts", COBBLESTONE_AT(gateway.hosts), "names with commas between them; empty for none",
          true,
          "host names that requests may use; without it a loopback address answers to localhost alone (DNS rebinding)"),
      Text("gateway.tokens_file", COBBLESTONE_AT(gateway.tokens_file),
           "a file that others cannot read; empty for the variable COBBLESTONE_TOKENS", true,
           "who may do what: a line `ROLE TOKEN` each (docs/operations/security.md)"),
      Choice("gateway.anonymous_role", COBBLESTONE_AT(gateway.anonymous_role), kAnonymousRoles,
             "rights of requests without a token: read public data, or only load the page and ask for health"),
      Choice("gateway.accounts_visible", COBBLESTONE_AT(gateway.accounts_visible), kVisibilities,
             "own: accounts and grants only to their user and to tokens that read; no lists, no search"),
      Flag("gateway.leaders", COBBLESTONE_AT(gateway.leaders), "lists of the first by credit"),
      Choice(
          "gateway.follow", COBBLESTONE_AT(gateway.follow), kFollows,
          "on Kafka: what is written every kafka.checkpoint_interval, or each commit, as a hot standby does"),
      Count("gateway.rate_limit", COBBLESTONE_AT(gateway.rate_limit), 1, 1000000,
            "requests a second of one address without a token or with a volunteer's, each of 5 ms of CPU"),
      Count("gateway.rate_burst", COBBLESTONE_AT(gateway.rate_burst), 1, 1000000,
            "so many at once, after a rest: opening the page takes about twenty"),
      Size("gateway.largest_body", COBBLESTONE_AT(gateway.largest_body), kKiBytes, kGiBytes,
           "of a request: a batch of events, decompressed; at most four such bodies are in memory at a time"),
      Time("gateway.timeout", COBBLESTONE_AT(gateway.timeout), kSecond, kHour,
           "for the whole head of a request, its whole body, each answer, and between two requests"),
      Count("gateway.connections", COBBLESTONE_AT(gateway.connections), 2, 65536,
            "at a time; a new one displaces the connection that has kept the server waiting longest"),
      Count("gateway.connections_per_address", COBBLESTONE_AT(gateway.connections_per_address), 1, 65536,
            "of these, for one client address; connections of trusted_proxies are not counted"),
      Count("gateway.streams", COBBLESTONE_AT(gateway.streams), 0, 4095,
            "of live figures at a time, which hold their connections: fewer than there are connections"),
      Flag("gateway.access_log", COBBLESTONE_AT(gateway.access_log),
           "a line in the log for each request, without tokens and without the query's values"),
      Text(
          "metrics.listen", COBBLESTONE_AT(metrics.listen),
          "host:port as 127.0.0.1:9464, port 0 for any free one; empty for nowhere", true,
          "where Prometheus finds /metrics, and others /health; open to whoever reaches it, so rather not to all"),
      Time("future_limit", COBBLESTONE_AT(future_limit), 0, 365 * kDay,
           "events dated later than their arrival by more are refused: bounds what a wrong clock can do"),

      Choice("log.level", COBBLESTONE_AT(log.level), kLevels, "how much the program says about itself"),
      Choice("log.format", COBBLESTONE_AT(log.format), kFormats,
             "text for people, json (one object a line) for machines"),
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
      if (found == option.choices.end()) return Status::InvalidArgument("is none of them");
      value = found - option.choices.begin();
      break;
    }
    case Kind::kSet:
      for (const std::string_view word : WordsOf(text)) {
        const auto found = std::find(option.choices.begin(), option.choices.end(), word);
        if (found == option.choices.end())
          return Status::InvalidArgument("names '" + std::string(word) + "', which is none of them");
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
      if (text.find('\0') != std::string_view::npos) return Status::InvalidArgument("has a zero byte in it");
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
  std::string out = "| option | allowed | default | why |\n|---|---|---|---|\n";
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
      "# Every option of `cobblestone run`: why one would change it, what is allowed, its default.\n"
      "# A file needs only what differs. Durations: " +
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

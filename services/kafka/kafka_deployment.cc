#include "services/kafka/kafka_deployment.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>

#include "common/base/build_id.h"
#include "common/base/secret_file.h"
#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/kafka/state_directory.h"
#include "services/pipeline/rules_version.h"

namespace cobblestone::kafka {

using pipeline::kRulesVersion;
using pipeline::MakeSlotFactory;
using pipeline::PeekLine;
using pipeline::PeekTime;
using pipeline::PipelineOptions;
using pipeline::SlotCount;

namespace {

using settings::KafkaMechanism;
using settings::KafkaSecurity;
using settings::KafkaSettings;

constexpr const char* kForever = "-1";
constexpr stream::kafka::Millis kDeploymentPatience{30000};
constexpr const char* kMaxMessageBytes = "8388608";
constexpr std::chrono::seconds kMissingPatience{10};
constexpr const char* kAnyTime = "9223372036854775807";
constexpr std::chrono::seconds kMemberMargin{3};  // brokers check for expired sessions only now and then
constexpr std::chrono::milliseconds kLookEvery{300};

constexpr std::size_t kLargestSecret = 1u << 20;

// The first line of a file.
Result<std::string> ReadSecret(std::string_view option, const std::string& path) {
  auto text = ReadSecretFile(option, path, kLargestSecret);
  if (!text.ok()) return text.status();
  std::string line = text->substr(0, text->find_first_of("\r\n"));
  Wipe(&*text);
  if (line.empty())
    return Status::InvalidArgument(std::string(option) + ": " + path +
                                   " has an empty first line; the first line must be the secret");
  return line;
}

Result<stream::kafka::Properties> ConnectionOf(const KafkaSettings& kafka) {
  static constexpr const char* kProtocols[] = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"};
  static constexpr const char* kMechanisms[] = {"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"};
  stream::kafka::Properties all = {{"bootstrap.servers", kafka.bootstrap},
                                   {"security.protocol", kProtocols[static_cast<int>(kafka.security)]},
                                   {"reconnect.backoff.ms", "50"},
                                   {"reconnect.backoff.max.ms", "1000"}};
  const auto add = [&all](const char* name, const std::string& value) {
    if (!value.empty()) all[name] = value;
  };
  add("ssl.ca.location", kafka.ca_file);
  add("ssl.certificate.location", kafka.certificate_file);
  if (!kafka.key_file.empty()) {
    // Passed as text, so that librdkafka uses the checked contents and does not open the path again.
    auto pem = ReadSecretFile("kafka.key_file", kafka.key_file, kLargestSecret);
    if (!pem.ok()) return pem.status();
    all["ssl.key.pem"] = std::move(*pem);
  }
  if (!kafka.key_password_file.empty()) {
    auto secret = ReadSecret("kafka.key_password_file", kafka.key_password_file);
    if (!secret.ok()) return secret.status();
    all["ssl.key.password"] = *secret;
  }
  if (kafka.security == KafkaSecurity::kSaslPlaintext || kafka.security == KafkaSecurity::kSaslSsl) {
    all["sasl.mechanism"] = kMechanisms[static_cast<int>(kafka.mechanism)];
    all["sasl.username"] = kafka.user;
    if (!kafka.password_file.empty()) {
      auto secret = ReadSecret("kafka.password_file", kafka.password_file);
      if (!secret.ok()) return secret.status();
      all["sasl.password"] = *secret;
    } else {
      const char* secret = std::getenv(kafka.password_variable.c_str());
      if (secret == nullptr)
        return Status::InvalidArgument("the environment variable " + kafka.password_variable +
                                       " (kafka.password_variable) is not set");
      all["sasl.password"] = secret;
    }
  }
  return all;
}

// kafka.options: name=value, separated by blanks.
Status AddOptions(const std::string& text, stream::kafka::ClusterOptions* cluster) {
  std::istringstream in(text);
  std::string word;
  while (in >> word) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos || equal == 0)
      return Status::InvalidArgument("kafka.options: '" + word + "' is not name=value");
    std::string name = word.substr(0, equal);
    if (name.ends_with("password") || name.ends_with("secret") || name.ends_with("key.pem"))
      return Status::InvalidArgument(
          "kafka.options: " + name +
          " is a secret and is not allowed in the configuration file; use a file or a variable "
          "(kafka.password_file, kafka.password_variable, kafka.key_file)");
    stream::kafka::Properties* to = &cluster->connection;
    for (auto& [kind, properties] : {std::pair{std::string("producer."), &cluster->producer},
                                     std::pair{std::string("consumer."), &cluster->consumer}}) {
      if (!name.starts_with(kind)) continue;
      name = name.substr(kind.size());
      to = properties;
      break;
    }
    (*to)[name] = word.substr(equal + 1);
  }
  return Status::Ok();
}

// Inputs come from outside, one event per message; records between slots are packed, many records per
// message.
bool IsInput(stream::TopicIndex topic) { return topic <= wire::kCatalogue; }
bool IsPacked(stream::TopicIndex topic) {
  return !IsInput(topic) && topic < wire::kTopicCount && topic != wire::kRefused;
}

// In lockstep: topics that others append to and that stages of slots read. Otherwise none.
std::vector<bool> LockstepTopics(const std::vector<stream::TopicSpec>& topics, bool lockstep) {
  std::vector<bool> all;
  for (stream::TopicIndex topic = 0; topic < topics.size(); ++topic)
    all.push_back(lockstep && IsInput(topic) && topic != wire::kCatalogue);
  return all;
}

stream::kafka::TopicPlan PlanOf(const stream::TopicSpec& spec, stream::TopicIndex topic,
                                const settings::RunSettings& settings) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(settings.retention.inputs_age);
  std::map<std::string, std::string> all = {
      {"max.message.bytes", kMaxMessageBytes},
      {"unclean.leader.election.enable", "false"},
      {"min.insync.replicas", settings.kafka.replication >= 3 ? "2" : "1"},
      {"message.timestamp.after.max.ms", kAnyTime},
      {"message.timestamp.type", IsInput(topic) || topic == kStatusTopic ? "LogAppendTime" : "CreateTime"},
      {"cleanup.policy", "delete"},
      {"retention.bytes", kForever},
      {"retention.ms", std::to_string(age.count())}};
  if (spec.retention == stream::Retention::kForever || topic == wire::kRefused)
    all["retention.ms"] = kForever;
  if (topic == kStatusTopic) {
    all["cleanup.policy"] = "compact";
    all["segment.ms"] = "600000";
  }
  if (topic == kCheckpointTopic || topic == kProducersTopic) {
    all["cleanup.policy"] = "compact";
    // Rows that an unfinished checkpoint replaces must stay until that checkpoint is complete.
    all["min.compaction.lag.ms"] = "3600000";
    all["delete.retention.ms"] = std::to_string(age.count());
    all["segment.ms"] = "86400000";
  }
  return {.spec = spec, .settings = std::move(all)};
}

}  // namespace

std::vector<settings::RunSettings> RolesOf(const settings::RunSettings& settings) {
  if (settings.kafka.slots == settings::KafkaSlots::kTogether) return {settings};
  std::vector<settings::RunSettings> roles;
  for (std::size_t s = 0; s < std::size(settings::kStageNames); ++s) {
    const auto stage = static_cast<settings::Stage>(s);
    if (!settings.stages.has(stage)) continue;
    roles.push_back(settings);
    roles.back().stages = settings::StageSet::Of(stage);
  }
  return roles;
}

std::vector<settings::RunSettings> AllRolesOf(settings::RunSettings settings) {
  settings.stages = {};
  return RolesOf(settings);
}

Result<settings::RunSettings> RoleNamed(settings::RunSettings settings, const std::string& stage) {
  const bool by_stage = settings.kafka.slots == settings::KafkaSlots::kByStage;
  if (by_stage == stage.empty())
    return Status::InvalidArgument(
        by_stage ? "kafka.slots is by_stage: set --stage to the stage of the slots"
                 : "kafka.slots is together: a slot has all stages, so --stage is not allowed");
  for (const settings::RunSettings& role : AllRolesOf(settings))
    if (RoleName(role) == stage) return role;
  return Status::InvalidArgument("unknown stage " + stage);
}

PipelineOptions PipelineOf(const settings::RunSettings& role) {
  PipelineOptions options = pipeline::OptionsOf(role);
  if (role.kafka.slots == settings::KafkaSlots::kByStage)
    for (std::size_t s = std::size(settings::kStageNames); s-- > 0;)
      if (role.stages.has(static_cast<settings::Stage>(s))) options.only = static_cast<settings::Stage>(s);
  return options;
}

std::string RoleName(const settings::RunSettings& role) {
  const auto only = PipelineOf(role).only;
  return only ? std::string(settings::kStageNames[static_cast<std::size_t>(*only)]) : std::string();
}

Result<KafkaDeployment> DeploymentOf(const settings::RunSettings& settings,
                                     std::function<void(const std::string&)> report) {
  const std::uint32_t slots = SlotCount(PipelineOf(settings));
  const std::string role = RoleName(settings);
  const std::string of_role = role.empty() ? "" : "-" + role;
  const bool lockstep = settings.order == settings::Order::kLockstep;
  KafkaDeployment made;
  std::vector<stream::TopicSpec> topics = wire::Manifest(settings.partitions);
  topics[wire::kJournal].name += of_role;
  topics[wire::kJournal].partitions = slots;
  topics.push_back(
      {.name = "checkpoint" + of_role, .partitions = slots, .retention = stream::Retention::kForever});
  topics.push_back({.name = "producers", .partitions = 1, .retention = stream::Retention::kForever});
  topics.push_back({.name = "status", .partitions = 1, .retention = stream::Retention::kTrimmed});
  auto connection = ConnectionOf(settings.kafka);
  if (!connection.ok()) return connection.status();
  using std::chrono::duration_cast;
  using stream::kafka::Millis;
  made.cluster = {.connection = std::move(*connection),
                  .prefix = settings.kafka.prefix,
                  .topics = topics,
                  .journal = wire::kJournal,
                  .group = settings.kafka.prefix + ".slots" + of_role,
                  .static_members = settings.kafka.membership == settings::KafkaMembership::kStatic,
                  .session_timeout = duration_cast<Millis>(settings.kafka.session_timeout),
                  .transaction_timeout = duration_cast<Millis>(settings.kafka.transaction_timeout),
                  .report = std::move(report)};
  if (Status s = AddOptions(settings.kafka.options, &made.cluster); !s.ok()) return s;
  for (std::size_t t = 0; t < topics.size(); ++t)
    made.plan.push_back(PlanOf(topics[t], static_cast<stream::TopicIndex>(t), settings));
  for (const settings::RunSettings& other : AllRolesOf(settings)) {
    const std::string name = RoleName(other);
    if (name == role) continue;
    for (const stream::TopicIndex t :
         {stream::TopicIndex{wire::kJournal}, stream::TopicIndex{kCheckpointTopic}}) {
      stream::TopicSpec spec = topics[t];
      spec.name = (t == wire::kJournal ? "journal-" : "checkpoint-") + name;
      spec.partitions = SlotCount(PipelineOf(other));
      made.plan.push_back(PlanOf(spec, t, settings));
    }
  }
  made.excluded = settings.kafka.slots == settings::KafkaSlots::kTogether ? "journal-claims" : "journal";
  made.replication = static_cast<int>(settings.kafka.replication);

  std::vector<bool> packed;
  for (std::size_t t = 0; t < topics.size(); ++t)
    packed.push_back(IsPacked(static_cast<stream::TopicIndex>(t)));
  made.task = {.topics = topics,
               .packed = std::move(packed),
               .journal = wire::kJournal,
               .checkpoint = kCheckpointTopic,
               .peek_time = lockstep ? PeekLine : PeekTime,
               .lockstep_topics = LockstepTopics(topics, lockstep),
               .flush_interval = duration_cast<Millis>(settings.state.flush_interval),
               .flush_debt_records = std::max<std::uint64_t>(1, settings.state.max_debt_records / slots),
               .flush_debt_bytes = std::max<std::uint64_t>(4u << 20, settings.memory.objects / slots),
               .checkpoint_interval = duration_cast<Millis>(settings.kafka.checkpoint_interval),
               .object_bytes = settings.memory.objects / slots,
               .tombstones_live = duration_cast<Millis>(settings.retention.inputs_age),
               .rules_version = kRulesVersion,
               .build = BuildId()};
  return made;
}

stream::SlotFactory MakeSlotFactory(const settings::RunSettings& role) {
  return MakeSlotFactory(PipelineOf(role));
}

Status CheckSlots(const KafkaDeployment& deployment, stream::kafka::TopicAdmin& admin) {
  auto looked = admin.Check({{.spec = {.name = deployment.excluded, .partitions = 1}, .settings = {}}}, 0);
  if (!looked.ok()) return looked.status();
  for (const auto& drift : *looked)
    if (drift.missing) return Status::Ok();
  return Status::InvalidArgument(
      "this deployment has the topic " + deployment.excluded +
      ": the deployment was created with the other value of kafka.slots (together or "
      "by_stage). Both at once would grant everything twice; set kafka.slots to the value of "
      "the existing workers");
}

std::string ThreadName(const settings::RunSettings& role, std::uint32_t thread) {
  const std::string name = RoleName(role);
  return role.kafka.instance + "." + (name.empty() ? "" : name + ".") + std::to_string(thread);
}

std::string StateDirectory(const settings::RunSettings& role, std::uint32_t thread) {
  return role.data_directory + "/kafka-state/" + ThreadName(role, thread);
}

namespace {

// The kind of deployment as stored in the topics; none: not stored, which happens only before the first record.
Result<std::optional<std::string>> StoredKind(stream::kafka::Cluster& cluster) {
  auto reader = cluster.NewReader(stream::kafka::kShortFetch);
  if (!reader.ok()) return reader.status();
  std::optional<std::string> kind;
  Status s = stream::kafka::ReadAll(**reader, {kStatusTopic, 0}, stream::kafka::kBeginning,
                                    kDeploymentPatience, [&](const stream::kafka::Message& row) {
                                      if (row.key() == kKindKey) kind = row.value();
                                      return Status::Ok();
                                    });
  if (!s.ok()) return s;
  return kind;
}

}  // namespace

Status WriteKind(stream::kafka::Cluster& cluster, const settings::RunSettings& settings) {
  const auto stored = StoredKind(cluster);
  if (!stored.ok()) return stored.status();
  if (*stored) return Status::Ok();
  auto producer = cluster.NewProducer("topics");
  if (!producer.ok()) return producer.status();
  std::uint64_t ignored = 0;
  stream::kafka::Outcome o = (*producer)->Init();
  if (o.ok()) o = (*producer)->Begin();
  if (o.ok())
    o = (*producer)->Produce({kStatusTopic, 0}, kKindKey, std::string(settings::KindOf(settings)), &ignored);
  if (o.ok()) o = (*producer)->Flush();
  if (o.ok()) o = (*producer)->Commit();
  if (!o.ok()) return Status::Retry("cannot write the kind of the deployment: " + o.message);
  // Brokers show a committed transaction to readers a moment later. Whoever looked before would take the deployment for one
  // of the kind that is not stored.
  const auto deadline = std::chrono::steady_clock::now() + kDeploymentPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto seen = StoredKind(cluster);
    if (!seen.ok()) return seen.status();
    if (*seen) return Status::Ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Status::Retry("the brokers do not show the kind of the deployment yet; run `topics create` again");
}

Status CheckKind(stream::kafka::Cluster& cluster, const settings::RunSettings& settings) {
  const auto stored = StoredKind(cluster);
  if (!stored.ok()) return stored.status();
  const std::string made = stored->value_or(std::string(settings::kArrivalKind));
  const std::string_view configured = settings::KindOf(settings);
  if (made == configured) return Status::Ok();
  return Status::InvalidArgument(
      settings::OtherKind("the topics of this deployment were", made, configured, "another prefix"));
}

Status ClaimStateDirectories(const settings::RunSettings& role, const KafkaDeployment& deployment,
                             const std::function<void(const std::string&)>& report) {
  auto admin = stream::kafka::MakeTopicAdmin(deployment.cluster);
  if (!admin.ok()) return admin.status();
  const auto cluster = (*admin)->ClusterId();
  if (!cluster.ok()) return cluster.status();
  for (std::uint32_t t = 0; t < role.threads; ++t)
    if (Status s = stream::kafka::ClaimStateDirectory(
            StateDirectory(role, t), {.cluster = *cluster, .prefix = deployment.cluster.prefix}, report);
        !s.ok())
      return s;
  return Status::Ok();
}

Status CheckTopics(const KafkaDeployment& deployment) {
  auto admin = stream::kafka::MakeTopicAdmin(deployment.cluster);
  if (!admin.ok()) return admin.status();
  if (Status s = CheckSlots(deployment, **admin); !s.ok()) return s;
  // Brokers receive metadata of new topics with a short delay, and any broker may answer the request.
  const auto deadline = std::chrono::steady_clock::now() + kMissingPatience;
  auto drifts = (*admin)->Check(deployment.plan, deployment.replication);
  const auto missing_one = [&] {
    return std::any_of(drifts->begin(), drifts->end(), [](const auto& drift) { return drift.missing; });
  };
  while (drifts.ok() && missing_one() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    drifts = (*admin)->Check(deployment.plan, deployment.replication);
  }
  if (!drifts.ok()) return drifts.status();
  std::string missing;
  std::string different;
  for (const auto& drift : *drifts) {
    if (drift.missing)
      missing += (missing.empty() ? "" : ", ") + drift.topic;
    else
      different += "\n  " + drift.topic + " " + drift.what;
  }
  if (!different.empty())
    return Status::InvalidArgument(
        "topics of this deployment are not configured correctly:" + different +
        "\nPartition counts cannot be changed; correct the settings with Kafka's own tools");
  if (!missing.empty())
    return Status::NotFound("topics are missing: " + missing +
                            ". Create the topics with `cobblestone topics create`");
  return Status::Ok();
}

Status AwaitNoMembers(stream::kafka::TopicAdmin& admin, const settings::RunSettings& settings,
                      const std::function<void(const std::string&)>& report) {
  const auto deadline = std::chrono::steady_clock::now() + settings.kafka.session_timeout + kMemberMargin;
  for (bool reported = false;; reported = true) {
    auto members = admin.Members();
    if (!members.ok()) return members.status();
    if (members->empty()) return Status::Ok();
    std::string names;
    for (const std::string& member : *members) names += (names.empty() ? "" : ", ") + member;
    if (std::chrono::steady_clock::now() > deadline)
      return Status::Retry("workers are running: " + names +
                           ". Stop all of them, then run the command again");
    if (!reported) report("waiting for the sessions of workers to end: " + names);
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace cobblestone::kafka

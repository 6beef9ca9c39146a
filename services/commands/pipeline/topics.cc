#include <cstdio>

#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "services/commands/command.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone::commands {

using kafka::CheckKind;
using kafka::CheckSlots;
using kafka::CheckTopics;
using kafka::DeploymentOf;
using kafka::WriteKind;

namespace {

struct TopicsArguments {
  DataPlace place;
};

int CreateOrCheck(const TopicsArguments& options, bool create) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return ReportError(Status::InvalidArgument(
        "the configuration's backend is not kafka; only deployments on Kafka have topics"));
  auto deployment = DeploymentOf(*settings, ReportOpening);
  if (!deployment.ok()) return ReportError(deployment.status());
  if (create) {
    auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
    if (!admin.ok()) return ReportError(admin.status());
    if (Status s = CheckSlots(*deployment, **admin); !s.ok()) return ReportError(s);
    auto made = (*admin)->Create(deployment->plan, deployment->replication);
    if (!made.ok()) return ReportError(made.status());
    for (const std::string& name : *made) std::printf("created %s\n", name.c_str());
  }
  if (Status s = CheckTopics(*deployment); !s.ok()) return ReportError(s);
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return ReportError(cluster.status());
  if (create)
    if (Status s = WriteKind(**cluster, *settings); !s.ok()) return ReportError(s);
  if (Status s = CheckKind(**cluster, *settings); !s.ok()) return ReportError(s);
  std::printf("%zu topics are configured correctly\n", deployment->plan.size());
  return kExitOk;
}

int Create(const TopicsArguments& options) { return CreateOrCheck(options, true); }
int Check(const TopicsArguments& options) { return CreateOrCheck(options, false); }

}  // namespace

void AddTopics(Program& program) {
  Verb verb = program.root.Sub("topics", "Creates or checks the topics of a deployment on Kafka");
  const auto declare = [](Verb& sub, TopicsArguments& options) { AddDataPlace(sub, options.place); };
  AddVerb<TopicsArguments>(program, verb, "create", "Creates missing topics, then checks all topics", declare,
                           Create);
  AddVerb<TopicsArguments>(program, verb, "check",
                           "Reports topics that are missing or have a wrong configuration", declare, Check);
}

}  // namespace cobblestone::commands

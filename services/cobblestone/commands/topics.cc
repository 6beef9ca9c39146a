#include <cstdio>

#include "common/stream/kafka/librdkafka/topic_admin.h"
#include "services/cobblestone/commands/command.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone {
namespace {

struct Options {
  DataPlace place;
  bool create = false;
};

int Run(const Options& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return TellError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return TellError(Status::InvalidArgument(
        "the configuration's backend is not kafka; only deployments on Kafka have topics"));
  auto deployment = DeploymentOf(*settings, TellOpening);
  if (!deployment.ok()) return TellError(deployment.status());
  if (options.create) {
    auto admin = stream::kafka::MakeTopicAdmin(deployment->cluster);
    if (!admin.ok()) return TellError(admin.status());
    if (Status s = CheckSlots(*deployment, **admin); !s.ok()) return TellError(s);
    auto made = (*admin)->Create(deployment->plan, deployment->replication);
    if (!made.ok()) return TellError(made.status());
    for (const std::string& name : *made) std::printf("created %s\n", name.c_str());
  }
  if (Status s = CheckTopics(*deployment); !s.ok()) return TellError(s);
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return TellError(cluster.status());
  if (options.create)
    if (Status s = WriteOrder(**cluster, settings->order); !s.ok()) return TellError(s);
  if (Status s = CheckOrder(**cluster, settings->order); !s.ok()) return TellError(s);
  std::printf("%zu topics are configured correctly\n", deployment->plan.size());
  return kExitOk;
}

void Declare(CLI::App& verb, Options& options) { AddDataPlace(verb, options.place); }

}  // namespace

void AddTopics(Program& program) {
  CLI::App* verb =
      program.app.add_subcommand("topics", "Creates or checks the topics of a deployment on Kafka");
  verb->require_subcommand(1);
  for (const bool create : {true, false}) {
    CLI::App* sub = verb->add_subcommand(
        create ? "create" : "check", create ? "Creates missing topics, then checks all"
                                            : "Reports topics that are missing or configured differently");
    const auto options = std::make_shared<Options>();
    options->create = create;
    Declare(*sub, *options);
    sub->callback([&program, options] { program.chosen = [options] { return Run(*options); }; });
  }
}

}  // namespace cobblestone

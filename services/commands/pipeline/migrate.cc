#include "services/kafka/migrate.h"

#include <cstdio>

#include "services/commands/command.h"

namespace cobblestone::commands {

using kafka::MigrateCounts;
using kafka::MigrateOptions;
using kafka::MigrateToEmbedded;
using kafka::MigrateToKafka;

namespace {

struct MigrateArguments {
  std::string from;
  std::string to;
  bool from_the_beginning = false;
};

int RunMigrate(const MigrateArguments& options) {
  const auto from = settings::LoadRunSettings(options.from);
  if (!from.ok()) return ReportError(from.status());
  const auto to = settings::LoadRunSettings(options.to);
  if (!to.ok()) return ReportError(to.status());
  if (from->partitions != to->partitions)
    return ReportError(Status::InvalidArgument(
        "both deployments must have the same number of partitions: " + options.from + " has " +
        std::to_string(from->partitions) + ", " + options.to + " has " + std::to_string(to->partitions)));
  if (from->order != to->order)
    return ReportError(Status::InvalidArgument("both deployments must have the same `order`"));
  if (from->backend == to->backend)
    return ReportError(Status::InvalidArgument(
        "one configuration must have `backend: kafka`, the other `backend: embedded`"));
  Progress progress("records", false);
  const MigrateOptions migrate{
      .checkpoint = !options.from_the_beginning,
      .progress =
          [&](const MigrateCounts& counts) {
            progress.Show({.done = counts.records, .all = counts.all, .counted = counts.records});
          },
      .report = ReportOpening};
  const bool to_kafka = to->backend == settings::Backend::kKafka;
  if (to_kafka && options.from_the_beginning)
    return ReportError(Status::InvalidArgument(
        "--from-the-beginning requires a --from deployment on Kafka; --from is embedded"));
  auto counts =
      to_kafka ? MigrateToKafka(*from, *to, migrate) : MigrateToEmbedded(*from, to->data_directory, migrate);
  progress.Finish();
  if (!counts.ok()) return ReportError(counts.status());
  const std::string where =
      to_kafka ? "on " + to->kafka.bootstrap + ", prefix " + to->kafka.prefix : "in " + to->data_directory;
  std::printf("migrated: %s records, the state of %s commits and %llu sources are %s\n",
              WithCommas(counts->records).c_str(), WithCommas(counts->commits).c_str(),
              static_cast<unsigned long long>(counts->sources), where.c_str());
  return kExitOk;
}

}  // namespace

void AddMigrate(Program& program) {
  AddVerb<MigrateArguments>(
      program, "migrate", "Moves a deployment between one machine and Kafka, with its whole history",
      [](Verb& verb, MigrateArguments& options) {
        verb.Add("--from", options.from, "configuration of the existing deployment").Type("FILE").Required();
        verb.Add("--to", options.to, "configuration of the new deployment").Type("FILE").Required();
        verb.Flag("--from-the-beginning", options.from_the_beginning,
                  "from Kafka: re-execute all commits from the first one, and compare every fingerprint");
        verb.Footer(
            "No process may run on either deployment. Ledger, inputs, state and the positions of all sources are\n"
            "copied unchanged, and the old deployment stays until you delete it. The topics of a deployment on Kafka\n"
            "must exist (`cobblestone topics create`) and be empty. After an interruption, start the migration again\n"
            "with empty topics.\n\n"
            "Examples:  cobblestone migrate --from one-machine.yaml --to kafka.yaml\n"
            "           cobblestone migrate --from kafka.yaml --to one-machine.yaml");
      },
      RunMigrate);
}

}  // namespace cobblestone::commands

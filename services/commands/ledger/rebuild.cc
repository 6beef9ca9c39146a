#include "services/kafka/rebuild.h"

#include <cstdio>
#include <vector>

#include "services/commands/command.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone::commands {

using kafka::JournalTaken;
using kafka::PipelineOf;
using kafka::Rebuild;
using kafka::RoleNamed;
using pipeline::SlotCount;

namespace {

struct RebuildArguments {
  DataPlace place;
  std::string instance;
  std::string stage;
  std::vector<std::uint32_t> slots;
  bool journal = false;
};

int MakeStates(Rebuild& rebuild, const std::vector<std::uint32_t>& slots) {
  for (const std::uint32_t k : slots) {
    Progress progress("commits", false);
    auto rebuilt = rebuild.State(k, [&](const stream::kafka::TaskStatus& status) {
      progress.Show({.done = status.sequence, .all = status.target_sequence, .counted = status.reexecuted});
    });
    progress.Finish();
    if (!rebuilt.ok()) return ReportError(rebuilt.status());
    if (rebuilt->sequence == 0)
      std::printf("slot %u: the cluster has no commits of this slot; its state on this machine was deleted\n",
                  k);
    else
      std::printf(
          "slot %u: rebuilt as of commit %s: %s rows from the checkpoint, %s commits "
          "re-executed, every fingerprint equal\n",
          k, WithCommas(rebuilt->sequence).c_str(), WithCommas(rebuilt->rows).c_str(),
          WithCommas(rebuilt->reexecuted).c_str());
  }
  return kExitOk;
}

int TakeJournals(Rebuild& rebuild, const std::vector<std::uint32_t>& slots) {
  const auto taken = rebuild.TakeJournals(slots);
  if (!taken.ok()) return ReportError(taken.status());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string sequence = WithCommas((*taken)[i].sequence);
    switch ((*taken)[i].what) {
      case JournalTaken::What::kNothing:
        std::printf("slot %u: the journal is empty; unchanged\n", slots[i]);
        break;
      case JournalTaken::What::kCommitted:
        std::printf("slot %u: the group already has commit %s; unchanged\n", slots[i], sequence.c_str());
        break;
      case JournalTaken::What::kTaken:
        std::printf("slot %u: continues after commit %s, the last in its journal\n", slots[i],
                    sequence.c_str());
        break;
    }
  }
  return kExitOk;
}

int RunRebuild(const RebuildArguments& options) {
  auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return ReportError(Status::InvalidArgument(
        "rebuild is for deployments on Kafka; with the embedded log, `cobblestone run` "
        "rebuilds damaged states by itself"));
  if (!options.instance.empty()) settings->kafka.instance = options.instance;
  if (auto role = RoleNamed(*settings, options.stage); role.ok())
    settings = std::move(role);
  else
    return ReportError(role.status());
  const std::uint32_t count = SlotCount(PipelineOf(*settings));
  std::vector<std::uint32_t> slots = options.slots;
  if (slots.empty())
    for (std::uint32_t k = 0; k < count; ++k) slots.push_back(k);
  for (const std::uint32_t k : slots)
    if (k >= count)
      return ReportError(Status::NotFound("unknown slot " + std::to_string(k) +
                                          "; slots are numbered from 0 to " + std::to_string(count - 1) +
                                          (options.stage.empty() ? ", the coordinator's" : "")));
  auto rebuild = Rebuild::Open(*settings, ReportOpening);
  if (!rebuild.ok()) return ReportError(rebuild.status());
  return options.journal ? TakeJournals(**rebuild, slots) : MakeStates(**rebuild, slots);
}

}  // namespace

void AddRebuild(Program& program) {
  AddVerb<RebuildArguments>(
      program, "rebuild",
      "On Kafka: rebuilds the state of slots on this machine, or restores their lost offsets",
      [](Verb& verb, RebuildArguments& options) {
        verb.Add("SLOT", options.slots, "slots to rebuild (default: all)");
        AddDataPlace(verb, options.place);
        verb.Add("--instance", options.instance,
                 "name of the worker; overrides kafka.instance of the configuration")
            .Type("NAME");
        verb.Add("--stage", options.stage, "stage of the slots, if kafka.slots is by_stage")
            .Type("STAGE")
            .OneOf(
                std::vector<std::string>(std::begin(settings::kStageNames), std::end(settings::kStageNames)));
        verb.Flag(
            "--journal", options.journal,
            "commit the end of each journal as the slot's offset, after the consumer group's offsets were deleted\n"
            "(for example by the brokers' retention). All workers must be stopped; offsets that still exist stay\n"
            "unchanged");
        verb.Footer(
            "Without --journal: the state on this machine is rebuilt from the checkpoint and the journal. Every\n"
            "fingerprint is compared, then the rebuilt state replaces the old one. The worker that owns the state\n"
            "must be stopped; other workers may run. The cluster is not changed.\n\n"
            "Example:  cobblestone rebuild 3 --config kafka.yaml");
      },
      RunRebuild);
}

}  // namespace cobblestone::commands

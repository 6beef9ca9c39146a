#include "services/kafka/rebuild.h"

#include <cstdio>
#include <vector>

#include "services/cli/progress.h"
#include "services/cobblestone/commands/command.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone {
namespace {

struct Options {
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
    if (!rebuilt.ok()) return TellError(rebuilt.status());
    if (rebuilt->sequence == 0)
      std::printf("slot %u: nothing is committed for it on the cluster; its state on this machine is gone\n",
                  k);
    else
      std::printf(
          "slot %u: made again as of commit %s: %s rows from the checkpoint, %s commits executed again, every "
          "fingerprint equal\n",
          k, WithCommas(rebuilt->sequence).c_str(), WithCommas(rebuilt->rows).c_str(),
          WithCommas(rebuilt->reexecuted).c_str());
  }
  return kExitOk;
}

int TakeJournals(Rebuild& rebuild, const std::vector<std::uint32_t>& slots) {
  const auto taken = rebuild.TakeJournals(slots);
  if (!taken.ok()) return TellError(taken.status());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::string sequence = WithCommas((*taken)[i].sequence);
    switch ((*taken)[i].what) {
      case JournalTaken::What::kNothing:
        std::printf("slot %u: nothing was ever written for it; left as it is\n", slots[i]);
        break;
      case JournalTaken::What::kCommitted:
        std::printf("slot %u: the group knows commit %s; left as it is\n", slots[i], sequence.c_str());
        break;
      case JournalTaken::What::kTaken:
        std::printf("slot %u: goes on behind commit %s, the last in its journal\n", slots[i],
                    sequence.c_str());
        break;
    }
  }
  return kExitOk;
}

int Run(const Options& options) {
  auto settings = SettingsOf(options.place);
  if (!settings.ok()) return TellError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return TellError(Status::InvalidArgument(
        "rebuild is for deployments on Kafka; the embedded log makes damaged states again by itself (`cobblestone run`)"));
  if (!options.instance.empty()) settings->kafka.instance = options.instance;
  if (auto role = RoleNamed(*settings, options.stage); role.ok())
    settings = std::move(role);
  else
    return TellError(role.status());
  const std::uint32_t count = SlotCount(PipelineOf(*settings));
  std::vector<std::uint32_t> slots = options.slots;
  if (slots.empty())
    for (std::uint32_t k = 0; k < count; ++k) slots.push_back(k);
  for (const std::uint32_t k : slots)
    if (k >= count)
      return TellError(Status::NotFound("there is no slot " + std::to_string(k) + "; they go from 0 to " +
                                        std::to_string(count - 1) +
                                        (options.stage.empty() ? ", the coordinator's" : "")));
  auto rebuild = Rebuild::Open(*settings, TellOpening);
  if (!rebuild.ok()) return TellError(rebuild.status());
  return options.journal ? TakeJournals(**rebuild, slots) : MakeStates(**rebuild, slots);
}

}  // namespace

void AddRebuild(Program& program) {
  AddVerb<Options>(
      program, "rebuild", "On Kafka: restores the state of slots on this machine, or shows where they stand",
      [](CLI::App& verb, Options& options) {
        verb.add_option("SLOT", options.slots, "slots; without any all of them");
        AddDataPlace(verb, options.place);
        verb.add_option("--instance", options.instance,
                        "whose state; stands above the configuration's kafka.instance")
            ->type_name("NAME");
        verb.add_option("--stage", options.stage, "where kafka.slots is by_stage: whose slots")
            ->type_name("STAGE")
            ->check(CLI::IsMember(std::vector<std::string>(std::begin(settings::kStageNames),
                                                           std::end(settings::kStageNames))));
        verb.add_flag("--journal", options.journal,
                      "the group's offsets are gone (it was away for longer than the brokers keep them, or\n"
                      "was deleted): takes the end of each journal as the truth and commits it. All workers\n"
                      "must be stopped; what the group still knows stays as it is");
        verb.footer(
            "Without --journal: the state on this machine is made again from the checkpoint and the journal,\n"
            "every fingerprint compared, and then takes the place of what was there. The worker that has it\n"
            "must be stopped, others may go on. Nothing on the cluster is changed.\n\n"
            "Example:  cobblestone rebuild 3 --config kafka.yaml");
      },
      Run);
}

}  // namespace cobblestone

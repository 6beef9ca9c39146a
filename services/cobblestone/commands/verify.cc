#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "common/stream/kafka/catch_up.h"
#include "services/cobblestone/commands/command.h"
#include "services/cobblestone/kafka_deployment.h"
#include "services/cobblestone/progress.h"

namespace cobblestone {
namespace {

namespace fs = std::filesystem;
using stream::kafka::CatchUp;

struct Options {
  DataPlace place;
  std::string stage;
  std::vector<std::uint32_t> slots;
  std::string directory;
};

// The first key whose rows differ; empty: none.
Result<std::string> FirstDifference(store::Store& a, store::Store& b, std::uint64_t* rows) {
  std::map<std::string, std::string> of_a;
  Status s = a.Scan({}, [&](std::string_view key, std::string_view value) {
    of_a.emplace(key, value);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  *rows = of_a.size();
  std::string first;
  s = b.Scan({}, [&](std::string_view key, std::string_view value) {
    const auto found = of_a.find(std::string(key));
    if ((found == of_a.end() || found->second != value) && first.empty()) first = key;
    if (found != of_a.end()) of_a.erase(found);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  if (first.empty() && !of_a.empty()) first = of_a.begin()->first;
  return first;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  char two[3];
  for (const char c : bytes) {
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    text += two;
  }
  return text;
}

int VerifySlots(const Options& options, const settings::RunSettings& settings, const std::string& scratch) {
  auto deployment = DeploymentOf(settings, TellOpening);
  if (!deployment.ok()) return TellError(deployment.status());
  if (Status s = CheckTopics(*deployment); !s.ok()) return TellError(s);
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return TellError(cluster.status());
  const std::uint32_t count = SlotCount(PipelineOf(settings));
  const std::string role = RoleName(settings);
  std::vector<std::uint32_t> slots = options.slots;
  if (slots.empty())
    for (std::uint32_t k = 0; k < count; ++k) slots.push_back(k);
  stream::kafka::BackgroundThread background;
  const auto factory = MakeSlotFactory(settings);
  int code = kExitOk;
  for (const std::uint32_t k : slots) {
    if (k >= count) return TellError(Status::NotFound("there is no slot " + std::to_string(k)));
    const std::string name = (role.empty() ? "" : role + " ") + "slot " + std::to_string(k);
    Progress progress("commits", false);
    std::uint64_t again = 0;
    const stream::kafka::CatchUpOptions how{
        .checkpoint = true, .progress = [&](const stream::kafka::TaskStatus& status) {
          again = status.reexecuted;
          progress.Show(
              {.done = status.sequence, .all = status.target_sequence, .counted = status.reexecuted});
        }};
    const auto from_checkpoint =
        stream::kafka::MakeDirectoryStateSpace(scratch + "/checkpoint", settings.memory.block_cache);
    const auto from_beginning =
        stream::kafka::MakeDirectoryStateSpace(scratch + "/beginning", settings.memory.block_cache);
    auto meta = CatchUp(**cluster, k, deployment->task, factory, *from_checkpoint, background, how);
    if (!meta.ok()) {
      progress.Finish();
      std::printf("%s: %s\n", name.c_str(), meta.status().message().c_str());
      code = kExitProblems;
      continue;
    }
    const std::uint64_t after_checkpoint = again;
    // As far back as the log goes: the state that the checkpoint gives is the one that all of history gives.
    auto how_whole = how;
    how_whole.checkpoint = false;
    how_whole.until = meta->sequence;
    auto whole = CatchUp(**cluster, k, deployment->task, factory, *from_beginning, background, how_whole);
    progress.Finish();
    std::string text = name + ": " + WithCommas(after_checkpoint) +
                       " commits executed again behind the checkpoint, every fingerprint equal";
    if (whole.ok()) {
      auto a = from_checkpoint->Open(k);
      if (!a.ok()) return TellError(a.status());
      auto b = from_beginning->Open(k);
      if (!b.ok()) return TellError(b.status());
      std::uint64_t rows = 0;
      auto difference = FirstDifference(**a, **b, &rows);
      if (!difference.ok()) return TellError(difference.status());
      if (difference->empty()) {
        text += "; all " + WithCommas(meta->sequence) + " from the first on give the same " +
                WithCommas(rows) + " rows of state";
      } else {
        text += "; but all " + WithCommas(meta->sequence) + " from the first on give another state: row " +
                Hex(*difference) + " differs";
        code = kExitProblems;
      }
    } else {
      text += "; from the first on they cannot be executed: " + whole.status().message();
    }
    std::printf("%s\n", text.c_str());
  }
  return code;
}

int Run(const Options& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return TellError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return TellError(
        Status::InvalidArgument("verify is for deployments on Kafka; `cobblestone audit` checks this one"));
  const std::string scratch = options.directory.empty()
                                  ? settings->data_directory + "/verify-" + std::to_string(::getpid())
                                  : options.directory;
  std::error_code error;
  if (fs::exists(scratch, error)) return TellError(Status::InvalidArgument(scratch + " is there already"));
  auto roles = AllRolesOf(*settings);
  if (!options.stage.empty() || (!options.slots.empty() && roles.size() > 1)) {
    auto role = RoleNamed(*settings, options.stage);
    if (!role.ok()) return TellError(role.status());
    roles = {*role};
  }
  int code = kExitOk;
  for (const settings::RunSettings& role : roles) {
    const int one = VerifySlots(options, role, scratch + RoleName(role));
    fs::remove_all(scratch + RoleName(role), error);
    code = std::max(code, one);
  }
  return code;
}

}  // namespace

void AddVerify(Program& program) {
  AddVerb<Options>(
      program, "verify",
      "On Kafka: executes tasks again from their checkpoints, and compares fingerprints and state",
      [](CLI::App& verb, Options& options) {
        verb.add_option("SLOT", options.slots, "slots; without any all of them");
        AddDataPlace(verb, options.place);
        verb.add_option("--stage", options.stage,
                        "where kafka.slots is by_stage: whose slots; without it all")
            ->type_name("STAGE");
        verb.add_option(
                "--scratch", options.directory,
                "directory for the states that are made; must not exist, is removed. Without it one in the data\n"
                "directory")
            ->type_name("DIR");
        verb.footer(
            "Workers may go on meanwhile: nothing of theirs is touched. Exit code 1 where something differs.\n\n"
            "Example:  cobblestone verify 0 1 --config kafka.yaml");
      },
      Run);
}

}  // namespace cobblestone

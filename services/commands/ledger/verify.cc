#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "services/commands/command.h"
#include "services/kafka/kafka_deployment.h"
#include "services/kafka/verification.h"

namespace cobblestone::commands {

using kafka::AllRolesOf;
using kafka::CompareOutputs;
using kafka::OutputSums;
using kafka::RoleName;
using kafka::RoleNamed;
using kafka::SlotVerdict;
using kafka::TopicVerdict;
using kafka::VerifySlots;

namespace {

namespace fs = std::filesystem;

struct VerifyArguments {
  DataPlace place;
  std::string stage;
  std::vector<std::uint32_t> slots;
  std::string directory;
  bool outputs = false;
};

std::string Hex(std::string_view bytes) {
  std::string text;
  char two[3];
  for (const char c : bytes) {
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(c));
    text += two;
  }
  return text;
}

// `outputs`: all outputs are compared, so that a trimmed journal is a problem. Prints a line; returns the exit code.
int Print(const std::string& role, const SlotVerdict& verdict, bool outputs) {
  std::string text = (role.empty() ? "" : role + " ") + "slot " + std::to_string(verdict.slot) + ": ";
  bool sound = false;
  if (!verdict.from_checkpoint.ok()) {
    text += verdict.from_checkpoint.message();
  } else {
    const std::string all = WithCommas(verdict.commits) + " commits from the first one give ";
    text += WithCommas(verdict.after_checkpoint) +
            " commits re-executed after the checkpoint, every fingerprint equal; ";
    if (!verdict.from_beginning.ok() && verdict.oldest > 1 && !outputs) {
      sound = true;
      text += "the log starts at commit " + WithCommas(verdict.oldest) +
              ", so the commits before it cannot be re-executed";
    } else if (!verdict.from_beginning.ok()) {
      text += "the commits from the first one cannot be re-executed: " + verdict.from_beginning.message();
    } else if (!verdict.difference.empty()) {
      text += "but all " + all + "a different state: row " + Hex(verdict.difference) + " differs";
    } else {
      sound = true;
      text += "all " + all + "the same " + WithCommas(verdict.rows) + " rows of state";
    }
  }
  std::printf("%s\n", text.c_str());
  return sound ? kExitOk : kExitProblems;
}

int Print(const TopicVerdict& verdict) {
  const auto sum = [](const kafka::RecordSum& records) {
    return WithCommas(records.records) + " records, hash " + records.HashText();
  };
  std::string text = sum(verdict.executed) + ", equal to the re-executed outputs";
  if (const auto& other = verdict.difference)
    text = "partition " + std::to_string(other->partition) + " has " + sum(other->there) +
           ", but the commits produced " + WithCommas(other->executed.records) + ", hash " +
           other->executed.HashText() + " (other causes: a worker is running, or the topic was trimmed)";
  std::printf("%s: %s\n", verdict.topic.c_str(), text.c_str());
  return verdict.difference ? kExitProblems : kExitOk;
}

int RunVerify(const VerifyArguments& options) {
  const auto settings = SettingsOf(options.place);
  if (!settings.ok()) return ReportError(settings.status());
  if (settings->backend != settings::Backend::kKafka)
    return ReportError(
        Status::InvalidArgument("verify is for deployments on Kafka; `cobblestone audit` checks this one"));
  if (options.outputs && (!options.slots.empty() || !options.stage.empty()))
    return ReportError(
        Status::InvalidArgument("--outputs checks all slots: remove the slot numbers and --stage"));
  const std::string scratch = options.directory.empty()
                                  ? settings->data_directory + "/verify-" + std::to_string(::getpid())
                                  : options.directory;
  std::error_code error;
  if (fs::exists(scratch, error))
    return ReportError(Status::InvalidArgument(
        scratch + " already exists; remove the directory, or set --scratch to another one"));
  auto roles = AllRolesOf(*settings);
  if (!options.stage.empty() || (!options.slots.empty() && roles.size() > 1)) {
    auto role = RoleNamed(*settings, options.stage);
    if (!role.ok()) return ReportError(role.status());
    roles = {*role};
  }
  int code = kExitOk;
  OutputSums made;
  for (const settings::RunSettings& role : roles) {
    std::optional<Progress> progress;
    Status s = VerifySlots(role, {.slots = options.slots,
                                  .scratch = scratch + RoleName(role),
                                  .outputs = options.outputs ? &made : nullptr,
                                  .report = ReportOpening,
                                  .progress =
                                      [&](const stream::kafka::TaskStatus& status) {
                                        if (!progress) progress.emplace("commits", false);
                                        progress->Show({.done = status.sequence,
                                                        .all = status.target_sequence,
                                                        .counted = status.reexecuted});
                                      },
                                  .verdict =
                                      [&](const SlotVerdict& verdict) {
                                        progress.reset();
                                        code =
                                            std::max(code, Print(RoleName(role), verdict, options.outputs));
                                      }});
    progress.reset();
    fs::remove_all(scratch + RoleName(role), error);
    if (!s.ok()) code = std::max(code, ReportError(s));
  }
  if (!options.outputs) return code;
  Status s = CompareOutputs(*settings, std::move(made), ReportOpening,
                            [&](const TopicVerdict& verdict) { code = std::max(code, Print(verdict)); });
  return s.ok() ? code : std::max(code, ReportError(s));
}

}  // namespace

void AddVerify(Program& program) {
  AddVerb<VerifyArguments>(
      program, "verify", "On Kafka: re-executes slots and compares fingerprints, state and outputs",
      [](Verb& verb, VerifyArguments& options) {
        verb.Add("SLOT", options.slots, "slots to verify (default: all)");
        verb.Flag(
            "--outputs", options.outputs,
            "also compare all outputs since the first commit with the records in the topics; no worker may run");
        AddDataPlace(verb, options.place);
        verb.Add("--stage", options.stage,
                 "stage of the slots, if kafka.slots is by_stage (default: all stages)")
            .Type("STAGE");
        verb.Add("--scratch", options.directory,
                 "directory for the re-executed states; it must not exist, and is removed at the end "
                 "(default: a\n"
                 "directory in the data directory)")
            .Type("DIR");
        verb.Footer(
            "Except with --outputs, workers may keep running; the command does not change their state. Exit code 1:\n"
            "the command found a difference.\n\n"
            "Example:  cobblestone verify 0 1 --config kafka.yaml");
      },
      RunVerify);
}

}  // namespace cobblestone::commands

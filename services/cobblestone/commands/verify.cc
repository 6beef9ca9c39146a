#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "common/stream/hash128.h"
#include "common/stream/kafka/catch_up.h"
#include "common/stream/kafka/read_all.h"
#include "common/stream/runtime/journal.h"
#include "common/wire/control/topics.h"
#include "services/cli/progress.h"
#include "services/cobblestone/commands/command.h"
#include "services/kafka/kafka_deployment.h"

namespace cobblestone {

using cli::AddVerb;
using cli::kExitOk;
using cli::kExitProblems;
using cli::Program;
using cli::Progress;
using cli::Verb;
using cli::WithCommas;
using kafka::AllRolesOf;
using kafka::CheckOrder;
using kafka::CheckTopics;
using kafka::DeploymentOf;
using kafka::MakeSlotFactory;
using kafka::PipelineOf;
using kafka::RoleName;
using kafka::RoleNamed;
using pipeline::MakeSlotFactory;
using pipeline::SlotCount;

namespace {

namespace fs = std::filesystem;
using stream::kafka::CatchUp;

constexpr stream::kafka::Millis kPatience{60000};

struct Options {
  DataPlace place;
  std::string stage;
  std::vector<std::uint32_t> slots;
  std::string directory;
  bool outputs = false;
};

// Topics that only slots write.
constexpr wire::Topic kOutputs[] = {wire::kControl, wire::kClaims,  wire::kGrants, wire::kPostings,
                                    wire::kTotals,  wire::kSamples, wire::kPassed};

// Sum of a set of records, independent of their order; duplicates count.
struct RecordSum {
  std::uint64_t records = 0;
  unsigned __int128 hashes = 0;

  void Add(std::string_view payload) {
    stream::RecordCursor cursor(payload);
    for (std::string_view record; cursor.Next(&record); ++records) {
      const stream::Hash128 hash = stream::HashBytes(record);
      hashes += (static_cast<unsigned __int128>(hash.high) << 64) + hash.low;
    }
  }
  [[nodiscard]] std::string Text() const {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hashes >> 64),
                  static_cast<unsigned long long>(hashes));
    return text;
  }
  friend bool operator==(const RecordSum&, const RecordSum&) = default;
};
using OutputSums = std::map<stream::TopicPartition, RecordSum>;

// The first key with different rows in the two stores; empty: none.
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

// Checks that the topics contain exactly the re-executed outputs: none missing, duplicated or different.
int CompareOutputs(const settings::RunSettings& settings, OutputSums made) {
  auto deployment = DeploymentOf(settings, ReportOpening);
  if (!deployment.ok()) return TellError(deployment.status());
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return TellError(cluster.status());
  auto reader = (*cluster)->NewReader();
  if (!reader.ok()) return TellError(reader.status());
  int code = kExitOk;
  for (const wire::Topic topic : kOutputs) {
    const stream::TopicSpec& spec = deployment->task.topics[topic];
    RecordSum all;
    std::string problem;
    for (std::uint32_t p = 0; p < spec.partitions; ++p) {
      RecordSum there;
      Status s = stream::kafka::ReadAll(**reader, {topic, p}, stream::kafka::kBeginning, kPatience,
                                        [&](const stream::kafka::Message& message) {
                                          there.Add(message.value());
                                          return Status::Ok();
                                        });
      if (!s.ok()) return TellError(s);
      const RecordSum& again = made[{topic, p}];
      all.records += again.records;
      all.hashes += again.hashes;
      if (!(there == again) && problem.empty())
        problem = "partition " + std::to_string(p) + " has " + WithCommas(there.records) + " records, hash " +
                  there.Text() + ", but the commits produced " + WithCommas(again.records) + ", hash " +
                  again.Text() + " (other causes: a worker is running, or the topic was trimmed)";
    }
    if (!problem.empty()) code = kExitProblems;
    std::printf("%s: %s\n", spec.name.c_str(),
                problem.empty() ? (WithCommas(all.records) + " records, hash " + all.Text() +
                                   ", equal to the re-executed outputs")
                                      .c_str()
                                : problem.c_str());
  }
  return code;
}

// The oldest commit that the journal still contains; 0: none.
Result<std::uint64_t> OldestCommit(stream::kafka::Cluster& cluster, stream::TopicPartition journal) {
  auto reader = cluster.NewReader();
  if (!reader.ok()) return reader.status();
  std::uint64_t oldest = 0;
  const Status found = Status::NotFound("that was all");
  Status s = stream::kafka::ReadAll(**reader, journal, stream::kafka::kBeginning, kPatience,
                                    [&](const stream::kafka::Message& message) {
                                      stream::RecordCursor cursor(message.value());
                                      std::string_view bytes;
                                      if (!cursor.Next(&bytes)) return Status::Ok();
                                      const auto entry = stream::DecodeJournalEntry(bytes);
                                      if (!entry.ok()) return entry.status();
                                      oldest = entry->sequence;
                                      return found;
                                    });
  if (!s.ok() && s.code() != found.code()) return s;
  return oldest;
}

// `made`: receives the outputs of the slots' commits, if requested.
int VerifySlots(const Options& options, const settings::RunSettings& settings, const std::string& scratch,
                OutputSums* made) {
  auto deployment = DeploymentOf(settings, ReportOpening);
  if (!deployment.ok()) return TellError(deployment.status());
  if (Status s = CheckTopics(*deployment); !s.ok()) return TellError(s);
  auto cluster = stream::kafka::MakeCluster(deployment->cluster);
  if (!cluster.ok()) return TellError(cluster.status());
  const std::uint32_t count = SlotCount(PipelineOf(settings));
  const std::string role = RoleName(settings);
  if (Status s = CheckOrder(**cluster, settings.order); !s.ok()) return TellError(s);
  std::vector<std::uint32_t> slots = options.slots;
  if (slots.empty())
    for (std::uint32_t k = 0; k < count; ++k) slots.push_back(k);
  stream::kafka::BackgroundThread background;
  const auto factory = MakeSlotFactory(settings);
  int code = kExitOk;
  for (const std::uint32_t k : slots) {
    if (k >= count) return TellError(Status::NotFound("unknown slot " + std::to_string(k)));
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
    // From the start of the log: the state from the checkpoint must equal the state from all of history.
    auto how_whole = how;
    how_whole.checkpoint = false;
    how_whole.until = meta->sequence;
    if (options.outputs)
      how_whole.executed = [made](const stream::SlotCommit& commit) {
        for (const stream::SlotOutput& output : commit.outputs) (*made)[output.where].Add(output.payload);
      };
    auto whole = CatchUp(**cluster, k, deployment->task, factory, *from_beginning, background, how_whole);
    progress.Finish();
    std::string text = name + ": " + WithCommas(after_checkpoint) +
                       " commits re-executed after the checkpoint, every fingerprint equal";
    if (whole.ok()) {
      auto a = from_checkpoint->Open(k);
      if (!a.ok()) return TellError(a.status());
      auto b = from_beginning->Open(k);
      if (!b.ok()) return TellError(b.status());
      std::uint64_t rows = 0;
      auto difference = FirstDifference(**a, **b, &rows);
      if (!difference.ok()) return TellError(difference.status());
      if (difference->empty()) {
        text += "; all " + WithCommas(meta->sequence) + " commits from the first one give the same " +
                WithCommas(rows) + " rows of state";
      } else {
        text += "; but all " + WithCommas(meta->sequence) +
                " commits from the first one give a different state: row " + Hex(*difference) + " differs";
        code = kExitProblems;
      }
    } else {
      const auto oldest = OldestCommit(**cluster, {deployment->task.journal, k});
      if (!oldest.ok()) return TellError(oldest.status());
      if (*oldest > 1 && !options.outputs) {
        text += "; the log starts at commit " + WithCommas(*oldest) +
                ", so the commits before it cannot be re-executed";
      } else {
        text += "; the commits from the first one cannot be re-executed: " + whole.status().message();
        code = kExitProblems;
      }
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
  if (options.outputs && (!options.slots.empty() || !options.stage.empty()))
    return TellError(
        Status::InvalidArgument("--outputs checks all slots: remove the slot numbers and --stage"));
  const std::string scratch = options.directory.empty()
                                  ? settings->data_directory + "/verify-" + std::to_string(::getpid())
                                  : options.directory;
  std::error_code error;
  if (fs::exists(scratch, error))
    return TellError(Status::InvalidArgument(
        scratch + " already exists; remove the directory, or set --scratch to another one"));
  auto roles = AllRolesOf(*settings);
  if (!options.stage.empty() || (!options.slots.empty() && roles.size() > 1)) {
    auto role = RoleNamed(*settings, options.stage);
    if (!role.ok()) return TellError(role.status());
    roles = {*role};
  }
  int code = kExitOk;
  OutputSums made;
  for (const settings::RunSettings& role : roles) {
    const int one = VerifySlots(options, role, scratch + RoleName(role), &made);
    fs::remove_all(scratch + RoleName(role), error);
    code = std::max(code, one);
  }
  if (options.outputs) code = std::max(code, CompareOutputs(*settings, std::move(made)));
  return code;
}

}  // namespace

void AddVerify(Program& program) {
  AddVerb<Options>(
      program, "verify", "On Kafka: re-executes slots and compares fingerprints, state and outputs",
      [](Verb& verb, Options& options) {
        verb.Add("SLOT", options.slots, "slots to verify (default: all)");
        verb.Flag(
            "--outputs", options.outputs,
            "also compare all outputs, from the first commit, with the records in the topics; no worker may run");
        AddDataPlace(verb, options.place);
        verb.Add("--stage", options.stage,
                 "stage of the slots, if kafka.slots is by_stage (default: all stages)")
            .Type("STAGE");
        verb.Add("--scratch", options.directory,
                 "directory for the re-executed states; must not exist, and is removed at the end "
                 "(default: a\n"
                 "directory in the data directory)")
            .Type("DIR");
        verb.Footer(
            "Workers may keep running (except with --outputs): their state is not changed. Exit code 1: a difference\n"
            "was found.\n\n"
            "Example:  cobblestone verify 0 1 --config kafka.yaml");
      },
      Run);
}

}  // namespace cobblestone

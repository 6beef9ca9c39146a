// Exports of a deployment on a real broker while its workers run. An export of an adopted project equals
// BOINC's own files. Under load each export agrees with its ledger. A full export followed by an incremental
// one equals, byte for byte, the export of the deployment moved to one machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/export/export_job.h"
#include "services/export/spec.h"
#include "services/export/state/state_source.h"
#include "tests/robustness/kafka_world.h"

namespace cobblestone::testing {

using embedded::Engine;
using exports::StateSource;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr seconds kPatience{60};

constexpr const char* kVariant = "c_sort_id_recs10";

std::string Golden(const std::string& name) {
  return std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/" + name;
}
// The file's content, whether compressed or not.
std::string Content(const std::string& path) {
  std::string content;
  char buffer[1 << 14];
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return "there is no " + path;
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    content.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return content;
}
std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.path().filename() != "manifest.json") files[entry.path().filename()] = Content(entry.path());
  return files;
}

class KafkaExport : public ::testing::Test {
 protected:
  KafkaExport()
      : broker_(TestBroker::Shared()), world_(*broker_, RestlessTraffic(RestlessOptions(11, 500))) {}

  Finished Export(const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "export",       "--spec",         Golden(std::string(kVariant) + "/db_dump.xml"),
        "--out",        world_.path(out), "--delete-old",
        "--strict-xml", "--now",          time_};
    words.insert(words.end(), more.begin(), more.end());
    return world_.Run(words);
  }
  json ManifestOf(const std::string& out) {
    return json::parse(Content(world_.path(out + "/manifest.json")), nullptr, false);
  }
  // Repeats the export until it shows the expected state, because an export follows the workers' checkpoints.
  void ExportUntil(const std::string& out, const std::vector<std::string>& more,
                   const std::function<bool()>& is_there) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    do {
      const Finished done = Export(out, more);
      ASSERT_EQ(done.code, 0) << done.out << done.err;
      if (is_there()) return;
    } while (std::chrono::steady_clock::now() < until);
    FAIL() << "the export never showed the expected state: " << ManifestOf(out)["ledger"].dump(1);
  }
  // Exports the deployment, at rest and moved to one machine.
  void ExportMigrated(const std::string& out) {
    world_.WithMigrated(
        [&](Engine& engine) {
          const auto source = StateSource::Open(engine.live_state(), {});
          ASSERT_TRUE(source.ok()) << source.status().message();
          const auto spec = exports::LoadSpec(Golden(std::string(kVariant) + "/db_dump.xml"));
          ASSERT_TRUE(spec.ok()) << spec.status().message();
          const auto done = exports::RunExport(
              **source, *spec,
              {.settings = {.strict_xml = true}, .now = std::stoll(time_), .out = world_.path(out)});
          ASSERT_TRUE(done.ok()) << done.status().message();
        },
        false);
  }

  std::unique_ptr<TestBroker> broker_;
  KafkaWorld world_;
  const std::string time_ = "1795204139";
};

TEST_F(KafkaExport, MatchesTheLedgerWhileWorkersRun) {
  std::vector<std::unique_ptr<Background>> workers;
  for (const char* name : {"a", "b"}) workers.push_back(world_.Worker(name));
  const Finished adopted = world_.Run({"adopt", Golden("entities.json"), "--json"});
  ASSERT_EQ(adopted.code, 0) << adopted.out << adopted.err;
  const Finished of_file =
      RunProgram(world_.path(""), {"export", "--entities", Golden("entities.json"), "--spec",
                                   Golden(std::string(kVariant) + "/db_dump.xml"), "--strict-xml", "--now",
                                   time_, "--out", world_.path("of_file")});
  ASSERT_EQ(of_file.code, 0) << of_file.err;
  const auto adopted_files = FilesOf(world_.path("of_file"));
  ExportUntil("full", {}, [&] { return FilesOf(world_.path("full")) == adopted_files; });

  // Under load, while hosts move to other owners.
  auto ingest = world_.IngestInBackground();
  int exported = 0;
  // On a busy machine the ingest may end before an export meets a moment in which no host moves.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (ingest->Runs() || (exported == 0 && std::chrono::steady_clock::now() < until)) {
    const Finished done = Export("busy", {});
    if (done.code != 0) {
      EXPECT_EQ(done.code, 4) << done.err;
      EXPECT_THAT(done.err, HasSubstr("is moving to the partition of another owner"));
    }
    exported += done.code == 0 ? 1 : 0;
  }
  EXPECT_LE(ingest->Wait(), 1) << ingest->err();
  EXPECT_GT(exported, 0);
  ASSERT_TRUE(world_.AwaitRest(kPatience)) << world_.Tasks().dump(1);
  for (const auto& worker : workers) {
    worker->Signal(SIGTERM);
    EXPECT_EQ(worker->Wait(), 0) << worker->err();
  }

  ExportMigrated("migrated");
  const auto truth = FilesOf(world_.path("migrated"));
  ASSERT_NE(truth, adopted_files);
  ExportUntil("rest", {}, [&] { return FilesOf(world_.path("rest")) == truth; });
  const json ledger = ManifestOf("rest")["ledger"];
  EXPECT_NE(ledger["users"]["granted"], "0.000000");
  const Finished next = Export("next", {"--incremental-from", world_.path("full")});
  ASSERT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(ManifestOf("next")["ledger"], ledger);
  const Finished read = world_.Run({"export", "--read", world_.path("full"), "--then", world_.path("next")});
  EXPECT_EQ(read.code, 0) << read.out << read.err;
  const auto whole = [&](const std::string& out) {
    json all;
    for (const json& output : ManifestOf(out)["outputs"])
      all.push_back({output["name"], output["records"], output["records_hash"]});
    return all;
  };
  EXPECT_EQ(whole("next"), whole("rest"));
}

}  // namespace
}  // namespace cobblestone::testing

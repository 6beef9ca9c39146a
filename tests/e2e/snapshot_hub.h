// Hubs as users run them, of which the tests take snapshots: the same feeds for each, whatever its numbers of projects,
// partitions and log.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/program_process.h"

namespace cobblestone::testing {

inline constexpr double kMonday = 1790000000;  // 2026-09-21 14:13:20
inline constexpr double kDay = 86400;
inline constexpr const char* kFirst = "2026-09-21";
inline constexpr const char* kSecond = "2026-09-22";

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json Account(const char* kind, int id, int credit, nlohmann::json more) {
  more["kind"] = std::string("ACCOUNT_KIND_") + kind;
  more["account"] = std::to_string(id);
  more["total_micro"] = std::to_string(credit * 1'000'000LL);
  more["recent"] = credit / 10.0;
  more["recent_time"] = kMonday;
  more["create_time"] = 1.1e9 + id;
  return more;
}

// A project as one hub numbers it.
struct Feed {
  int number = 0;
  std::string name;
  std::string url;
  double time = 0;  // of the edition
  std::vector<nlohmann::json> accounts;
};

inline std::vector<Feed> Feeds(int rosewood, int elm, int oak) {
  const std::string ann(32, 'a');
  const std::string zoe(32, 'b');
  const std::string machine(32, 'c');
  return {
      {.number = rosewood,
       .name = "Rosewood",
       .url = "https://rosewood.example/",
       .time = kMonday,
       .accounts = {Account(
                        "USER", 1, 100,
                        {{"name", "Ann"}, {"cross_project_id", ann}, {"team", "5"}, {"country", "France"}}),
                    Account("USER", 2, 50, {{"name", "Zoé & <Co>"}, {"cross_project_id", zoe}}),
                    Account("TEAM", 5, 100, {{"name", "Crunchers"}, {"owner", "1"}}),
                    Account("HOST", 9, 100,
                            {{"owner", "1"}, {"cross_project_id", machine}, {"description", "AMD Linux"}})}},
      {.number = elm,
       .name = "Elm",
       .url = "",
       .time = kMonday - kDay,
       .accounts = {Account("USER", 3, 20, {{"name", "ann"}, {"cross_project_id", ann}, {"team", "8"}}),
                    Account("TEAM", 8, 20, {{"name", "CRUNCHERS"}}),
                    Account("HOST", 4, 20, {{"owner", "3"}, {"cross_project_id", machine}})}},
      {.number = oak, .name = "Oak", .url = "https://oak.example/", .time = kMonday, .accounts = {}}};
}

class Lines {
 public:
  void Add(int project, double time, nlohmann::json body) {
    body["id"] = std::to_string(++id_);
    body["project"] = project;
    body["time"] = time;
    text_ += body.dump() + "\n";
  }
  void Edition(const Feed& feed, const std::string& number, const std::string& state,
               nlohmann::json more = {}) {
    more["edition"] = number;
    more["state"] = "EDITION_STATE_" + state;
    more["published_time"] = feed.time;
    more["whole"] = true;
    Add(feed.number, feed.time, {{"feed_edition", more}});
  }
  void Project(const Feed& feed, const std::string& edition = "7") {
    Add(feed.number, feed.time,
        {{"feed_project", {{"name", feed.name}, {"url", feed.url}, {"mode", "FEED_MODE_FILES"}}}});
    if (feed.accounts.empty()) return Edition(feed, edition, "HELD", {{"reason", "the file is empty"}});
    Edition(feed, edition, "BEGUN");
    for (nlohmann::json account : feed.accounts) {
      account["edition"] = edition;
      Add(feed.number, feed.time, {{"feed_account", account}});
    }
    Add(0, feed.time, {{"barrier", nlohmann::json::object()}});
    Edition(feed, edition, "COMPLETE");
  }
  void Tick(double time) { Add(0, time, {{"tick", {{"time", time}}}}); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  int id_ = 0;
  std::string text_;
};

// A hub in `directory`, not running: NAME.yaml, NAME-data, NAME-snapshots, NAME-stats.
class Hub {
 public:
  // On the embedded log.
  Hub(std::string directory, std::string name, int partitions, const std::string& more = "")
      : Hub(std::move(directory), std::move(name)) {
    Configure(partitions, name_ + "-snapshots", more);
  }
  // On Kafka: `config` names topics, and contains SnapshotSettings(name).
  static Hub Configured(std::string directory, std::string name, std::string config) {
    Hub hub(std::move(directory), std::move(name));
    hub.config_ = std::move(config);
    return hub;
  }
  // The role and the section `snapshots` of the configuration of hub `name`; `more`: settings that follow.
  static std::string SnapshotSettings(const std::string& name, const std::string& snapshots,
                                      const std::string& more) {
    return "role: hub\nsnapshots:\n  directory: " + snapshots + "\n  key_file: " + name +
           ".pem\n  hub: \"https://" + name +
           ".example/\"\n  consent: \"Members who agreed to the export.\"\n  combined: " + name + "-stats\n" +
           more;
  }
  void Configure(int partitions, const std::string& snapshots, const std::string& more) {
    std::ofstream(Path(config_)) << "partitions: " << partitions << "\ndata_directory: " << name_
                                 << "-data\nstate: {flush_interval: 50 ms}\n"
                                 << SnapshotSettings(name_, snapshots, more);
  }
  void Ingest(const Lines& lines, const std::string& source) {
    std::ofstream(Path(name_ + ".jsonl")) << lines.text();
    const Finished done =
        RunProgram(directory_, {"ingest", name_ + ".jsonl", "--source", source, "--config", config_});
    EXPECT_EQ(done.code, 0) << done.out << done.err;
  }
  Finished Snapshot() {
    return RunProgram(directory_, {"hub", "snapshot", "--nice", "0", "--config", config_});
  }
  Finished Adopt(const std::string& snapshot) {
    return RunProgram(directory_, {"hub", "adopt-snapshot", snapshot, "--config", config_});
  }
  [[nodiscard]] std::string Of(const std::string& date) const { return name_ + "-snapshots/" + date; }
  [[nodiscard]] nlohmann::json Manifest(const std::string& date) const {
    return nlohmann::json::parse(ReadFile(Path(Of(date) + "/manifest.json")), nullptr, false);
  }
  // The files but those of the manifest.
  [[nodiscard]] std::map<std::string, std::string> Parts(const std::string& date) const {
    std::map<std::string, std::string> parts;
    for (const auto& entry : std::filesystem::directory_iterator(Path(Of(date))))
      if (entry.path().extension() == ".jsonl") parts[entry.path().filename()] = ReadFile(entry.path());
    return parts;
  }
  [[nodiscard]] std::string Stats(const std::string& file) const { return Path(name_ + "-stats/" + file); }

 private:
  Hub(std::string directory, std::string name)
      : directory_(std::move(directory)), name_(std::move(name)), config_(name_ + ".yaml") {
    EXPECT_EQ(RunProgram(directory_, {"hub", "new-key", name_ + ".pem"}).code, 0);
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
  std::string name_;
  std::string config_;
};

}  // namespace cobblestone::testing

// The files of many projects: the same bytes for the same options, accepted by the hub's own checks, with the shares that
// federation.h states.
#include "services/traffic/federation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "common/stream/hash128.h"
#include "services/hub/feeds/acceptance.h"
#include "services/hub/feeds/app_versions.h"
#include "services/hub/feeds/project_health.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using hub::RecordKind;
using traffic::FederationOptions;
using traffic::WriteFederation;

constexpr FederationOptions Small() {
  FederationOptions options;
  options.projects = 4;
  options.users = 4000;
  options.hosts = 12'000;
  options.days = 2;
  options.compress = false;
  return options;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Of all files with their names.
stream::Hash128 HashOfTree(const std::string& directory) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) paths.insert(entry.path().string());
  stream::Hash128 hash;
  for (const std::string& path : paths)
    hash =
        stream::HashBytes(path.substr(directory.size()) + "\n" + BytesOf(path), hash.low ^ (hash.high * 3));
  return hash;
}

struct Read {
  std::uint64_t hash = 0;
  credit::MicroCredit total = 0;
  std::string cpid{};
  std::string name{};
  std::uint64_t user = 0;
  std::uint64_t team = 0;
};
struct File {
  std::map<std::uint64_t, Read> records;
  hub::FileSummary summary;
};

File ReadFile(const std::string& directory, RecordKind kind) {
  const std::string name = std::string(hub::RecordKindName(kind)) + ".xml";
  auto reader = hub::StatisticsReader::OpenFile(kind, directory + "/" + name, name);
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  File file;
  hub::StatisticsRecord record;
  while ((*reader)->Next(&record)) {
    Read& read = file.records[record.id];
    read = {.hash = record.hash.low, .total = record.total_credit.micro};
    hub::UserFields user;
    hub::HostFields host;
    hub::TeamFields team;
    if (kind == RecordKind::kUser && (*reader)->ReadUser(record, &user))
      std::tie(read.cpid, read.name, read.team) = std::tuple(user.cpid, user.name, user.team);
    if (kind == RecordKind::kHost && (*reader)->ReadHost(record, &host))
      std::tie(read.cpid, read.user) = std::tuple(host.cpid, host.user);
    if (kind == RecordKind::kTeam && (*reader)->ReadTeam(record, &team)) read.name = team.name;
  }
  EXPECT_TRUE((*reader)->accepted()) << (*reader)->refusals().front().Text();
  file.summary = (*reader)->summary();
  return file;
}

hub::TablesFile TablesOf(const std::string& directory) {
  const auto tables = hub::ParseTables(BytesOf(directory + "/tables.xml"), "tables.xml");
  EXPECT_TRUE(std::holds_alternative<hub::TablesFile>(tables));
  return std::get<hub::TablesFile>(tables);
}

class GenerateFederation : public ::testing::Test {
 protected:
  void Generate(const FederationOptions& options) {
    const Status written = WriteFederation(options, dir_.path(), 2, {});
    ASSERT_TRUE(written.ok()) << written.message();
  }
  [[nodiscard]] std::string Project(int project, int day = 0) const {
    return dir_ / ("day-" + std::to_string(day) + "/project-" + std::to_string(project));
  }
  testing::TempDir dir_;
};

TEST_F(GenerateFederation, TheSameOptionsGiveTheSameBytes) {
  Generate(Small());
  testing::TempDir again;
  ASSERT_TRUE(WriteFederation(Small(), again.path(), 1, {}).ok());
  const stream::Hash128 hash = HashOfTree(dir_.path());
  EXPECT_EQ(HashOfTree(again.path()), hash) << "the number of threads makes no difference";
  // Of any machine and compiler: benchmarks on two machines read the same files.
  EXPECT_EQ(hash.low, 12519737486801038919u);

  FederationOptions other = Small();
  other.seed = 2;
  testing::TempDir third;
  ASSERT_TRUE(WriteFederation(other, third.path(), 1, {}).ok());
  EXPECT_NE(BytesOf(third / "day-0/project-1/user.xml"), BytesOf(Project(1) + "/user.xml"));
}

TEST_F(GenerateFederation, ADayIsTheSameHoweverManyFollow) {
  FederationOptions one = Small();
  one.days = 1;
  Generate(one);
  testing::TempDir two;
  ASSERT_TRUE(WriteFederation(Small(), two.path(), 1, {}).ok());
  EXPECT_EQ(HashOfTree(two / "day-0"), HashOfTree(dir_ / "day-0"));
}

// The hub accepts day 0 as the first edition and day 1 as the next, without a reason to hold anything.
TEST_F(GenerateFederation, EveryFileIsAcceptedByTheHub) {
  Generate(Small());
  for (int project = 1; project <= 4; ++project) {
    for (const RecordKind kind : {RecordKind::kUser, RecordKind::kHost, RecordKind::kTeam}) {
      const File first = ReadFile(Project(project), kind);
      const hub::TablesFile tables = TablesOf(Project(project));
      const hub::Judgement day0 = hub::JudgeFile(
          {.summary = first.summary, .tables_before = tables, .tables_after = tables, .fetched = 1.79e9},
          nullptr, nullptr, nullptr, {});
      EXPECT_TRUE(day0.accepted) << day0.Text();
      const File second = ReadFile(Project(project, 1), kind);
      const hub::TablesFile next = TablesOf(Project(project, 1));
      hub::RecordChanges changes;
      for (const auto& [id, record] : second.records) {
        const auto before = first.records.find(id);
        changes.Note(id, before == first.records.end() ? std::nullopt : std::optional(before->second.total),
                     record.total);
      }
      for (const auto& [id, record] : first.records) changes.missing += second.records.contains(id) ? 0 : 1;
      const hub::AcceptedFile last{.summary = first.summary, .update_time = tables.update_time};
      const hub::Judgement day1 = hub::JudgeFile({.summary = second.summary,
                                                  .tables_before = next,
                                                  .tables_after = next,
                                                  .changes = changes,
                                                  .fetched = 1.79e9 + 86400},
                                                 &last, nullptr, nullptr, {});
      EXPECT_TRUE(day1.accepted) << day1.Text();
      EXPECT_EQ(changes.fell, 0u);
    }
  }
}

// Of 4,000 users and 12,000 hosts; project P of 4 has 1/(P + 2) of (1/3 + 1/4 + 1/5 + 1/6) = 0.95: 1,403, 1,052, 842, 701.
TEST_F(GenerateFederation, OneUserAndOneHostInTwentyChangeOnADay) {
  Generate(Small());
  EXPECT_EQ(ReadFile(Project(1), RecordKind::kUser).records.size(), 1405u)
      << "with what is left of the division";
  for (const auto& [kind, all] : {std::pair(RecordKind::kUser, 4000), std::pair(RecordKind::kHost, 12'000)}) {
    int changed = 0;
    int total = 0;
    for (int project = 1; project <= 4; ++project) {
      const File before = ReadFile(Project(project), kind);
      const File after = ReadFile(Project(project, 1), kind);
      total += static_cast<int>(before.records.size());
      for (const auto& [id, record] : after.records) {
        const auto found = before.records.find(id);
        if (found == before.records.end() || found->second.hash == record.hash) continue;
        ++changed;
        EXPECT_GT(record.total, found->second.total);
      }
    }
    EXPECT_EQ(total, all);
    EXPECT_NEAR(changed, all / 20, all / 100) << hub::RecordKindName(kind);
  }
}

TEST_F(GenerateFederation, APersonHasOneIdAndAtMostOneAccountAtEachProject) {
  Generate(Small());
  std::map<std::string, std::set<std::string>> names;  // by cross-project id
  std::map<std::string, int> accounts;
  std::map<std::string, std::set<int>> machines;  // projects of a host's id
  for (int project = 1; project <= 4; ++project) {
    std::set<std::string> here;
    for (const auto& [id, user] : ReadFile(Project(project), RecordKind::kUser).records) {
      EXPECT_TRUE(here.insert(user.cpid).second) << user.cpid;
      names[user.cpid].insert(user.name);
      ++accounts[user.cpid];
    }
    for (const auto& [id, host] : ReadFile(Project(project), RecordKind::kHost).records)
      machines[host.cpid].insert(project);
  }
  int shared = 0;
  for (const auto& [cpid, its] : names) {
    EXPECT_EQ(its.size(), 1u) << cpid;
    shared += accounts[cpid] > 1 ? 1 : 0;
  }
  // There are 2 x 1,405 people, of whom each has an account at project P with probability 1/2, 0.37, 0.3 and 0.25; two or
  // more have about 0.41 of them.
  EXPECT_NEAR(shared, 0.41 * 2810, 300);
  int shared_machines = 0;
  for (const auto& [cpid, projects] : machines) shared_machines += projects.size() > 1 ? 1 : 0;
  EXPECT_GT(shared_machines, 1000);
}

TEST_F(GenerateFederation, HostsAndTeamsBelongToTheUsersOfTheProject) {
  Generate(Small());
  const File users = ReadFile(Project(1), RecordKind::kUser);
  const File teams = ReadFile(Project(1), RecordKind::kTeam);
  std::map<std::uint64_t, credit::MicroTotal> sums;
  for (const auto& [id, user] : users.records)
    if (user.team != 0) sums[user.team] += user.total;
  ASSERT_EQ(teams.records.size(), sums.size());
  for (const auto& [id, team] : teams.records) EXPECT_EQ(team.total, sums[id]) << id;
  std::map<std::uint64_t, int> hosts;
  for (const auto& [id, host] : ReadFile(Project(1), RecordKind::kHost).records)
    if (host.user != 0) ++hosts[host.user];
  int most = 0;
  for (const auto& [user, count] : hosts) {
    EXPECT_TRUE(users.records.contains(user));
    most = std::max(most, count);
  }
  EXPECT_GT(most, 10) << "three on the average, but a few users have many";
}

TEST_F(GenerateFederation, AnswersOfTheServerAreThoseOfAProjectInGoodHealth) {
  Generate(Small());
  const auto versions = hub::ParseAppVersions(BytesOf(Project(3) + "/app_versions.php"), "app_versions.php");
  ASSERT_TRUE(std::holds_alternative<std::vector<hub::PublishedVersion>>(versions));
  const auto& read = std::get<std::vector<hub::PublishedVersion>>(versions);
  EXPECT_EQ(read.size(), 5u);
  for (const hub::PublishedVersion& version : read) EXPECT_EQ(version.problem, "");
  EXPECT_EQ(hub::AppsWithBothKinds(read, 100), std::vector<std::string>{"folding"});
  const auto config =
      hub::ParseProjectConfig(BytesOf(Project(3) + "/get_project_config.php"), "get_project_config.php");
  const auto status = hub::ParseServerStatus(BytesOf(Project(3) + "/server_status.php"), "server_status.php");
  ASSERT_TRUE(std::holds_alternative<hub::ProjectConfig>(config));
  ASSERT_TRUE(std::holds_alternative<hub::ServerStatus>(status));
  const hub::Health health = hub::HealthOf({.master_url = "http://127.0.0.1:8900/project-3/",
                                            .status = std::get<hub::ServerStatus>(status),
                                            .config = std::get<hub::ProjectConfig>(config)},
                                           {});
  EXPECT_EQ(health.state, hub::HealthState::kFine) << (health.reasons.empty() ? "" : health.reasons.front());
}

TEST_F(GenerateFederation, CompressedFilesHaveTheSameText) {
  FederationOptions options = Small();
  Generate(options);
  options.compress = true;
  testing::TempDir packed;
  ASSERT_TRUE(WriteFederation(options, packed.path(), 1, {}).ok());
  for (const RecordKind kind : {RecordKind::kUser, RecordKind::kHost, RecordKind::kTeam}) {
    const std::string name = std::string(hub::RecordKindName(kind)) + ".gz";
    auto reader = hub::StatisticsReader::OpenFile(kind, packed / ("day-1/project-2/" + name), name);
    ASSERT_TRUE(reader.ok());
    for (hub::StatisticsRecord record; (*reader)->Next(&record);) {
    }
    EXPECT_EQ((*reader)->summary().contents, ReadFile(Project(2, 1), kind).summary.contents);
  }
}

TEST(GenerateFederationOptions, AreChecked) {
  const auto problem = [](const auto& change) {
    FederationOptions options;
    change(options);
    return CheckFederationOptions(options).message();
  };
  EXPECT_EQ(problem([](FederationOptions&) {}), "");
  EXPECT_EQ(problem([](FederationOptions& o) { o.projects = 0; }),
            "federation: projects is 0; valid: from 1 to 10000");
  EXPECT_NE(problem([](FederationOptions& o) { o.days = 0; }), "");
  EXPECT_NE(problem([](FederationOptions& o) { o.scale = 1e-9; }), "") << "no user";
  EXPECT_NE(problem([](FederationOptions& o) { o.scale = 100; }), "") << "10^9 users";
  EXPECT_NE(problem([](FederationOptions& o) { o.base_url = "http://x"; }), "") << "no slash";
}

}  // namespace
}  // namespace cobblestone

// `cobblestone hub snapshot`: two hubs that were fed the same write the same, and another operator continues from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/e2e/program_process.h"
#include "tests/e2e/snapshot_hub.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Unpacked(const std::string& path) {
  std::string text;
  gzFile file = ::gzopen(path.c_str(), "rb");
  char buffer[4096];
  for (int got = 0; (got = ::gzread(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::gzclose(file);
  return text;
}

class HubSnapshot : public ::testing::Test {
 protected:
  Finished Program(const std::vector<std::string>& arguments) { return RunProgram(dir_.path(), arguments); }
  // Hub `a`, with the snapshot of the first day.
  Hub First() {
    Hub a(dir_.path(), "a", 1);
    Lines lines;
    for (const Feed& feed : Feeds(1, 2, 3)) lines.Project(feed);
    lines.Tick(kMonday + 60);
    a.Ingest(lines, "feeds");
    const Finished done = a.Snapshot();
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    return a;
  }

  TempDir dir_;
};

TEST_F(HubSnapshot, OfTwoHubsWithTheSameInputsHasTheSameContent) {
  const Hub a = First();
  // The other hub numbers projects in another way, has other partitions, and received all in another order.
  Hub b(dir_.path(), "b", 3);
  Lines lines;
  std::vector<Feed> feeds = Feeds(9, 4, 2);
  std::reverse(feeds.begin(), feeds.end());
  for (Feed& feed : feeds) {
    std::reverse(feed.accounts.begin(), feed.accounts.end());
    lines.Project(feed);
  }
  lines.Tick(kMonday + 3600);
  b.Ingest(lines, "other");
  ASSERT_EQ(b.Snapshot().code, 0);

  EXPECT_EQ(a.Parts(kFirst), b.Parts(kFirst));
  EXPECT_EQ(a.Manifest(kFirst)["content"], b.Manifest(kFirst)["content"]);
  EXPECT_NE(a.Manifest(kFirst)["key"], b.Manifest(kFirst)["key"]);
  EXPECT_EQ(Program({"hub", "verify-snapshot", a.Of(kFirst)}).code, 0);
  EXPECT_EQ(Program({"hub", "verify-snapshot", b.Of(kFirst)}).code, 0);
  EXPECT_EQ(Program({"hub", "compare-snapshots", a.Of(kFirst), b.Of(kFirst)}).code, 0);

  // Ann was shown first by Elm, a day before Rosewood.
  EXPECT_THAT(a.Parts(kFirst)["rosewood-example.users.jsonl"],
              HasSubstr(R"({"id":1,"cpid":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","identity":"elm-3-1100000003",)"
                        R"("name":"Ann","country":"France","url":"","create_time":1100000001,"team":5,)"
                        R"("total_micro":"100000000","recent_micro":"10000000","recent_time":1790000000})"));
  const json projects = a.Manifest(kFirst)["projects"];
  ASSERT_EQ(projects.size(), 3u);
  EXPECT_EQ(projects[0]["key"], "elm");
  EXPECT_EQ(projects[0]["state"], "stale");
  EXPECT_EQ(projects[0]["since"], "2026-09-20");
  EXPECT_EQ(projects[1]["key"], "oak-example");
  EXPECT_EQ(projects[1]["state"], "unknown");
  EXPECT_EQ(projects[1]["why"], "held: the file is empty");
  EXPECT_EQ(projects[2]["state"], "fresh");
  EXPECT_EQ(projects[2]["parts"][0]["total_micro"], "150000000");

  // A third hub lies about one account.
  Hub c(dir_.path(), "c", 1);
  feeds = Feeds(1, 2, 3);
  feeds[0].accounts[0]["total_micro"] = "999000000";
  Lines lies;
  for (const Feed& feed : feeds) lies.Project(feed);
  lies.Tick(kMonday + 60);
  c.Ingest(lies, "feeds");
  ASSERT_EQ(c.Snapshot().code, 0);
  const Finished compared =
      Program({"hub", "compare-snapshots", a.Of(kFirst), b.Of(kFirst), c.Of(kFirst), "--least", "2"});
  EXPECT_EQ(compared.code, 0);
  EXPECT_THAT(compared.out, HasSubstr("rosewood-example users: 2 of 3 agree"));
  EXPECT_THAT(compared.out, Not(HasSubstr("elm")));
}

TEST_F(HubSnapshot, AddsUpPersonsTeamsAndHostsOverProjects) {
  const Hub a = First();
  const std::string users = Unpacked(a.Stats("user.gz"));
  // Line by line, as consumers read them.
  std::vector<std::string> lines;
  std::istringstream stream(users);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "<user>"), 2);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "</user>"), 2);
  // Ann: 100 + 20. Averages of 10 and 2 a day, 60 s later: 12 x 2^(-60/604800) = 11.999175.
  EXPECT_THAT(users, HasSubstr(" <name>Ann</name>\n <create_time>1100000001</create_time>\n"
                               " <total_credit>120.000000</total_credit>\n"
                               " <expavg_credit>11.999175</expavg_credit>\n"
                               " <expavg_time>1790000060.000000</expavg_time>\n"
                               " <cpid>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</cpid>\n"
                               " <country>France</country>\n"));
  EXPECT_THAT(users, HasSubstr("<name>Zo&#195;&#169; &amp; &lt;Co></name>"));
  const std::string teams = Unpacked(a.Stats("team.gz"));
  EXPECT_THAT(teams, HasSubstr("<name>Crunchers</name>"));
  EXPECT_THAT(teams, HasSubstr("<total_credit>120.000000</total_credit>"));
  const std::string hosts = Unpacked(a.Stats("host.gz"));
  EXPECT_THAT(hosts, HasSubstr("<total_credit>120.000000</total_credit>"));
  EXPECT_THAT(hosts, HasSubstr("<p_model>AMD Linux</p_model>"));
  // The team of a person and the owner of a host are those of the other files.
  const auto value = [](const std::string& text, const std::string& tag) {
    const std::size_t at = text.find("<" + tag + ">") + tag.size() + 2;
    return text.substr(at, text.find('<', at) - at);
  };
  EXPECT_EQ(value(users, "teamid"), value(teams, "id"));
  const std::string ann = users.substr(0, users.find("<name>Ann"));
  EXPECT_EQ(value(hosts, "userid"), value(ann.substr(ann.rfind("<user>")), "id"));
  const std::string tables = ReadFile(a.Stats("tables.xml"));
  EXPECT_THAT(tables, HasSubstr("<update_time>1790000060</update_time>"));
  EXPECT_THAT(tables, HasSubstr("<nusers_total>2</nusers_total>"));
  EXPECT_THAT(tables, HasSubstr("<total_credit>170.000000</total_credit>"));
}

TEST_F(HubSnapshot, IsWrittenOnceADayAndContinuesItsChain) {
  Hub a = First();
  const std::string before = ReadFile(dir_ / a.Of(kFirst) + "/manifest.json");
  Finished again = a.Snapshot();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("there is a snapshot of 2026-09-21 already"));
  EXPECT_EQ(ReadFile(dir_ / a.Of(kFirst) + "/manifest.json"), before);

  // The next day. The process is killed when the files are written; nothing is published.
  Lines tick;
  tick.Tick(kMonday + kDay);
  a.Ingest(tick, "tick");
  Background killed(dir_.path(), {"hub", "snapshot", "--config", "a.yaml"}, "H1:1");
  EXPECT_EQ(killed.Wait(), 128 + SIGKILL) << killed.err();
  EXPECT_FALSE(fs::exists(dir_ / a.Of(kSecond)));
  EXPECT_TRUE(fs::exists(dir_ / a.Of(kSecond) + ".partial"));
  EXPECT_EQ(a.Snapshot().code, 0);
  EXPECT_FALSE(fs::exists(dir_ / a.Of(kSecond) + ".partial"));
  EXPECT_EQ(Program({"hub", "verify-snapshot", a.Of(kSecond), "--previous", a.Of(kFirst)}).code, 0);
  EXPECT_EQ(a.Manifest(kSecond)["projects"][2]["state"], "stale");
  // The members of Rosewood have not changed.
  EXPECT_EQ(a.Parts(kFirst), a.Parts(kSecond));

  std::string part = ReadFile(dir_ / a.Of(kSecond) + "/elm.users.jsonl");
  part[part.find("20000000")] = '3';
  std::ofstream(dir_ / a.Of(kSecond) + "/elm.users.jsonl") << part;
  const Finished damaged = Program({"hub", "verify-snapshot", a.Of(kSecond)});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.out, HasSubstr("elm.users.jsonl: its SHA-256 is"));
}

TEST_F(HubSnapshot, ThatDoesNotFitOnTheDiskIsReported) {
  const SmallDisk disk("64k");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a file system: " << disk.why();
  Hub a(dir_.path(), "a", 1);
  a.Configure(1, disk.dir() / "snapshots", "");
  std::vector<Feed> feeds = Feeds(1, 2, 3);
  for (int id = 100; id < 200; ++id)
    feeds[0].accounts.push_back(Account("USER", id, 1, {{"name", std::string(1000, 'x')}}));
  Lines lines;
  lines.Project(feeds[0]);
  lines.Tick(kMonday + 60);
  a.Ingest(lines, "feeds");
  const Finished full = a.Snapshot();
  EXPECT_EQ(full.code, 74) << full.err;
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
  EXPECT_FALSE(fs::exists(disk.dir() / "snapshots/2026-09-21"));
  ASSERT_TRUE(disk.Grow("4m"));
  const Finished done = a.Snapshot();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(fs::exists(disk.dir() / "snapshots/2026-09-21/manifest.sig"));
}

TEST_F(HubSnapshot, IsTheBeginningOfAnotherHub) {
  const Hub a = First();
  // Elm has number 5 at the other hub; it does not know Rosewood and Oak yet.
  Hub b(dir_.path(), "b", 2, "projects:\n  - {id: 5, name: Elm}\n");
  const Finished adopted = b.Adopt(a.Of(kFirst));
  EXPECT_EQ(adopted.code, 0) << adopted.out << adopted.err;
  EXPECT_THAT(adopted.out, HasSubstr("project 5: elm\nproject 1: oak-example; add it"));
  EXPECT_THAT(adopted.out, HasSubstr("adopted snapshot 1 of 2026-09-21: 7 accounts, 0 decisions"));
  // Again, after an interruption: nothing is counted twice.
  EXPECT_EQ(b.Adopt(a.Of(kFirst)).code, 0);

  Lines tick;
  tick.Tick(kMonday + kDay);
  b.Ingest(tick, "tick");
  const Finished silent = b.Snapshot();
  EXPECT_EQ(silent.code, 2);
  EXPECT_THAT(silent.err, HasSubstr("set snapshots.continues"));
  b.Configure(2, "b-snapshots", "  continues: \"Hub a has closed.\"\nprojects:\n  - {id: 5, name: Elm}\n");
  const Finished done = b.Snapshot();
  ASSERT_EQ(done.code, 0) << done.err;
  const json manifest = b.Manifest(kSecond);
  EXPECT_EQ(manifest["sequence"], 2);
  EXPECT_EQ(manifest["continues"],
            (json{{"key", a.Manifest(kFirst)["key"]}, {"statement", "Hub a has closed."}}));
  const Finished verified = Program({"hub", "verify-snapshot", b.Of(kSecond), "--previous", a.Of(kFirst)});
  EXPECT_EQ(verified.code, 0) << verified.out;
  EXPECT_EQ(b.Parts(kSecond), a.Parts(kFirst)) << "every total and every person is there";

  // The first edition that the new hub collects: Ann's 30 more credits are those of a day.
  std::vector<Feed> feeds = Feeds(2, 5, 1);
  feeds[0].time = kMonday + kDay;
  feeds[0].accounts[0]["total_micro"] = "130000000";
  Lines lines;
  lines.Project(feeds[0], "1790086400000");
  lines.Tick(kMonday + 2 * kDay);
  b.Ingest(lines, "feeds");
  ASSERT_EQ(b.Snapshot().code, 0);
  EXPECT_THAT(b.Parts("2026-09-23")["rosewood-example.users.jsonl"],
              HasSubstr("\"total_micro\":\"130000000\""));

  // A hub that has accounts of its own adopts nothing.
  const Finished late = b.Adopt(a.Of(kFirst));
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.err, HasSubstr("only be adopted by an empty hub"));
}

TEST_F(HubSnapshot, KeepsPersonsWhoseIdsNoLongerMeet) {
  Hub a(dir_.path(), "a", 1);
  const auto feed = [](int number, const std::string& name, double time, std::vector<json> accounts) {
    return Feed{.number = number, .name = name, .url = "", .time = time, .accounts = std::move(accounts)};
  };
  const std::string x(32, 'a');
  const std::string y(32, 'b');
  Lines lines;
  // Ann has one id at both projects, and later another one at Elm alone, which nobody else has: still one person.
  lines.Project(
      feed(1, "Rosewood", kMonday - 2 * kDay, {Account("USER", 1, 100, {{"cross_project_id", x}})}));
  lines.Project(feed(2, "Elm", kMonday - 2 * kDay, {Account("USER", 3, 20, {{"cross_project_id", x}})}));
  lines.Project(feed(2, "Elm", kMonday - kDay, {Account("USER", 3, 20, {{"cross_project_id", y}})}), "8");
  lines.Tick(kMonday);
  a.Ingest(lines, "feeds");
  ASSERT_EQ(a.Snapshot().code, 0);
  EXPECT_THAT(a.Parts(kFirst)["elm.users.jsonl"], HasSubstr(R"("identity":"elm-3-1100000003")"));
  EXPECT_THAT(a.Parts(kFirst)["rosewood.users.jsonl"], HasSubstr(R"("identity":"elm-3-1100000003")"));

  Hub b(dir_.path(), "b", 1, "  continues: \"Hub a has closed.\"\n");
  const Finished adopted = b.Adopt(a.Of(kFirst));
  EXPECT_EQ(adopted.code, 0) << adopted.out << adopted.err;
  EXPECT_THAT(adopted.out, HasSubstr("2 accounts, 1 decisions"));
  Lines tick;
  tick.Tick(kMonday + kDay);
  b.Ingest(tick, "tick");
  ASSERT_EQ(b.Snapshot().code, 0);
  const std::string users = Unpacked(b.Stats("user.gz"));
  EXPECT_THAT(users, HasSubstr("<total_credit>120.000000</total_credit>"));
}

// Together's one account at Rosewood, number 5, has earned 70 for its members Ann and Bob, with Ann's id and one of its two
// computers; Ann has 100 of her own there.
TEST_F(HubSnapshot, OfAnAccountManagerHasItsCreditOnce) {
  const std::string ann(32, 'a');
  const std::string machine(32, 'd');
  const auto feeds = [&](int rosewood, int together) {
    return std::vector<Feed>{
        {.number = rosewood,
         .name = "Rosewood",
         .url = "",
         .time = kMonday,
         .accounts = {Account("USER", 1, 100, {{"name", "Ann"}, {"cross_project_id", ann}}),
                      Account("USER", 5, 70, {{"name", "Manager"}, {"cross_project_id", ann}}),
                      Account("HOST", 9, 30, {{"owner", "5"}, {"cross_project_id", machine}})}},
        {.number = together,
         .name = "Together",
         .url = "",
         .time = kMonday + 1,
         .accounts = {Account("USER", 1, 60, {{"name", "Ann"}, {"cross_project_id", ann}}),
                      Account("USER", 2, 10, {{"name", "Bob"}, {"cross_project_id", std::string(32, 'b')}}),
                      Account("HOST", 4, 30, {{"owner", "1"}, {"cross_project_id", machine}})}}};
  };
  // The operators name the accounts before or after they come.
  const auto hub = [&](const std::string& name, std::vector<Feed> known, bool first) {
    Hub hub(dir_.path(), name, first ? 1 : 3);
    Lines lines;
    const auto settings = [&] {
      lines.Add(known[0].number, kMonday + 2,
                {{"feed_project",
                  {{"name", "Rosewood"},
                   {"mode", "FEED_MODE_FILES"},
                   {"shared_accounts", {{"users", {"5", "4"}}}}}}});
      lines.Add(
          known[1].number, kMonday + 2,
          {{"feed_project", {{"name", "Together"}, {"mode", "FEED_MODE_FILES"}, {"account_manager", true}}}});
    };
    if (first) settings();
    for (const Feed& feed : known) lines.Project(feed);
    if (!first) settings();
    lines.Tick(kMonday + 60);
    hub.Ingest(lines, "feeds");
    const Finished done = hub.Snapshot();
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    return hub;
  };
  const Hub a = hub("a", feeds(1, 2), true);
  const Hub b = hub("b", feeds(7, 3), false);
  EXPECT_EQ(a.Parts(kFirst), b.Parts(kFirst));
  EXPECT_EQ(a.Manifest(kFirst)["content"], b.Manifest(kFirst)["content"]);
  EXPECT_EQ(Program({"hub", "verify-snapshot", a.Of(kFirst)}).code, 0);

  // The account is a record of its project, which adds up, and of no person.
  const json projects = a.Manifest(kFirst)["projects"];
  ASSERT_EQ(projects.size(), 2u);
  EXPECT_EQ(projects[0]["parts"][0]["total_micro"], "170000000");
  EXPECT_FALSE(projects[0].contains("account_manager"));
  EXPECT_EQ(projects[1]["account_manager"], true);
  const std::string users = a.Parts(kFirst)["rosewood.users.jsonl"];
  EXPECT_THAT(users, HasSubstr("\"identity\":\"rosewood-1-1100000001\",\"name\":\"Ann\""));
  EXPECT_THAT(users, HasSubstr("\"identity\":\"\",\"name\":\"Manager\""));

  // Over projects: Ann has 160 and Bob 10, and the computer what it has at Rosewood, where its owner is nobody.
  const std::string people = Unpacked(a.Stats("user.gz"));
  EXPECT_THAT(people, HasSubstr("<total_credit>160.000000</total_credit>"));
  EXPECT_THAT(people, HasSubstr("<total_credit>10.000000</total_credit>"));
  EXPECT_THAT(people, Not(HasSubstr("Manager")));
  const std::string hosts = Unpacked(a.Stats("host.gz"));
  EXPECT_THAT(hosts, HasSubstr("<total_credit>30.000000</total_credit>"));
  EXPECT_THAT(hosts, Not(HasSubstr("<userid>")));
  const std::string tables = ReadFile(a.Stats("tables.xml"));
  EXPECT_THAT(tables, HasSubstr("<nusers_total>2</nusers_total>"));
  EXPECT_THAT(tables, HasSubstr("<nhosts_total>1</nhosts_total>"));
  EXPECT_THAT(tables, HasSubstr("<total_credit>170.000000</total_credit>"));

  // Another operator knows the manager from the snapshot; the numbers of its accounts are in the settings.
  Hub c(dir_.path(), "c", 2, "  continues: \"Hub a has closed.\"\n");
  EXPECT_EQ(c.Adopt(a.Of(kFirst)).code, 0);
  Lines later;
  later.Tick(kMonday + kDay);
  c.Ingest(later, "tick");
  ASSERT_EQ(c.Snapshot().code, 0);
  EXPECT_EQ(c.Manifest(kSecond)["projects"][1]["account_manager"], true);
}

TEST_F(HubSnapshot, IsWrittenWhileTheHubRuns) {
  Hub a(dir_.path(), "a", 3);
  Background running(dir_.path(), {"run", "--config", "a.yaml"});
  ASSERT_TRUE(running.WaitFor("running")) << running.err();
  Lines lines;
  for (const Feed& feed : Feeds(1, 2, 3)) lines.Project(feed);
  lines.Tick(kMonday + 60);
  a.Ingest(lines, "feeds");
  // The state on the disk is some moments old, and the day's first snapshot stays: the files over all projects show when all
  // is there. Before, the hub has no time.
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  std::string tables;
  while (tables.find("<nusers_total>2<") == std::string::npos && std::chrono::steady_clock::now() < until) {
    (void)a.Snapshot();
    tables = ReadFile(a.Stats("tables.xml"));
  }
  EXPECT_THAT(tables, HasSubstr("<total_credit>170.000000</total_credit>"));
  EXPECT_EQ(Program({"hub", "verify-snapshot", a.Of(kFirst)}).code, 0);
  running.Signal(SIGTERM);
  EXPECT_EQ(running.Wait(), 0);
}

TEST_F(HubSnapshot, SaysWhatIsMissing) {
  Hub a(dir_.path(), "a", 1);
  std::ofstream(dir_ / "plain.yaml") << "role: hub\ndata_directory: a-data\n";
  EXPECT_THAT(Program({"hub", "snapshot", "--config", "plain.yaml"}).err,
              HasSubstr("set snapshots.directory"));
  std::ofstream(dir_ / "keyless.yaml") << "role: hub\ndata_directory: a-data\nsnapshots: {directory: s}\n";
  EXPECT_THAT(Program({"hub", "snapshot", "--config", "keyless.yaml"}).err, HasSubstr("hub new-key FILE"));
  fs::permissions(dir_ / "a.pem", fs::perms(0644));
  EXPECT_EQ(a.Snapshot().code, 2) << "others can read the key";
  EXPECT_EQ(Program({"hub", "new-key", "a.pem"}).code, 2);
}

}  // namespace
}  // namespace cobblestone::testing

// Configuration files: the settings that they give, and the messages for invalid files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/settings/registry.h"
#include "common/settings/run_settings.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::settings {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string ConfigFile(const std::string& name) {
  return std::string(COBBLESTONE_SOURCE_DIR) + "/config/" + name;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string ErrorsIn(const std::string& text) {
  const auto parsed = ParseRunSettings(text, "site.yaml");
  return parsed.ok() ? "no error" : parsed.status().message();
}

// All options as text.
std::vector<std::string> Texts(const RunSettings& settings) {
  std::vector<std::string> texts;
  for (const Option& option : Options())
    texts.push_back(std::string(option.key) + " " + ValueText(option, settings));
  return texts;
}

TEST(RunSettings, AnEmptyFileGivesTheDefaults) {
  for (const char* text : {"", "# nothing\n", "---\n", "commit:\nmemory:\n  # objects: 2 GiB\n"}) {
    const auto settings = ParseRunSettings(text, "empty.yaml");
    ASSERT_TRUE(settings.ok()) << settings.status().message();
    EXPECT_EQ(settings->backend, Backend::kEmbedded);
    EXPECT_EQ(settings->partitions, 8u);
    EXPECT_EQ(settings->threads, std::max(1u, std::thread::hardware_concurrency()));
    EXPECT_EQ(settings->commit.interval, milliseconds(10));
    EXPECT_EQ(settings->commit.max_records, 20000u);
    EXPECT_EQ(settings->commit.max_bytes, 4u << 20);
    EXPECT_EQ(settings->state.flush_interval, seconds(5));
    EXPECT_EQ(settings->state.max_debt_records, 1000000u);
    EXPECT_EQ(settings->checkpoint.interval, seconds(60));
    EXPECT_EQ(settings->checkpoint.keep, 2u);
    EXPECT_TRUE(settings->checkpoint.verify);
    EXPECT_EQ(settings->memory.objects, 1u << 30);
    EXPECT_EQ(settings->memory.block_cache, 256u << 20);
    EXPECT_EQ(settings->memory.log_tail, 256u << 20);
    EXPECT_EQ(settings->memory.write_buffer, 128u << 20);
    EXPECT_EQ(settings->retention.inputs_age, hours(72));
    EXPECT_EQ(settings->retention.inputs_bytes, std::uint64_t{50} << 30);
    EXPECT_EQ(settings->ticks, Ticks::kInput);
    EXPECT_TRUE(settings->sync);
    EXPECT_EQ(settings->listen.socket, settings->data_directory + "/cobblestone.sock");
    EXPECT_EQ(settings->metrics.listen, "");
    EXPECT_EQ(settings->future_limit, hours(1));
    EXPECT_EQ(settings->log.level, LogLevel::kInfo);
    EXPECT_EQ(settings->log.format, LogFormat::kText);
    EXPECT_TRUE(settings->projects.empty());
  }
}

TEST(RunSettings, EveryOptionSetsItsOwnField) {
  const auto settings = ParseRunSettings(R"(
backend: embedded
data_directory: /srv/credit
partitions: 16
threads: 3
commit: {interval: 10 ms, max_records: 500, max_bytes: 64 KiB}
state: {flush_interval: 250 ms, max_debt_records: 1000}
checkpoint:
  interval: 10 min
  keep: 5
  verify: false
memory: {objects: 2 GiB, block_cache: 3 MiB, log_tail: 5 MiB, write_buffer: 7 MiB}
retention: {inputs_age: 10 days, inputs_bytes: 1 TiB}
ticks: wall
sync: false
listen: {socket: /run/cobblestone.sock}
metrics: {listen: "[::1]:9464"}
future_limit: 90 s
log: {level: debug, format: json}
projects:
  - {id: 1, name: Einstein}
  - id: 4294967295
    name: "LHC"
    events_per_second: 500
    bytes_per_second: 2 MiB
)",
                                         "site.yaml");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->data_directory, "/srv/credit");
  EXPECT_EQ(settings->partitions, 16u);
  EXPECT_EQ(settings->threads, 3u);
  EXPECT_EQ(settings->commit.interval, milliseconds(10));
  EXPECT_EQ(settings->commit.max_records, 500u);
  EXPECT_EQ(settings->commit.max_bytes, 65536u);
  EXPECT_EQ(settings->state.flush_interval, milliseconds(250));
  EXPECT_EQ(settings->state.max_debt_records, 1000u);
  EXPECT_EQ(settings->checkpoint.interval, minutes(10));
  EXPECT_EQ(settings->checkpoint.keep, 5u);
  EXPECT_FALSE(settings->checkpoint.verify);
  EXPECT_EQ(settings->memory.objects, 2 * kGiB);
  EXPECT_EQ(settings->memory.block_cache, 3 * kMiB);
  EXPECT_EQ(settings->memory.log_tail, 5 * kMiB);
  EXPECT_EQ(settings->memory.write_buffer, 7 * kMiB);
  EXPECT_EQ(settings->retention.inputs_age, hours(240));
  EXPECT_EQ(settings->retention.inputs_bytes, 1024 * kGiB);
  EXPECT_EQ(settings->ticks, Ticks::kWall);
  EXPECT_FALSE(settings->sync);
  EXPECT_EQ(settings->listen.socket, "/run/cobblestone.sock");
  EXPECT_EQ(settings->metrics.listen, "[::1]:9464");
  EXPECT_EQ(settings->future_limit, seconds(90));
  EXPECT_EQ(settings->log.level, LogLevel::kDebug);
  EXPECT_EQ(settings->log.format, LogFormat::kJson);
  ASSERT_EQ(settings->projects.size(), 2u);
  EXPECT_EQ(settings->projects[0].id, ProjectId(1));
  EXPECT_EQ(settings->projects[0].name, "Einstein");
  EXPECT_EQ(settings->projects[1].id, ProjectId(4294967295));
  EXPECT_EQ(settings->projects[1].name, "LHC");
  EXPECT_EQ(settings->projects[0].events_per_second, std::nullopt);
  EXPECT_EQ(settings->projects[1].events_per_second, 500u);
  EXPECT_EQ(settings->projects[1].bytes_per_second, 2u << 20);
}

// Setting one option changes this option and no other. Two options that shared a field would fail here.
TEST(RunSettings, NoTwoOptionsShareAField) {
  const std::vector<std::string> before = Texts(RunSettings());
  for (std::size_t i = 0; i < Options().size(); ++i) {
    const Option& option = Options()[i];
    RunSettings settings;
    std::string other;
    switch (option.kind) {
      case Kind::kFlag: other = ValueText(option, settings) == "true" ? "false" : "true"; break;
      case Kind::kText: other = "/elsewhere"; break;
      case Kind::kQuantity: other = FormatQuantity(option.quantity, option.most); break;
      case Kind::kChoice:
        for (const auto& choice : option.choices) {
          if (choice != ValueText(option, settings)) other = choice;
        }
        if (other.empty()) continue;  // there is only one choice
        break;
      case Kind::kSet: other = "[" + std::string(option.choices.front()) + "]"; break;
      case Kind::kNetworks: other = "[10.0.0.0/8, ::1]"; break;
    }
    ASSERT_TRUE(SetFromText(option, other, settings).ok()) << option.key << " " << other;
    std::vector<std::string> expected = before;
    expected[i] = std::string(option.key) + " " + other;
    EXPECT_EQ(Texts(settings), expected);
  }
}

TEST(RunSettings, AnErrorNamesTheLineTheValueAndTheAllowedValues) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case table[] = {
      {"commit:\n  interval: 5 parsecs\n",
       "site.yaml:2:13: commit.interval: found \"5 parsecs\", which has an unknown unit; "
       "allowed: a duration from 0 us to 10 s (units: us, ms, s, min, h, days)"},
      {"commit:\n  interval: 5\n",
       "site.yaml:2:13: commit.interval: found \"5\", which has no unit; allowed: a duration from 0 us to 10 "
       "s (units: "
       "us, ms, s, min, h, days)"},
      {"memory: {objects: 1 B}",
       "site.yaml:1:19: memory.objects: found \"1 B\", which is too small; allowed: a size from 1 MiB to 64 "
       "TiB (units: "
       "B, KiB, MiB, GiB, TiB)"},
      {"partitions: 5000",
       "site.yaml:1:13: partitions: found \"5000\", which is too large; allowed: a number from 1 to "
       "4096"},
      {"partitions: [1]", "site.yaml:1:13: partitions: found a list; allowed: a number from 1 to 4096"},
      {"partitions:", "site.yaml:1:1: partitions: found nothing; allowed: a number from 1 to 4096"},
      {"sync: yes",
       "site.yaml:1:7: sync: found \"yes\", which is neither true nor false; allowed: true or false"},
      {"ticks: Wall",
       "site.yaml:1:8: ticks: found \"Wall\", which is not one of them; allowed: input or wall"},
      {"log: {level: loud}",
       "site.yaml:1:14: log.level: found \"loud\", which is not one of them; allowed: error, "
       "warn, info or debug"},
      {"data_directory: ''",
       "site.yaml:1:17: data_directory: found \"\", which is empty; allowed: a directory, "
       "relative to the working directory"},
      {"backend: pulsar",
       "site.yaml:1:10: backend: found \"pulsar\", which is not one of them; allowed: embedded or kafka"},
      {"kafka:\n  security: sasl_ssl\n",
       "site.yaml:2:13: kafka.security: SASL requires kafka.user and one of "
       "kafka.password_file and kafka.password_variable"},
      {"commit: fast",
       "site.yaml:1:9: commit: found \"fast\"; allowed: options of this group, one per line, "
       "such as commit.interval"},
      {"\npartition: 4\n", "site.yaml:2:1: partition: unknown option; did you mean partitions?"},
      {"chekpoint:\n  keep: 3\n", "site.yaml:1:1: chekpoint: unknown option; did you mean checkpoint?"},
      {"commit:\n  intervall: 5 ms\n",
       "site.yaml:2:3: commit.intervall: unknown option; did you mean commit.interval?"},
      {"interval: 5 ms\n",
       "site.yaml:1:1: interval: unknown option here; did you mean commit.interval or "
       "checkpoint.interval or hub.interval?"},
      {"commit: {flush_interval: 5 ms}",
       "site.yaml:1:10: commit.flush_interval: unknown option here; did you mean "
       "state.flush_interval?"},
      {"commit.interval: 5 ms\n",
       "site.yaml:1:1: commit.interval: unknown option here; did you mean commit.interval?"},
      {"listen: {telephone: 1}", "site.yaml:1:10: listen.telephone: unknown option; allowed here: socket"},
      {"sync: true\nsync: true\n", "site.yaml:2:1: sync: occurs twice; keep one of them"},
      {"[1]: 2", "site.yaml:1:1: found a list instead of the name of an option"},
      {"- a\n- b\n",
       "site.yaml:1:1: found a list; a configuration file must be a list of `option: value` lines"},
      {"sync: true\n---\nsync: false\n",
       "site.yaml:2:1: a second YAML document starts here and is not read; put all options "
       "into one document"},
      {", sync: true",  // yaml-cpp 0.7 finds documents here without end
       "site.yaml:1:1: a second YAML document starts here and is not read; put all options "
       "into one document"},
      {"projects: [7]", "site.yaml:1:12: projects: found \"7\"; allowed: {id: 1, name: example}"},
      {"projects: [{name: a}]",
       "site.yaml:1:12: projects.id: is missing; allowed: a number from 1 to 4294967295"},
      {"projects: [{id: 0, name: a}]",
       "site.yaml:1:17: projects.id: found \"0\"; allowed: a number from 1 to 4294967295"},
      {"projects: [{id: 2}]", "site.yaml:1:12: projects.name: is missing; allowed: a text"},
      {"projects: [{id: 2, name: a}, {id: 2, name: b}]",
       "site.yaml:1:30: projects.id: 2 occurs twice; every project must have its own"},
      {"projects: [{id: 2, name: a}, {id: 3, name: a}]",
       "site.yaml:1:30: projects.name: \"a\" occurs twice; every project must have its own"},
      {"projects: [{id: 2, nam: a}]",
       "site.yaml:1:20: projects.nam: unknown option; did you mean projects.name?"},
      // Only the catalogue event of an app sets its policy.
      {"projects: [{id: 2, name: a, defaults: {policy: boinc}}]",
       "site.yaml:1:29: projects.defaults: unknown option; allowed here: id, name, events_per_second, "
       "bytes_per_second, url, statistics, ownership_key, points_per_cobblestone, points_since, erase_after, shared_accounts, account_manager, fetch_time, hub_project"},
      {"projects: [{id: 2, name: a, events_per_second: -1}]",
       "site.yaml:1:48: projects.events_per_second: found \"-1\", which is negative; allowed: a number from 0 "
       "to 1000000000"},
      {"projects: [{id: 2, name: a, bytes_per_second: [1]}]",
       "site.yaml:1:47: projects.bytes_per_second: found a list, which is not one value; allowed: a size from "
       "0 B to 1 TiB"},
  };
  for (const Case& c : table) EXPECT_EQ(ErrorsIn(c.text), c.message) << c.text;
}

TEST(RunSettings, InvalidYamlIsReportedWithItsPlace) {
  EXPECT_THAT(ErrorsIn("commit: {interval: 5 ms\nsync: true\n"), StartsWith("site.yaml:2:5: invalid YAML: "));
  EXPECT_THAT(ErrorsIn("sync: }\n"), HasSubstr("invalid YAML: "));
  EXPECT_THAT(ErrorsIn(std::string(5000, '[')), HasSubstr("invalid YAML: "));
  EXPECT_THAT(ErrorsIn(std::string(2u << 20, '#')), HasSubstr("the file is larger than 1 MiB"));
}

TEST(RunSettings, UpToTwentyErrorsAreReportedAtOnce) {
  EXPECT_EQ(ErrorsIn("partitions: 0\nthreads: -1\n"),
            "site.yaml:1:13: partitions: found \"0\", which is too small; allowed: a number from 1 to 4096\n"
            "site.yaml:2:10: threads: found \"-1\", which is negative; allowed: a number from 0 to 1024");
  std::string many;
  for (int i = 0; i < 25; ++i) many += "zzzzzzzzzzzz" + std::to_string(i) + ": 1\n";
  const std::string errors = ErrorsIn(many);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 20);
  EXPECT_THAT(errors, HasSubstr("\nsite.yaml: and 5 more"));
}

TEST(RunSettings, IncompatibleOptionsAreRefused) {
  EXPECT_EQ(ErrorsIn("state: {flush_interval: 2 min}"),
            "site.yaml:1:25: checkpoint.interval: 1 min is shorter than state.flush_interval, 2 "
            "min: a checkpoint is a copy of flushed state, so its interval must not be shorter");
  EXPECT_EQ(ErrorsIn("retention: {inputs_age: 1 h}\ncheckpoint: {interval: 10 min, keep: 2}\n"),
            "site.yaml:1:25: retention.inputs_age: 1 h is less than 4 x checkpoint.keep x "
            "checkpoint.interval, 80 min: inputs of a state restored from a copy could be missing");
  EXPECT_EQ(ErrorsIn("retention: {inputs_age: 80 min}\ncheckpoint: {interval: 10 min, keep: 2}\n"),
            "no error");
  EXPECT_EQ(ErrorsIn("backend: kafka\norder: lockstep\n"), "no error");
  EXPECT_THAT(ErrorsIn("backend: kafka\norder: lockstep\nticks: wall\n"), HasSubstr("requires ticks: input"));
  EXPECT_THAT(ErrorsIn("stages: [claims, grants]\n"), HasSubstr("on Kafka with kafka.slots: by_stage"));
  EXPECT_THAT(ErrorsIn("backend: kafka\nstages: [claims]\n"),
              HasSubstr("on Kafka with kafka.slots: by_stage"));
  EXPECT_EQ(ErrorsIn("backend: kafka\nkafka: {slots: by_stage}\nstages: [claims, coordinator]\n"),
            "no error");
  EXPECT_THAT(ErrorsIn("backend: kafka\nkafka: {slots: by_stage}\nstages: [claims, credits]\n"),
              HasSubstr("names 'credits', which is not one of them"));
  EXPECT_THAT(ErrorsIn("backend: kafka\nkafka: {slots: by_stage}\nstages: []\n"),
              HasSubstr("a list of claims"));
  const std::string deep = "/" + std::string(100, 'd');
  EXPECT_THAT(ErrorsIn("data_directory: " + deep), HasSubstr("is longer than the 107 bytes"));
  EXPECT_EQ(ErrorsIn("data_directory: " + deep + "\nlisten: {socket: /run/c.sock}\n"), "no error");
}

TEST(RunSettings, TheAddressOfAHubIsAUrl) {
  for (const char* url : {"http://127.0.0.1:8080", "https://hub.example", "https://hub.example/federation"})
    EXPECT_EQ(ErrorsIn("hub: {url: '" + std::string(url) + "'}"), "no error") << url;
  for (const char* url : {"hub.example", "ftp://hub.example", "https://", "https://hub.example/",
                          "https://hub?x=1", "https://name@hub", "https://hub example"})
    EXPECT_THAT(ErrorsIn("hub: {url: '" + std::string(url) + "'}"), HasSubstr("allowed: http://HOST:PORT"))
        << url;
  EXPECT_THAT(ErrorsIn("order: lockstep\nhub: {url: 'https://hub.example'}"),
              HasSubstr("set hub.factors: false"));
  EXPECT_EQ(ErrorsIn("order: lockstep\nhub: {url: 'https://hub.example', factors: false}"), "no error");
}

TEST(RunSettings, WhatTheCollectorSendsAboutAProjectNeedsACollectedProject) {
  EXPECT_THAT(
      ErrorsIn("role: hub\nprojects: [{id: 7, name: Elm, account_manager: true}]\n"),
      HasSubstr(
          "project 7 has ownership_key, points_per_cobblestone, points_since, erase_after, shared_accounts or "
          "account_manager"));
  EXPECT_EQ(ErrorsIn("role: hub\nprojects: [{id: 7, name: Elm}]\n"), "no error");
  EXPECT_EQ(
      ErrorsIn(
          "role: hub\nprojects: [{id: 7, name: Elm, account_manager: true, url: 'https://elm.example/'}]\n"),
      "no error");
}

TEST(RunSettings, TheAccountsOfAnAccountManagerAreAListOfNumbers) {
  const auto at_elm = [](const std::string& settings) {
    return "role: hub\nprojects:\n  - id: 7\n    name: Elm\n    url: 'https://elm.example/'\n" + settings;
  };
  const auto read = ParseRunSettings(at_elm("    shared_accounts: [31, 5]\n"), "site.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->projects[0].shared_accounts, (std::vector<std::uint64_t>{5, 31}));
  EXPECT_FALSE(read->projects[0].account_manager);
  EXPECT_EQ(ErrorsIn(at_elm("    shared_accounts: []\n    account_manager: true\n")), "no error");
  std::string many = "1";
  for (int user = 2; user <= 1000; ++user) many += ", " + std::to_string(user);
  EXPECT_EQ(ErrorsIn(at_elm("    shared_accounts: [" + many + "]\n")), "no error");
  const std::string allowed =
      "; allowed: a list of at most 1000 numbers of users, such as [12345], each once";
  const std::pair<std::string, std::string> wrong[] = {
      {"shared_accounts: 5", "6:22: projects.shared_accounts: found \"5\""},
      {"shared_accounts: true", "6:22: projects.shared_accounts: found \"true\""},
      {"shared_accounts: [5, 0]", "6:26: projects.shared_accounts: found \"0\""},
      {"shared_accounts: [5, -1]", "6:26: projects.shared_accounts: found \"-1\""},
      {"shared_accounts: [5, Ann]", "6:26: projects.shared_accounts: found \"Ann\""},
      {"shared_accounts: [5, [6]]", "6:26: projects.shared_accounts: found a list"},
      {"shared_accounts: [5, 5]", "6:26: projects.shared_accounts: found \"5\" twice"},
      {"shared_accounts:\n      - 5\n      - x", "8:9: projects.shared_accounts: found \"x\""},
      {"shared_accounts: [" + many + ", 1001]", "6:22: projects.shared_accounts: found 1001 numbers"},
  };
  for (const auto& [settings, message] : wrong)
    EXPECT_EQ(ErrorsIn(at_elm("    " + settings + "\n")), "site.yaml:" + message + allowed);
  EXPECT_EQ(ErrorsIn(at_elm("    account_manager: Ann\n")),
            "site.yaml:6:22: projects.account_manager: found \"Ann\"; allowed: true or false");
}

TEST(RunSettings, ThePointsOfAProjectCountSinceADay) {
  const auto at_elm = [](const std::string& settings) {
    return "role: hub\nprojects:\n  - id: 7\n    name: Elm\n    url: 'https://elm.example/'\n" + settings;
  };
  const auto since = [&](const std::string& day) {
    const auto read = ParseRunSettings(
        at_elm("    points_per_cobblestone: 7\n    points_since: " + day + "\n"), "site.yaml");
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? read->projects[0].points_since : -1;
  };
  EXPECT_EQ(since("2026-12-01"), 20788);
  EXPECT_EQ(since("'2024-02-29'"), 19782);
  EXPECT_EQ(since("1970-01-02"), 1);
  EXPECT_EQ(since("9999-12-31"), 2932896);
  for (const std::string wrong : {"2026-12", "2026-1-001", "2026-02-29", "2026-12-01T00:00", "01.12.2026",
                                  "20788", "1970-01-01", "+026-12-011", "0000-00-00"})
    EXPECT_EQ(ErrorsIn(at_elm("    points_per_cobblestone: 7\n    points_since: " + wrong + "\n")),
              "site.yaml:7:19: projects.points_since: found \"" + wrong +
                  "\"; allowed: a day in UTC, from 1970-01-02 to 9999-12-31, such as 2026-12-01");
  EXPECT_EQ(
      ErrorsIn(at_elm("    points_since: 2026-12-01\n")),
      "site.yaml:6:19: projects.points_since: project 7 has no points_per_cobblestone that could hold from "
      "this day on; set it, or remove the day");
}

// An operator finds the line of a long list without counting.
TEST(RunSettings, AnErrorAboutAProjectIsAtItsLine) {
  const std::string list = "projects:\n  - {id: 7, name: Elm}\n  - id: 8\n    name: Oak\n";
  EXPECT_THAT(ErrorsIn("role: hub\n" + list + "    shared_accounts: [5]\n"),
              HasSubstr("site.yaml:6:22: projects: project 8 has ownership_key"));
  EXPECT_THAT(ErrorsIn(list + "    url: 'https://oak.example/'\n"),
              HasSubstr("site.yaml:5:10: projects.url, statistics"));
  EXPECT_THAT(ErrorsIn("role: hub\n" + list +
                       "    url: 'https://oak.example/'\n  - id: 9\n    name: Fir\n"
                       "    url: 'https://oak.example/'\n"),
              HasSubstr("site.yaml:9:10: projects.url: \"https://oak.example/\" of project 9"));
  EXPECT_THAT(ErrorsIn(list + "    hub_project: 3\n"),
              HasSubstr("site.yaml:5:18: projects.hub_project needs hub.url"));
  EXPECT_THAT(ErrorsIn(list + "    hub_project: 3\n  - {id: 9, name: Fir, hub_project: 3}\n"),
              HasSubstr("site.yaml:6:37: projects.hub_project: 3 occurs twice"));
  EXPECT_THAT(ErrorsIn("role: hub\n" + list + "    hub_project: 3\n"),
              HasSubstr("site.yaml:6:18: projects.hub_project is for a pipeline of projects"));
}

TEST(RunSettings, TheTimeOfAFetchIsThatOfOneProject) {
  const auto with = [](const std::string& time) {
    return ErrorsIn(
        "role: hub\nprojects: [{id: 7, name: Elm, statistics: 'https://elm.example/', fetch_time: " + time +
        "}]\n");
  };
  EXPECT_EQ(with("2 h"), "no error");
  for (const char* time : {"0 s", "2 d", "fast"})
    EXPECT_THAT(with(time), HasSubstr("allowed: a duration from 1 s to 1 d, such as 2 h")) << time;
  EXPECT_THAT(ErrorsIn("projects: [{id: 7, name: Elm, fetch_time: 2 h}]\n"),
              HasSubstr("fetch_time are for role: hub"));
}

// With both entries the hub would add up the credit of every user twice.
TEST(RunSettings, NoProjectIsCollectedTwice) {
  const auto errors = [](const std::string& first, const std::string& second) {
    return ErrorsIn("role: hub\nprojects: [{id: 7, name: Elm, " + first + "}, {id: 8, name: Oak, " + second +
                    "}]\n");
  };
  const std::string statistics = "statistics: 'https://elm.example/stats/'";
  EXPECT_THAT(
      errors(statistics, statistics),
      HasSubstr(
          "projects.statistics: \"https://elm.example/stats/\" of project 8 is also that of project 7"));
  EXPECT_THAT(errors(statistics, "statistics: 'http://www.ELM.example/stats'"),
              HasSubstr("would count twice"));
  EXPECT_THAT(errors("url: 'https://elm.example/'", "url: 'https://elm.example'"),
              HasSubstr("projects.url: "));
  EXPECT_EQ(errors(statistics, "statistics: 'https://elm.example/Stats/'"), "no error");
  EXPECT_EQ(errors(statistics, "statistics: 'https://oak.example/stats/'"), "no error");
  // The statistics of a project may be at its master URL.
  EXPECT_EQ(errors("url: 'https://elm.example/'", "statistics: 'https://elm.example/'"), "no error");
}

// The hub shows the URL of a project to everybody.
TEST(RunSettings, TheUrlOfACollectedProjectHasNoPassword) {
  for (const char* name : {"url", "statistics"}) {
    const auto errors = [&](const std::string& url) {
      return ErrorsIn("role: hub\nprojects: [{id: 7, name: Elm, " + std::string(name) + ": '" + url +
                      "'}]\n");
    };
    EXPECT_EQ(errors("https://elm.example/~stats/@today/?a@b"), "no error");
    EXPECT_THAT(errors("https://ann:secret@elm.example/"), HasSubstr("contains a user name or a password"));
    EXPECT_THAT(errors("https://ann:secret@elm.example/"), Not(HasSubstr("secret")));
  }
}

TEST(RunSettings, WhatIsSentToAHubNeedsTheHubATokenAndAProject) {
  const auto errors = [](const std::string& hub, const std::string& projects) {
    return ErrorsIn("hub: {" + hub + "}\nprojects: [" + projects + "]\n");
  };
  const std::string hub = "url: 'https://hub.example', push_token_file: token";
  const std::string fold = "{id: 1, name: Fold, hub_project: 4}";
  EXPECT_EQ(errors(hub, fold), "no error");
  EXPECT_THAT(errors(hub, ""), HasSubstr("set hub_project of an entry in projects"));
  EXPECT_THAT(errors("url: 'https://hub.example'", fold), HasSubstr("needs hub.url and hub.push_token_file"));
  EXPECT_THAT(errors("push_token_file: token", fold), HasSubstr("needs hub.url and hub.push_token_file"));
  EXPECT_THAT(errors(hub, fold + ", {id: 2, name: Elm, hub_project: 4}"), HasSubstr("4 occurs twice"));
  EXPECT_THAT(errors(hub, "{id: 1, name: Fold, hub_project: 0}"), HasSubstr("a number from 1 to"));
  EXPECT_THAT(ErrorsIn("role: hub\nhub: {" + hub + "}\nprojects: [" + fold + "]\n"),
              HasSubstr("role: hub receives"));
  for (const char* here : {"http://127.0.0.1:8080", "http://localhost", "http://[::1]:80/hub"})
    EXPECT_EQ(errors("url: '" + std::string(here) + "', push_token_file: token", fold), "no error") << here;
  for (const char* elsewhere : {"http://hub.example", "http://127.0.0.1.example", "http://[::2]:80"})
    EXPECT_THAT(errors("url: '" + std::string(elsewhere) + "', push_token_file: token", fold),
                HasSubstr("over https:// only"))
        << elsewhere;
}

TEST(RunSettings, InvalidGatewayOptionsAreRefused) {
  for (const char* place : {"127.0.0.1:8080", "localhost:0", "'[::1]:443'", "0.0.0.0:65535"})
    EXPECT_EQ(ErrorsIn("gateway: {listen: " + std::string(place) + "}"), "no error") << place;
  for (const char* place : {"127.0.0.1", "'127.0.0.1:'", "':8080'", "127.0.0.1:65536", "127.0.0.1:http",
                            "'1:-1'", "'a:99999999999999999999'"})
    EXPECT_THAT(ErrorsIn("gateway: {listen: " + std::string(place) + "}"),
                HasSubstr("allowed: host:port, such as"))
        << place;
  EXPECT_THAT(ErrorsIn("gateway: {tls_certificate: a.pem}"), HasSubstr("belong together"));
  EXPECT_THAT(ErrorsIn("gateway: {tls_key: a.pem}"), HasSubstr("belong together"));
  EXPECT_EQ(ErrorsIn("gateway: {tls_certificate: a.pem, tls_key: b.pem}"), "no error");
  EXPECT_THAT(ErrorsIn("gateway: {connections: 8, streams: 8}"),
              HasSubstr("leave no connections for requests"));
  EXPECT_EQ(ErrorsIn("gateway: {connections: 8, streams: 7}"), "no error");
  for (const char* proxies : {"[]", "127.0.0.1", "[127.0.0.1, 10.0.0.0/8, 'fd00::/8']"})
    EXPECT_EQ(ErrorsIn("gateway: {trusted_proxies: " + std::string(proxies) + "}"), "no error") << proxies;
  EXPECT_EQ(ErrorsIn("gateway:\n  trusted_proxies: [127.0.0.1, proxy.example]\n"),
            "site.yaml:2:20: gateway.trusted_proxies: found \"127.0.0.1,proxy.example\", which "
            "names 'proxy.example', which does not start with an IP address; allowed: a list of "
            "addresses and networks, such as [127.0.0.1, 10.0.0.0/8]");
  EXPECT_THAT(ErrorsIn("gateway: {trusted_proxies: [10.0.0.0/33]}"),
              HasSubstr("a number of bits from 0 to 32"));
}

TEST(RunSettings, TheMetricsAddressIsAHostAndAPort) {
  for (const char* good : {"127.0.0.1:9464", "localhost:0", "[::1]:65535", "0.0.0.0:80"})
    EXPECT_EQ(ErrorsIn("metrics: {listen: \"" + std::string(good) + "\"}\n"), "no error") << good;
  EXPECT_EQ(ErrorsIn("metrics:\n  listen: \"9464\"\n"),
            "site.yaml:2:11: metrics.listen: found \"9464\", which is not a host:port; allowed: "
            "host:port, such as 127.0.0.1:9464");
  for (const auto& [bad, why] :
       {std::pair{"localhost:http", "does not end with a port from 0 to 65535"},
        std::pair{"localhost:65536", "does not end with a port from 0 to 65535"},
        std::pair{"localhost:-1", "does not end with a port from 0 to 65535"},
        std::pair{":9464", "has no host"}, std::pair{"::1:9464", "has an IPv6 address without brackets"}})
    EXPECT_THAT(ErrorsIn("metrics: {listen: \"" + std::string(bad) + "\"}\n"), HasSubstr(why)) << bad;
}

TEST(RunSettings, AMissingOrInvalidFileIsReported) {
  const testing::TempDir dir;
  const auto missing = LoadRunSettings(dir / "nowhere.yaml");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr(dir / "nowhere.yaml"));
  std::ofstream(dir / "bad.yaml") << "partitions: many\n";
  const auto bad = LoadRunSettings(dir / "bad.yaml");
  EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(bad.status().message(), StartsWith((dir / "bad.yaml") + ":1:13: "));
  EXPECT_FALSE(LoadRunSettings(dir.path()).ok()) << "a directory is no file";
}

TEST(RunSettings, EveryDefaultIsAllowedAndRoundTrips) {
  for (const Option& option : Options()) {
    RunSettings settings;
    const std::string text = ValueText(option, settings);
    if (text == "\"\"") continue;
    EXPECT_TRUE(SetFromText(option, text, settings).ok()) << option.key << ": " << text;
    EXPECT_EQ(ValueText(option, settings), text) << option.key;
    EXPECT_LE(option.reason.size(), 100u) << option.key << ": the reason is one line";
  }
}

// The files in config/ match the registry of options. COBBLESTONE_REWRITE=1 rewrites config/default.yaml.
TEST(ConfigFiles, TheDefaultFileHasEveryOptionWithItsRangeAndReason) {
  const std::string path = ConfigFile("default.yaml");
  if (std::getenv("COBBLESTONE_REWRITE") != nullptr)
    std::ofstream(path, std::ios::binary) << DefaultConfigFile();
  EXPECT_EQ(ContentOf(path), DefaultConfigFile())
      << "config/default.yaml differs from the options in common/settings: run "
         "this test with COBBLESTONE_REWRITE=1 and check the difference";
  const auto settings = LoadRunSettings(path);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  RunSettings defaults = *ParseRunSettings("", "empty");
  EXPECT_EQ(Texts(*settings), Texts(defaults));
}

TEST(ConfigFiles, EveryConfigFileIsValid) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ConfigFile(""))) {
    if (entry.path().extension() != ".yaml") continue;
    const auto settings = LoadRunSettings(entry.path().string());
    EXPECT_TRUE(settings.ok()) << settings.status().message();
    ++read;
  }
  EXPECT_GE(read, 2);
}

TEST(ConfigFiles, TheTableHasALineForEveryOption) {
  const std::string table = DescribeOptions();
  for (const Option& option : Options()) {
    EXPECT_THAT(table, HasSubstr("\n| `" + std::string(option.key) + "` | " + Allowed(option) + " | "));
  }
  EXPECT_THAT(table, HasSubstr("| `commit.interval` | a duration from 0 us to 10 s | 10 ms | "));
  EXPECT_THAT(table, HasSubstr("\n| `projects` | "));
}

}  // namespace
}  // namespace cobblestone::settings

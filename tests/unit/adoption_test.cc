// A project's rows become events: which fields an event contains, which private fields it never contains, and the
// control totals. The input is the rows of the golden export.
#include "services/adoption/adoption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "services/adoption/statistics_rows.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::adoption {

using events::EventItem;

namespace {

using ::testing::HasSubstr;

const std::string kEntities = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/export/entities.json";

class Adoption : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary | std::ios::trunc) << text;
    return dir_ / name;
  }
  static std::unique_ptr<exports::EntitiesFile> OpenFile(const std::string& path) {
    auto file = exports::EntitiesFile::Open(path, {});
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::move(*file) : nullptr;
  }
  // Surveys a file that contains only these rows of users.
  Status SurveyUsers(const std::string& rows) {
    auto file = OpenFile(Write("some.json", "{\"users\":[" + rows + "]}"));
    return LookAt(*file, {}, {}).status();
  }
  Status Statistics(const std::string& lines) {
    return ReadStatistics(Write("rows.jsonl", lines), ProjectId(1), [this](const StatisticsRow& row) {
      rows_.push_back(row.body);
      return Status::Ok();
    });
  }

  testing::TempDir dir_;
  std::vector<wire::EventBody> rows_;
};

constexpr const char* kUser =
    R"({"id":%,"name":"n","create_time":1,"total_credit":2,"expavg_credit":1,"expavg_time":5,)"
    R"("cross_project_id":"c","email_addr":"e","country":"","url":"","teamid":0,"has_profile":0,"show_hosts":1,)"
    R"("authenticator":"a"})";

std::string User(const std::string& id) {
  std::string row = kUser;
  return row.replace(row.find('%'), 1, id);
}

TEST_F(Adoption, EveryEventIsValidAndRoundTrips) {
  auto file = OpenFile(kEntities);
  std::set<std::string> seen;
  std::size_t events = 0;
  ASSERT_TRUE(
      ForEachEvent(*file, {.project = ProjectId(3), .time = 17}, [&](const wire::Event& event, const auto&) {
        EXPECT_EQ(wire::CheckEvent(event), std::nullopt);
        const std::string bytes = wire::EncodeEvent(event);
        const auto again = wire::ParseEvent(bytes);
        EXPECT_TRUE(again.ok());
        EXPECT_EQ(again->head, event.head);
        EXPECT_EQ(wire::EncodeEvent(*again), bytes);
        const auto routing = wire::PeekRouting(bytes);
        seen.insert(std::to_string(event.head.id) + " " + std::string(wire::EventKindName(event.kind())) +
                    " " + std::to_string(static_cast<int>(routing->key)) + " " + std::to_string(routing->id));
        ++events;
        return Status::Ok();
      }).ok());
  EXPECT_EQ(seen.size(), events) << "each event about a subject must have a unique id";
  // 60 users, 12 teams, 90 hosts: member and opening; holders of badges and credit, consents, tombstones; the project.
  EXPECT_GT(events, 2u * (60 + 12 + 90) + 23 + 1);
}

TEST_F(Adoption, EventsContainNoPrivateData) {
  auto file = OpenFile(kEntities);
  std::string all;
  ASSERT_TRUE(ForEachEvent(*file, {}, [&](const wire::Event& event, const auto&) {
                all += wire::EncodeEvent(event);
                return Status::Ok();
              }).ok());
  std::size_t checked = 0;
  const auto absent = [&](const std::string& secret) {
    // Short values, `deleted` and repetitions of one letter occur in public texts too.
    if (secret.size() < 12 || secret.find("elete") != std::string::npos ||
        secret.find_first_not_of(secret.front()) == std::string::npos)
      return;
    ++checked;
    EXPECT_EQ(all.find(secret), std::string::npos) << secret;
  };
  ASSERT_TRUE(file->Users([&](const exports::User& user) {
                    absent(user.cross_project_id);
                    absent(user.email_addr);
                    absent(user.authenticator.value_or(""));
                    return Status::Ok();
                  })
                  .ok());
  ASSERT_TRUE(file->Hosts([&](const exports::Host& host) {
                    absent(host.domain_name.value_or(""));
                    return Status::Ok();
                  })
                  .ok());
  EXPECT_GT(checked, 200u);
}

TEST_F(Adoption, TheSameFileMakesTheSameStream) {
  std::string first;
  std::string second;
  for (std::string* all : {&first, &second}) {
    auto file = OpenFile(kEntities);
    const auto stream = StreamOf(*file, {}, 0);
    std::uint64_t line = 0;
    ASSERT_TRUE(stream
                    ->ForEach([&](const EventItem& item) {
                      EXPECT_EQ(item.line, line++);
                      *all += item.raw;
                      return Status::Ok();
                    })
                    .ok());
  }
  EXPECT_EQ(first, second);
}

TEST_F(Adoption, AnInvalidBalanceOpensWithZeroAndKeepsItsFigures) {
  auto file = OpenFile(kEntities);
  std::map<double, std::int64_t> opened;
  ASSERT_TRUE(ForEachEvent(*file, {}, [&](const wire::Event& event, const auto&) {
                if (const auto* opening = std::get_if<wire::OpeningTotal>(&event.body))
                  opened[opening->figures->total_credit] = *opening->total_micro;
                return Status::Ok();
              }).ok());
  EXPECT_EQ(opened.at(-1), 0);
  EXPECT_EQ(opened.at(1e-7), 0);
  EXPECT_EQ(opened.at(5.000000001e-7), 1);
  EXPECT_EQ(opened.at(4369010.125371443), 4369010125371);
  EXPECT_EQ(opened.at(1000000000000000.2), 0) << "more than 64 bits of micro-credits";
  const auto survey = LookAt(*file, {}, {});
  ASSERT_TRUE(survey.ok());
  EXPECT_EQ(survey->totals.users.accounts, 60u);
  EXPECT_EQ(survey->totals.users.no_balance, 1u);
  EXPECT_EQ(survey->totals.hosts.no_balance, 2u);
  EXPECT_EQ(survey->owners_missing, 2u);
  EXPECT_EQ(survey->hosts_of_nobody, 2u);
  EXPECT_EQ(survey->teams_missing, 1u);
  EXPECT_EQ(survey->founders_missing, 2u);
}

TEST_F(Adoption, TotalsDoNotDependOnOrderAndDifferencesAreFound) {
  Totals read;
  Totals then;
  read.users.Add(1, {.total_credit = 1.5, .expavg_credit = -0.25});
  read.users.Add(2, {.total_credit = 9e12, .expavg_credit = 1});
  then.users.Add(2, {.total_credit = 9e12, .expavg_credit = 1});
  then.users.Add(1, {.total_credit = 1.5, .expavg_credit = -0.25});
  const auto json = TotalsJson(read);
  EXPECT_EQ(json["users"]["credit"], "9000000000001.500000");
  EXPECT_EQ(json["users"]["rac"], "0.750000");
  EXPECT_TRUE(DifferenceOf(json, TotalsJson(then)).empty());
  then.users.credit -= 1;
  EXPECT_EQ(DifferenceOf(json, TotalsJson(then)).dump(), R"({"users":{"credit":"-0.000001"}})");
  Totals swapped;
  swapped.users.Add(2, {.total_credit = 1.5, .expavg_credit = -0.25});
  swapped.users.Add(1, {.total_credit = 9e12, .expavg_credit = 1});
  EXPECT_TRUE(DifferenceOf(json, TotalsJson(swapped))["users"].contains("figures"));
}

TEST_F(Adoption, AnInvalidRowIsReportedWithItsPlace) {
  EXPECT_TRUE(SurveyUsers(User("1") + "," + User("2")).ok());
  EXPECT_THAT(SurveyUsers(User("1") + ",\n" + User("0")).message(),
              AllOf(HasSubstr("line 2"), HasSubstr("is not a valid number")));
  EXPECT_FALSE(SurveyUsers(User("-4")).ok());
}

TEST_F(Adoption, ReadsTheStatisticsRowsThatReplayWrites) {
  const Status read = Statistics(
      R"({"kind":"host_version","project":1,"host":6,"app_version":-2,"app":1,"pfc":{"n":3,"avg":0.5},)"
      R"("et":{"n":4,"avg":1e-10,"var":0,"q":1e-30},"turnaround":{"n":5,"avg":100,"var":-1e-9,"q":7},)"
      R"("consecutive_valid":11,"max_jobs_per_day":-1})"
      "\n\n"
      R"({"kind":"app_version","app_version":9,"pfc":{"n":300,"avg":2},"pfc_scale":0.5,"expavg_credit":3,"expavg_time":4})"
      "\n"
      R"({"kind":"user","id":4,"total":17})"
      "\n"
      R"({"kind":"app","app":1,"min_avg_pfc":1.25})"
      "\n");
  ASSERT_TRUE(read.ok()) << read.message();
  ASSERT_EQ(rows_.size(), 4u);
  EXPECT_EQ(std::get<wire::OpeningHostVersion>(rows_[0]),
            (wire::OpeningHostVersion{.host = HostId(6),
                                      .app = AppId(1),
                                      .version = AppVersionId(-2),
                                      .pfc = {.n = 3, .mean = 0.5},
                                      .et = {.n = 4, .mean = 1e-10, .var = 0, .q = 1e-30},
                                      .turnaround = {.n = 5, .mean = 100, .var = -1e-9, .q = 7},
                                      .consecutive_valid = 11,
                                      .max_jobs_per_day = -1}));
  EXPECT_EQ(std::get<wire::OpeningAppVersion>(rows_[1]).pfc_scale, 0.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(rows_[2])) << "totals come from the entities";
  EXPECT_EQ(std::get<wire::OpeningApp>(rows_[3]).min_avg_pfc, 1.25);
}

TEST_F(Adoption, AnInvalidStatisticsRowIsReportedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "line 2: the line is not a JSON object"},
      {R"({"app":1})", "line 2: 'kind'"},
      {R"({"kind":"app","project":2,"app":1})", "line 2: the row belongs to project 2"},
      {R"({"kind":"app"})", "line 2: 'app' is missing"},
      {R"({"kind":"app","app":1,"min_avg_pfc":"inf"})", "line 2: 'min_avg_pfc' must be a finite number"},
      {R"({"kind":"host_version","host":6,"app_version":1,"pfc":{"n":3}})", "line 2: 'pfc.avg' is missing"},
      {R"({"kind":"host_version","host":-6,"app_version":1})", "line 2: 'host' must be a whole number"},
  };
  for (const auto& [line, expected] : cases)
    EXPECT_THAT(Statistics(std::string(R"({"kind":"app","app":1})") + "\n" + line + "\n").message(),
                HasSubstr(expected))
        << line;
  EXPECT_EQ(ReadStatistics(dir_ / "none", ProjectId(1), {}).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace cobblestone::adoption

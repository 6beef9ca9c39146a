// A file of entities: rows in any order and layout, and errors that name file, line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/export/entities_file.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/export_rows.h"

namespace cobblestone::statistics {

using exports::EntitiesFile;
using exports::Host;
using exports::User;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HostRow;
using testing::Json;
using testing::UserRow;

class ExportEntities : public ::testing::Test {
 protected:
  Result<std::unique_ptr<EntitiesFile>> Open(const std::string& text,
                                             std::optional<bool> consent = std::nullopt) {
    std::ofstream(dir_ / "e.json", std::ios::trunc) << text;
    return EntitiesFile::Open(dir_ / "e.json", {.statsexport_enabled = consent});
  }
  cobblestone::testing::TempDir dir_;
};

std::vector<std::int64_t> UserIds(EntitiesFile& entities) {
  std::vector<std::int64_t> ids;
  EXPECT_TRUE(entities
                  .Users([&](const User& user) {
                    ids.push_back(user.id);
                    return Status::Ok();
                  })
                  .ok());
  return ids;
}

TEST_F(ExportEntities, RowsAreReadInOrderOfIdForAnyOrderAndLayout) {
  Json late = UserRow(3, 1);
  Json row;  // the id is not the first column
  row["name"] = "n\"}]{\\";
  row.update(UserRow(-7, 2, "n\"}]{\\"));
  Json file = {{"config", {{"a", {1, 2}}}}, {"users", {UserRow(20, 1), late, row}}, {"hosts", Json::array()}};
  for (const int indent : {-1, 0, 4}) {
    auto entities = Open(file.dump(indent));
    ASSERT_TRUE(entities.ok()) << entities.status().message();
    EXPECT_THAT(UserIds(**entities), ElementsAre(-7, 3, 20));
    User user;
    ASSERT_TRUE(*(*entities)->FindUser(-7, &user));
    EXPECT_EQ(user.name, "n\"}]{\\");
    EXPECT_FALSE(*(*entities)->FindUser(4, &user));
    EXPECT_TRUE((*entities)->OwnerOf(3).shows_hosts);
    EXPECT_FALSE((*entities)->OwnerOf(4).exists);
  }
}

TEST_F(ExportEntities, ManyRowsAndLongRowsAreReadCompletely) {
  Json users = Json::array();
  for (int id = 1; id <= 3000; ++id)
    users.push_back(UserRow(id, id, std::string(static_cast<std::size_t>(id % 700), 'x')));
  users.push_back(UserRow(5000, 1, std::string(1'000'000, 'y')));
  auto entities = Open(Json{{"users", users}}.dump());
  ASSERT_TRUE(entities.ok()) << entities.status().message();
  std::int64_t count = 0;
  ASSERT_TRUE((*entities)
                  ->Users([&](const User& user) {
                    ++count;
                    EXPECT_EQ(user.name.size(),
                              user.id == 5000 ? 1'000'000u : static_cast<std::size_t>(user.id % 700));
                    return Status::Ok();
                  })
                  .ok());
  EXPECT_EQ(count, 3001);
}

TEST_F(ExportEntities, NumbersKeepEveryDigitAndSign) {
  std::string text = Json{{"users", {UserRow(1, 1)}}}.dump();
  text.replace(text.find("\"expavg_credit\":0.5"), 19, "\"expavg_credit\":-0");
  text.replace(text.find("\"total_credit\":1.0"), 18, "\"total_credit\":18446744073709551616");
  auto entities = Open(text);
  ASSERT_TRUE(entities.ok()) << entities.status().message();
  User user;
  ASSERT_TRUE(*(*entities)->FindUser(1, &user));
  EXPECT_TRUE(std::signbit(user.expavg_credit));
  EXPECT_EQ(user.total_credit, 18446744073709551616.0);
}

TEST_F(ExportEntities, NullIsTheEmptyTextOrNoValue) {
  Json row = UserRow(1, 1);
  row["name"] = nullptr;
  row["authenticator"] = nullptr;
  auto entities = Open(Json{{"users", {row}}}.dump());
  User user{.name = "before", .authenticator = "before"};
  ASSERT_TRUE(entities.ok());
  ASSERT_TRUE(*(*entities)->FindUser(1, &user));
  EXPECT_EQ(user.name, "");
  EXPECT_EQ(user.authenticator, std::nullopt);
}

TEST_F(ExportEntities, TheNewestRowsOfConsentCount) {
  const auto consent = [](int user, int type, int time, int flag) {
    return Json{{"userid", user}, {"consent_type_id", type}, {"consent_time", time}, {"consent_flag", flag}};
  };
  const Json file = {{"consents",
                      {consent(1, 2, 10, 1), consent(1, 2, 20, 0), consent(2, 2, 20, 1), consent(2, 2, 20, 1),
                       consent(2, 2, 20, 2), consent(2, 2, 5, 1), consent(3, 1, 9, 1), consent(4, 2, 1, 1)}},
                     {"consent_types",
                      {{{"id", 1}, {"shortname", "ENROLL"}, {"enabled", 1}},
                       {{"id", 2}, {"shortname", "STATSEXPORT"}, {"enabled", "0; 1 in variant d"}}}}};
  auto entities = Open(file.dump());
  ASSERT_TRUE(entities.ok()) << entities.status().message();
  EXPECT_FALSE((*entities)->catalogue().consent_wanted);
  EXPECT_EQ((*entities)->ConsentCopies(1), 0u) << "withdrawn";
  EXPECT_EQ((*entities)->ConsentCopies(2), 2u) << "two rows of the newest second consent";
  EXPECT_EQ((*entities)->ConsentCopies(3), 0u) << "another type";
  EXPECT_EQ((*entities)->ConsentCopies(4), 1u);
  EXPECT_TRUE((*Open(file.dump(), true))->catalogue().consent_wanted);
  EXPECT_FALSE((*Open("{}", true))->catalogue().consent_wanted) << "the consent type is missing";
}

TEST_F(ExportEntities, UnknownSectionsAreReported) {
  auto entities = Open(R"({"user": [{"id": 1}], "usres": 5, "config": {}, "users": []})");
  ASSERT_TRUE(entities.ok()) << entities.status().message();
  EXPECT_THAT((*entities)->unknown_sections(), ElementsAre("user", "usres"));
}

TEST_F(ExportEntities, ErrorsNameTheLineAndTheProblem) {
  const std::string row = UserRow(1, 1).dump();
  const std::pair<std::string, std::string> kBad[] = {
      {"", "line 1: expected an object {...}"},
      {"[]", "line 1: expected an object {...}"},
      {"{\"users\": [\n" + row + ",\n", "line 2: expected a row {...} of 'users'"},
      {"{\"users\": [\n" + row.substr(0, 30), "line 2: the file is truncated in 'users'"},
      {"{\"users\": [\n" + row + "\n" + row + "]}", "line 3: expected ',' or ']' after a row of 'users'"},
      {"{\"users\": [\n" + row + ",\n" + row + "]}", "line 3: 'users' has the number 1 twice"},
      {"{\"users\": [5]}", "expected a row {...} of 'users'"},
      {"{\"users\": {}}", "'users' must be an array of rows"},
      {"{\"users\" []}", "expected ':' after the name of a section"},
      {"{\"users\": []} x", "extra text after the end"},
      {"{\"users\": [],}", "expected ',' and a section, or '}'"},
      {"{\"users\": [\n{\"id\": \"x\", \"teamid\": 0, \"show_hosts\": 0}]}", "line 2: 'id' cannot be text"},
      {"{\"users\": [{\"id\": 1.5, \"teamid\": 0, \"show_hosts\": 0}]}",
       "'id' cannot be a number with a fraction"},
      {"{\"users\": [{\"id\": 18446744073709551615}]}", "'id' cannot be a number of this size"},
      {"{\"users\": [{\"id\": 1, \"teamid\": 0}]}", "the row has no 'show_hosts'"},
      {"{\"users\": [{\"id\": 1,, \"teamid\": 0}]}", "the row is not JSON"},
      {"{\"users\": [{\"id\": 1e999, \"teamid\": 0}]}", "the row is not JSON"},
      {"{\"hosts\": [{\"id\": null}]}", "'id' cannot be null"},
      {"{\"subprojects\": [{\"name\": \"x\", \"appids\": [\"1\"]}]}", "a subproject must have 'name'"},
  };
  for (const auto& [text, expected] : kBad) {
    const auto entities = Open(text);
    ASSERT_FALSE(entities.ok()) << text;
    EXPECT_EQ(entities.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(entities.status().message(), HasSubstr("e.json, line ")) << text;
    EXPECT_THAT(entities.status().message(), HasSubstr(expected)) << text;
  }
  EXPECT_EQ(EntitiesFile::Open(dir_ / "none.json", {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(EntitiesFile::Open(dir_.path(), {}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ExportEntities, AColumnThatOnlyTheExportReadsIsCheckedByTheExport) {
  Json bad = HostRow(9, 1, 1);
  bad["p_fpops"] = "fast";
  auto entities = Open("{\"hosts\": [\n" + HostRow(8, 1, 1).dump() + ",\n" + bad.dump() + "]}");
  ASSERT_TRUE(entities.ok());
  const Status status = (*entities)->Hosts([](const Host&) { return Status::Ok(); });
  EXPECT_THAT(status.message(), HasSubstr("e.json, line 3: 'p_fpops' cannot be text"));
}

}  // namespace
}  // namespace cobblestone::statistics

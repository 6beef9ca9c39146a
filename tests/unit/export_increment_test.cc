// Incremental exports write only changed records. A full export and its increments read back to the same records
// as a full export made at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "services/export/entities_file.h"
#include "services/export/export_job.h"
#include "services/export/files/read_back.h"
#include "services/export/files/record_file.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/export_rows.h"

namespace cobblestone::statistics {

using exports::CreditText;
using exports::DigestOf;
using exports::EntitiesFile;
using exports::ExportJob;
using exports::ExportOutcome;
using exports::OutputFigures;
using exports::ParseSpec;
using exports::ReadBack;
using exports::ReadBackOutcome;
using exports::ReadRecords;
using exports::ReadRemoved;
using exports::RecordKey;
using exports::RunExport;

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::HostRow;
using testing::Json;
using testing::UserRow;

class ExportIncrement : public ::testing::Test {
 protected:
  ExportIncrement() {
    for (int id = 1; id <= 50; ++id) {
      users_[id] = UserRow(id, id);
      hosts_[id] = HostRow(id, 1 + id % 7, 2 * id);
    }
    teams_[3] = testing::TeamRow(3, 2, 9);
    badges_[{1, 1}] = testing::BadgeOf(1, 1);
    badges_[{1, 2}] = testing::BadgeOf(1, 2);
    deleted_.insert(900);
  }

  Json Rows() const {
    Json file = {
        {"users", Json::array()},
        {"hosts", Json::array()},
        {"teams", Json::array()},
        {"badges", {testing::BadgeRow(1), testing::BadgeRow(2)}},
        {"badge_user", Json::array()},
        {"users_deleted", Json::array()},
        {"consent_types", {{{"id", 1}, {"shortname", "STATSEXPORT"}, {"enabled", consent_wanted_ ? 1 : 0}}}},
        {"consents", consents_}};
    for (const auto& [id, row] : users_) file["users"].push_back(row);
    for (const auto& [id, row] : hosts_) file["hosts"].push_back(row);
    for (const auto& [id, row] : teams_) file["teams"].push_back(row);
    for (const auto& [key, row] : badges_) file["badge_user"].push_back(row);
    for (const int id : deleted_)
      file["users_deleted"].push_back({{"userid", id}, {"public_cross_project_id", "p"}});
    return file;
  }

  Result<ExportOutcome> Export(const std::string& name, const std::vector<std::string>& from = {}) {
    std::ofstream(dir_ / "e.json", std::ios::trunc) << Rows().dump();
    auto entities = EntitiesFile::Open(dir_ / "e.json", {});
    if (!entities.ok()) return entities.status();
    const auto spec = ParseSpec(spec_, "spec");
    if (!spec.ok()) return spec.status();
    ExportJob job{.now = ++now_, .out = dir_ / name};
    for (const std::string& directory : from) job.incremental_from.push_back(dir_ / directory);
    return RunExport(**entities, *spec, job);
  }
  static const OutputFigures& Figures(const ExportOutcome& outcome, const std::string& output) {
    for (const OutputFigures& figures : outcome.manifest.outputs) {
      if (figures.name == output) return figures;
    }
    ADD_FAILURE() << "no output " << output;
    return outcome.manifest.outputs.front();
  }
  Result<ReadBackOutcome> Read(const std::vector<std::string>& names) {
    std::vector<std::string> directories;
    for (const std::string& name : names) directories.push_back(dir_ / name);
    return ReadBack(directories, nullptr);
  }
  // The chain has the same totals in every output as a full export made now.
  void ExpectSameAsFullExport(const std::vector<std::string>& chain) {
    const std::string full = "full_" + std::to_string(now_);
    ASSERT_TRUE(Export(full).ok());
    const auto of_chain = Read(chain);
    const auto of_full = Read({full});
    ASSERT_TRUE(of_chain.ok()) << of_chain.status().message();
    ASSERT_TRUE(of_full.ok()) << of_full.status().message();
    EXPECT_TRUE(of_chain->differences.empty()) << of_chain->differences.front();
    EXPECT_TRUE(of_full->differences.empty()) << of_full->differences.front();
    ASSERT_EQ(of_chain->outputs.size(), of_full->outputs.size());
    for (std::size_t i = 0; i < of_full->outputs.size(); ++i) {
      EXPECT_EQ(of_chain->outputs[i].name, of_full->outputs[i].name);
      EXPECT_EQ(of_chain->outputs[i].totals, of_full->outputs[i].totals) << of_full->outputs[i].name;
    }
  }

  cobblestone::testing::TempDir dir_;
  std::map<int, Json> users_;
  std::map<int, Json> hosts_;
  std::map<int, Json> teams_;
  std::map<std::pair<int, int>, Json> badges_;
  std::set<int> deleted_;
  Json consents_ = Json::array();
  bool consent_wanted_ = false;
  std::string spec_ = testing::SpecText();
  std::int64_t now_ = 1000;
};

TEST_F(ExportIncrement, OnlyChangedRecordsAreWritten) {
  ASSERT_TRUE(Export("full").ok());
  users_[4]["total_credit"] = 444.5;
  users_[51] = UserRow(51, 1);
  users_.erase(9);
  users_[2]["show_hosts"] = 0;
  badges_.erase({1, 2});
  const auto outcome = Export("next", {"full"});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  const OutputFigures& users = Figures(*outcome, "user.gz");
  EXPECT_EQ(users.totals.records, 50u);
  EXPECT_EQ(users.changed, 2u);
  EXPECT_EQ(users.removed, 1u);
  EXPECT_EQ(CreditText(users.totals.credit), "1707.500000") << "1275 - 4 + 444.5 + 1 - 9";
  EXPECT_EQ(Figures(*outcome, "host.gz").changed, 8u) << "the hosts of user 2, who now hides them";
  EXPECT_EQ(Figures(*outcome, "badge_user.gz").changed, 0u);
  EXPECT_EQ(Figures(*outcome, "badge_user.gz").removed, 1u);
  std::vector<std::int64_t> written;
  ASSERT_TRUE(ReadRecords(dir_ / "next/user.gz", "user", [&](const RecordKey& key, std::string_view) {
                written.push_back(key.first);
                return Status::Ok();
              }).ok());
  EXPECT_THAT(written, ::testing::ElementsAre(4, 51));
  std::vector<RecordKey> removed;
  ASSERT_TRUE(ReadRemoved(dir_ / "next/badge_user.removed.gz", [&](const RecordKey& key) {
                removed.push_back(key);
                return Status::Ok();
              }).ok());
  EXPECT_EQ(removed, (std::vector<RecordKey>{{1, 2}}));
  ExpectSameAsFullExport({"full", "next"});
}

TEST_F(ExportIncrement, WithoutChangesTheFilesHaveNoRecords) {
  ASSERT_TRUE(Export("full").ok());
  const auto outcome = Export("next", {"full"});
  ASSERT_TRUE(outcome.ok());
  for (const OutputFigures& output : outcome->manifest.outputs)
    EXPECT_EQ(output.changed + output.removed, 0u) << output.name;
  EXPECT_EQ(outcome->manifest.base->directory, "full");
  EXPECT_EQ(outcome->manifest.base->time, 1001);
  ExpectSameAsFullExport({"full", "next"});
}

TEST_F(ExportIncrement, AnyHistoryReadsBackLikeAFullExport) {
  std::mt19937 random(5);
  for (const std::string& spec :
       {testing::SpecText("zip"), testing::SpecText("none", "<sort>total_credit</sort>"),
        testing::SpecText("gzip", "<sort>id</sort><output><recs_per_file>7</recs_per_file></output>")}) {
    spec_ = spec;
    std::vector<std::string> chain = {"full" + std::to_string(++now_)};
    ASSERT_TRUE(Export(chain[0]).ok());
    for (int step = 0; step < 4; ++step) {
      consent_wanted_ = random() % 2 == 0;
      for (int change = 0; change < 10; ++change) {
        const int id = static_cast<int>(1 + random() % 60);
        switch (random() % 6) {
          case 0: users_[id] = UserRow(id, static_cast<double>(random() % 1000) / 8); break;
          case 1: users_.erase(id); break;
          case 2: hosts_[id] = HostRow(id, 1 + id % 9, static_cast<double>(random() % 3)); break;
          case 3: hosts_.erase(id); break;
          case 4: badges_[{id, 1 + id % 2}] = testing::BadgeOf(id, 1 + id % 2); break;
          default:
            consents_.push_back(
                {{"userid", id}, {"consent_type_id", 1}, {"consent_time", 10}, {"consent_flag", 1}});
        }
      }
      const std::string next = "inc" + std::to_string(++now_);
      ASSERT_TRUE(Export(next, chain).ok());
      chain.push_back(next);
      ASSERT_NO_FATAL_FAILURE(ExpectSameAsFullExport(chain));
    }
  }
}

TEST_F(ExportIncrement, OutputsMayChangeWithTheSpecBetweenExports) {
  ASSERT_TRUE(Export("full").ok());
  const std::string all = spec_;
  spec_ = testing::SpecText("zip");
  ASSERT_TRUE(Export("zipped", {"full"}).ok());
  ExpectSameAsFullExport({"full", "zipped"});
  spec_ = all;
  ASSERT_TRUE(Export("again", {"full", "zipped"}).ok());
  ExpectSameAsFullExport({"full", "zipped", "again"});
}

TEST_F(ExportIncrement, EachExportOfAChainMustFollowThePreviousOne) {
  ASSERT_TRUE(Export("full").ok());
  ASSERT_TRUE(Export("one", {"full"}).ok());
  users_[1]["name"] = "other";
  ASSERT_TRUE(Export("two", {"full", "one"}).ok());
  EXPECT_THAT(Read({"one"}).status().message(), HasSubstr("is an incremental export that follows full"));
  EXPECT_EQ(Read({"full", "two"}).status().code(), StatusCode::kCorrupted);
  EXPECT_THAT(Read({"full", "two"}).status().message(),
              HasSubstr("follows an export with manifest checksum"));
  EXPECT_THAT(Read({"full", "full"}).status().message(), HasSubstr("cannot follow another export"));
  EXPECT_EQ(Read({"none"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Export("three", {"one"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs::exists(dir_ / "three"));
  EXPECT_FALSE(fs::exists(dir_ / "three.partial")) << "a failed export leaves nothing behind";
}

TEST_F(ExportIncrement, ADamagedFileIsNamed) {
  ASSERT_TRUE(Export("full").ok());
  std::fstream file(dir_ / "full/user.gz", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('x');
  file.close();
  for (const Status& status : {Read({"full"}).status(), Export("next", {"full"}).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kCorrupted);
    EXPECT_THAT(status.message(), HasSubstr("full/user.gz is corrupted"));
  }
}

TEST_F(ExportIncrement, RecordsThatDifferFromTheManifestAreFound) {
  spec_ = testing::SpecText("none");
  ASSERT_TRUE(Export("full").ok());
  // A forger replaces a file and its checksum. The totals of all records reveal the change.
  const auto replace_in = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::ifstream in(dir_ / name);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ASSERT_NE(text.find(from), std::string::npos) << name;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(dir_ / name, std::ios::trunc) << text;
  };
  const std::string before = DigestOf(dir_ / "full/user")->sha256;
  replace_in("full/user", "<total_credit>7.000000<", "<total_credit>8.000000<");
  replace_in("full/manifest.json", before, DigestOf(dir_ / "full/user")->sha256);
  const auto outcome = Read({"full"});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_THAT(outcome->differences,
              ::testing::ElementsAre(HasSubstr("user has 50 records with 1276.000000")));
}

TEST_F(ExportIncrement, FilesThatAreNoExportsAreRefusedWithALineNumber) {
  const std::pair<std::string, std::string> kBad[] = {
      {"", "line 1: expected the root element"},
      {"<users>\n", "line 2: expected a record <user>"},
      {"<users>\n<user>\n <id>1</id>\n", "line 4: expected the end of a record <user>"},
      {"<users>\n<user>\n <name>1</name>\n</user>\n</users>\n",
       "line 4: expected the number at the start of a record"},
      {"<users>\n<user>\n <id>x</id>\n</user>\n</users>\n", "expected the number at the start of a record"},
      {"<users>\n</users>\nmore\n", "line 3: extra text after the end"},
      {"<users>\n<host>\n</host>\n</users>\n",
       "line 2: expected a record <user> or the end of the root element"},
  };
  for (const auto& [text, expected] : kBad) {
    std::ofstream(dir_ / "user", std::ios::trunc) << text;
    const Status status =
        ReadRecords(dir_ / "user", "user", [](const RecordKey&, std::string_view) { return Status::Ok(); });
    EXPECT_EQ(status.code(), StatusCode::kCorrupted);
    EXPECT_THAT(status.message(), HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace cobblestone::statistics

// The events of an edition that a project sends to a hub.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "services/hub/collector/edition_maker.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/push/push_edition.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

namespace fs = std::filesystem;
using exports::Take;
using testing::TempDir;
using wire::FeedAccount;

// Rows in memory.
class Rows final : public exports::Source {
 public:
  [[nodiscard]] std::string Describe() const override { return "rows"; }
  [[nodiscard]] const exports::Catalogue& catalogue() const override { return catalogue_; }
  [[nodiscard]] exports::RowCounts RowsExpected() const override { return {}; }
  Status Users(const Take<exports::User>& take) override { return Each(users, take); }
  Status Teams(const Take<exports::Team>& take) override { return Each(teams, take); }
  Status Hosts(const Take<exports::Host>& take) override { return Each(hosts, take); }
  Status UsersDeleted(const Take<exports::Deleted>&) override { return Status::Ok(); }
  Status HostsDeleted(const Take<exports::Deleted>&) override { return Status::Ok(); }
  Status UserBadges(const Take<exports::BadgeHeld>&) override { return Status::Ok(); }
  Status TeamBadges(const Take<exports::BadgeHeld>&) override { return Status::Ok(); }
  Result<bool> FindUser(std::int64_t, exports::User*) override { return false; }
  Result<bool> FindTeam(std::int64_t, exports::Team*) override { return false; }
  Result<bool> FindHost(std::int64_t, exports::Host*) override { return false; }
  exports::Owner OwnerOf(std::int64_t user) override { return {.exists = true, .shows_hosts = user == 1}; }
  Status Members(std::int64_t, const Take<exports::User>&) override { return Status::Ok(); }
  Status CreditOfUser(std::int64_t, std::vector<exports::AppCredit>*) override { return Status::Ok(); }
  Status CreditOfTeam(std::int64_t, std::vector<exports::AppCredit>*) override { return Status::Ok(); }
  // User 3 has not consented, and user 2 twice within a second.
  std::uint32_t ConsentCopies(std::int64_t user) override { return user == 3 ? 0 : user == 2 ? 2 : 1; }

  std::vector<exports::User> users;
  std::vector<exports::Team> teams;
  std::vector<exports::Host> hosts;
  exports::Catalogue catalogue_;

 private:
  template <class Row>
  static Status Each(const std::vector<Row>& rows, const Take<Row>& take) {
    for (const Row& row : rows)
      if (Status s = take(row); !s.ok()) return s;
    return Status::Ok();
  }
};

exports::User UserWith(std::int64_t id, exports::MicroSum micro) {
  return {.id = id,
          .name = "u" + std::to_string(id),
          .total_credit = static_cast<double>(micro) / 1e6,
          .authenticator = "",
          .cpid = std::string(31, 'b') + std::to_string(id),
          .balance = micro};
}
exports::Host HostWith(std::int64_t id, std::int64_t user, exports::MicroSum micro) {
  return {.id = id,
          .userid = user,
          .total_credit = static_cast<double>(micro) / 1e6,
          .domain_name = "",
          .balance = micro};
}

class PushedEditionTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(dir_ / "work"); }
  // The edition's accounts; its indexes become those of the next one.
  std::vector<FeedAccount> Make(std::uint64_t edition, bool whole = false) {
    const auto made = MakePushedEdition(rows_, {.project = ProjectId(4),
                                                .edition = edition,
                                                .time = 1.7e9,
                                                .whole = whole,
                                                .indexes = dir_.path(),
                                                .work = dir_ / "work"});
    EXPECT_TRUE(made.ok()) << made.status().message();
    made_ = *made;
    std::vector<FeedAccount> accounts;
    events_.clear();
    auto file = RecordFileReader::Open(dir_ / "work/events.pb");
    std::string_view record;
    while (*file->Next(&record)) {
      auto event = wire::ParseEvent(record);
      EXPECT_TRUE(event.ok()) << event.status().message();
      EXPECT_EQ(event->head.project, ProjectId(4));
      if (auto* account = std::get_if<FeedAccount>(&event->body)) accounts.push_back(*account);
      events_.push_back(std::move(*event));
    }
    EXPECT_EQ(events_.size(), made_.events);
    for (const RecordKind kind : kRecordKinds)
      fs::rename(dir_ / ("work/" + IndexName(kind)), dir_ / IndexName(kind));
    return accounts;
  }

  const TempDir dir_;
  Rows rows_;
  PushedEdition made_;
  std::vector<wire::Event> events_;
};

TEST_F(PushedEditionTest, HasWhatFilesShowAndNothingElse) {
  rows_.catalogue_.consent_wanted = true;
  rows_.users = {UserWith(1, 1'000'001), UserWith(2, 5), UserWith(3, 7), UserWith(4, 0), UserWith(5, 9)};
  rows_.users[4].authenticator = "deleted_1";
  rows_.users[1].cpid = "not an MD5";
  rows_.hosts = {HostWith(1, 1, 3), HostWith(2, 2, 4), HostWith(3, 3, 5), HostWith(4, 0, 6)};
  rows_.hosts[0].p_vendor = std::string(5000, 'v');
  rows_.hosts[0].os_name = "Linux";
  rows_.teams = {{.id = 1, .total_credit = 1, .balance = 1'000'000}, {.id = 2}};
  const auto accounts = Make(7);
  ASSERT_EQ(accounts.size(), 5u);  // users 1 and 2, their hosts, team 1
  EXPECT_EQ(accounts[0].total_micro, 1'000'001);
  EXPECT_EQ(accounts[0].edition, 7u);
  EXPECT_EQ(accounts[0].cross_project_id, std::string(31, 'b') + "1");
  EXPECT_EQ(accounts[1].account, 2u) << "once, although a file has two records";
  EXPECT_EQ(accounts[1].cross_project_id, "") << "a file has the MD5 of nothing, which would join strangers";
  EXPECT_EQ(accounts[2].owner, 1u);
  EXPECT_EQ(accounts[2].description, std::string(1000, 'v') + " Linux");
  EXPECT_EQ(accounts[3].owner, 0u) << "user 2 does not show hosts";
  EXPECT_EQ(accounts[4].kind, wire::AccountKind::kTeam);
  ASSERT_EQ(made_.sums.size(), 3u);
  EXPECT_EQ(made_.sums[0].accounts, 2u);
  EXPECT_TRUE(made_.sums[0].total_micro == 1'000'006);
  EXPECT_TRUE(made_.whole);
  EXPECT_EQ(std::get<wire::FeedEdition>(events_.front().body).state, wire::EditionState::kBegun);
  EXPECT_EQ(std::get<wire::FeedEdition>(events_.back().body).sums, made_.sums);
}

TEST_F(PushedEditionTest, HasOnlyAccountsThatDifferAndThoseThatAreGone) {
  rows_.users = {UserWith(1, 10), UserWith(2, 20), UserWith(3, 30)};
  EXPECT_EQ(Make(1).size(), 3u);
  EXPECT_TRUE(Make(2).empty());
  EXPECT_FALSE(made_.whole);
  rows_.users[0].name = "another name";
  rows_.users[1].balance = 21;
  rows_.users.pop_back();
  const auto accounts = Make(3);
  ASSERT_EQ(accounts.size(), 3u);
  EXPECT_EQ(accounts[0].name, "another name");
  EXPECT_EQ(accounts[1].total_micro, 21);
  EXPECT_EQ(accounts[2].account, 3u);
  EXPECT_TRUE(accounts[2].gone);
  EXPECT_EQ(made_.changed, 3u);
  EXPECT_TRUE(made_.sums[0].total_micro == 31);

  fs::remove(dir_ / "host.index");
  EXPECT_EQ(Make(4).size(), 2u) << "without one index all accounts";
  EXPECT_TRUE(made_.whole);
  EXPECT_EQ(Make(5, true).size(), 2u);
}

TEST_F(PushedEditionTest, ATotalThatAnEventCannotHoldIsAnError) {
  rows_.users = {UserWith(1, exports::MicroSum{1} << 64)};
  const auto made = MakePushedEdition(rows_, {.project = ProjectId(4), .edition = 1, .work = dir_ / "work"});
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
}

TEST(FeedVersions, AreThosePublishedThatAreNotDeprecated) {
  const auto one =
      nlohmann::json::parse(R"({"app": 1, "app_name": "fold", "app_version": 2, "version_num": 100,
    "platform": "1", "plan_class": "cuda", "resource": "nvidia", "samples": 4711.0, "scale": null,
    "recent_credit": "nan", "last_credit": 5, "both_kinds": true, "deprecated": false})");
  auto old = one;
  old["deprecated"] = true;
  const wire::FeedVersions versions = FeedVersionsOf({{"as_of", 1.7e9}, {"app_versions", {one, old}}});
  EXPECT_EQ(versions.as_of, 1.7e9);
  ASSERT_EQ(versions.versions.size(), 1u);
  const wire::FeedVersion& version = versions.versions[0];
  EXPECT_EQ(version.resource, credit::Resource::kNvidia);
  EXPECT_EQ(version.samples, 4711);
  EXPECT_EQ(version.scale, 0);
  EXPECT_EQ(version.recent_credit, 0);
  EXPECT_EQ(version.recent_time, 1.7e9);
  EXPECT_TRUE(version.both_kinds);
}

}  // namespace
}  // namespace cobblestone::hub

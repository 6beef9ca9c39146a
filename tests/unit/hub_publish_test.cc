// From a hub's state to what it publishes: one moment of all slots, bounded memory, keys that are the same at all hubs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "common/stream/hash128.h"
#include "common/stream/state_codec.h"
#include "services/feeds/feeds_stage.h"
#include "services/hub/publish/hub_accounts.h"
#include "services/hub/publish/hub_reader.h"
#include "services/hub/publish/project_key.h"
#include "services/hub/publish/snapshot_job.h"
#include "services/hub/publish/spill_sort.h"
#include "services/identity/identity_rows.h"
#include "services/members/member_rows.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

// ---- Sorting ------------------------------------------------------------------------------------------------------

std::vector<std::string> ReadAll(const SortedRecords& records) {
  std::vector<std::string> all;
  auto reader = records.Read();
  for (auto has = reader.Next(); has.ok() && *has; has = reader.Next())
    all.push_back(std::string(reader.key()) + "=" + std::string(reader.value()));
  return all;
}

// 40 bytes of records at a time: each record of 3 bytes and its entry fill a run of their own.
TEST(SpillSort, MergesItsRunsAndCanBeReadTwice) {
  const TempDir dir;
  SpillSort sort(dir.path(), 40);
  for (const char* key : {"dd", "a", "ccc", "a", "b"}) ASSERT_TRUE(sort.Add(key, "1").ok());
  ASSERT_TRUE(sort.Add("a", "0").ok());
  const auto sorted = sort.Finish();
  ASSERT_TRUE(sorted.ok());
  EXPECT_EQ(sorted->size(), 6u);
  const auto expected = ElementsAre("a=0", "a=1", "a=1", "b=1", "ccc=1", "dd=1");
  EXPECT_THAT(ReadAll(*sorted), expected);
  EXPECT_THAT(ReadAll(*sorted), expected);
  EXPECT_THAT(
      std::vector<std::filesystem::directory_entry>(std::filesystem::directory_iterator(dir.path()), {}),
      IsEmpty())
      << "the file has no name";
}

TEST(SpillSort, KeepsRecordsThatAreLongerThanItsBuffers) {
  const TempDir dir;
  SpillSort sort(dir.path(), 1000);
  const std::string large(300'000, 'x');
  for (const char* key : {"2", "1", "3"}) ASSERT_TRUE(sort.Add(key, key + large).ok());
  const auto sorted = sort.Finish();
  ASSERT_TRUE(sorted.ok());
  EXPECT_THAT(ReadAll(*sorted), ElementsAre("1=1" + large, "2=2" + large, "3=3" + large));
}

TEST(SpillSort, OfNothingIsEmpty) {
  const TempDir dir;
  const auto sorted = SpillSort(dir.path()).Finish();
  ASSERT_TRUE(sorted.ok());
  EXPECT_THAT(ReadAll(*sorted), IsEmpty());
}

// ---- Keys ---------------------------------------------------------------------------------------------------------

TEST(ProjectKey, IsTheSameAtAllHubs) {
  EXPECT_EQ(ProjectKeyOf("https://www.Rosewood.example/boinc/", "Rosewood"), "rosewood-example-boinc");
  EXPECT_EQ(ProjectKeyOf("http://rosewood.example/boinc", "Another name"), "rosewood-example-boinc");
  EXPECT_EQ(ProjectKeyOf("", "Élm & Oak"), "lm-oak");
  EXPECT_EQ(ProjectKeyOf("", "木"), "project");
  // sha256("a-very-long-name-of-a-project-that-has-50-characters")[:8]
  const std::string text = "a-very-long-name-of-a-project-that-has-50-characters";
  const std::string key = ProjectKeyOf("", text);
  EXPECT_EQ(key.size(), 40u);
  EXPECT_THAT(key, ::testing::StartsWith("a-very-long-name-of-a-project-t-"));
  EXPECT_NE(key, ProjectKeyOf("", text + "2"));
}

TEST(ProjectKey, OfTwoProjectsWithOneUrlIsTheFirstOnes) {
  EXPECT_EQ(UniqueKey("elm", {}), "elm");
  EXPECT_EQ(UniqueKey("elm", {"elm", "elm-2"}), "elm-3");
  const std::string longest(40, 'x');
  EXPECT_EQ(UniqueKey(longest, {longest}), std::string(38, 'x') + "-2");
}

// ---- One moment ---------------------------------------------------------------------------------------------------

class FakeRows final : public view::Rows {
 public:
  template <class Value>
  void Put(const stream::TableSpec<Value>& table, const stream::Key& key, const Value& value) {
    std::string bytes;
    stream::EncodeRow(table, value, bytes);
    rows_[{table.id, key}] = bytes;
  }

  Result<stream::SlotMeta> Meta() const override { return stream::SlotMeta(); }
  Status Get(std::uint8_t table, const stream::Key& key, std::string* value) const override {
    const auto row = rows_.find({table, key});
    if (row == rows_.end()) return Status::NotFound("no such row");
    *value = row->second;
    return Status::Ok();
  }
  Status Scan(std::uint8_t table, const Visit& visit) const override {
    for (const auto& [place, value] : rows_)
      if (place.first == table)
        if (Status s = visit(place.second, value); !s.ok()) return s;
    return Status::Ok();
  }

 private:
  std::map<std::pair<std::uint8_t, stream::Key>, std::string> rows_;
};

constexpr double kNow = 1'790'000'000;
constexpr std::uint32_t kPartitions = 2;

// A hub with one project, edition 1 of which is complete behind one watermark.
class FakeHub final : public view::State {
 public:
  FakeHub() {
    SetProject({.project_stamp = {.id = 1, .time = kNow},
                .project = {.name = "Elm", .mode = wire::FeedMode::kFiles},
                .complete = 1});
    feeds_->Put(feeds::kEditionsTable, feeds::EditionKey(ProjectId(4), 1),
                feeds::EditionRow{.ended = {.id = 3, .time = kNow}});
    feeds_->Put(feeds::kFactorsStateTable, {}, feeds::FactorsState{.tick = kNow});
    SetSent(1);
    for (std::uint32_t k = 0; k < kPartitions; ++k) SetPassed(k, 1);
  }
  void SetProject(const feeds::ProjectRow& row) {
    feeds_->Put(feeds::kProjectsTable, feeds::ProjectKey(ProjectId(4)), row);
  }
  void SetSent(std::uint64_t watermarks) {
    feeds_->Put(feeds::kRelayTable, {}, stage::RelayState{.number = watermarks, .watermarks = watermarks});
  }
  void SetPassed(std::uint32_t partition, std::uint64_t watermarks) {
    members_[partition]->Put(members::kWatermarksTable, {}, stream::WatermarkProgress{.passed = watermarks});
  }
  void SetUser(std::uint32_t partition, std::uint64_t id, std::uint64_t edition,
               std::optional<std::uint64_t> before) {
    members::MemberRow row{
        .stamp = {.id = 1, .time = kNow},
        .now = {.edition = edition, .total_micro = static_cast<std::int64_t>(edition) * 10}};
    if (before)
      row.before =
          wire::FeedAccount{.edition = *before, .total_micro = static_cast<std::int64_t>(*before) * 10};
    members_[partition]->Put(members::kUsersTable, {.project = 4, .id = id, .sub = 0}, row);
  }

  [[nodiscard]] std::uint32_t partitions() const override { return kPartitions; }
  Result<std::shared_ptr<const view::Rows>> Of(view::Stage stage, std::uint32_t partition) override {
    if (stage == view::Stage::kCoordinator) return std::shared_ptr<const view::Rows>(feeds_);
    return std::shared_ptr<const view::Rows>(members_[partition]);
  }
  [[nodiscard]] std::vector<stream::TopicPartition> InputsOf(view::Stage, std::uint32_t) const override {
    return {};
  }

 private:
  std::shared_ptr<FakeRows> feeds_ = std::make_shared<FakeRows>();
  std::vector<std::shared_ptr<FakeRows>> members_{std::make_shared<FakeRows>(), std::make_shared<FakeRows>()};
};

// "id:credit" of all users, in order.
Result<std::vector<std::string>> UsersOf(FakeHub& hub) {
  const TempDir dir;
  const auto reader = HubReader::Open(hub);
  if (!reader.ok()) return reader.status();
  const auto accounts = SortAccounts(**reader, dir.path());
  if (!accounts.ok()) return accounts.status();
  std::vector<std::string> users;
  AccountReader read(accounts->users);
  for (auto has = read.Next(0); has.ok() && *has; has = read.Next(0))
    users.push_back(std::to_string(read.account().account.account) + ":" +
                    std::to_string(read.account().account.total_micro));
  return users;
}

// User 1 has not changed, 2 has with an edition that is arriving, 3 is new in it.
TEST(HubReader, ShowsTheLastCompleteEditionOfAllPartitionsInTheOrderOfIds) {
  FakeHub hub;
  hub.SetUser(1, 1, 1, {});
  hub.SetUser(0, 2, 2, 1);
  hub.SetUser(1, 3, 2, {});
  hub.SetUser(0, 300, 1, {});
  const auto users = UsersOf(hub);
  ASSERT_TRUE(users.ok()) << users.status().message();
  EXPECT_THAT(*users, ElementsAre("1:10", "2:10", "300:10"));
}

// FEEDS has edition 1 as complete, but the second partition has not read all of its accounts.
TEST(HubReader, DoesNotReadAPartitionThatIsBehind) {
  FakeHub hub;
  hub.SetUser(0, 2, 1, {});
  hub.SetPassed(1, 0);
  EXPECT_EQ(UsersOf(hub).status().code(), StatusCode::kRetry);
  hub.SetPassed(1, 2);  // ahead
  EXPECT_TRUE(UsersOf(hub).ok());
}

// Editions 2 and 3 have come since FEEDS was read, and both changed the account: its state of edition 1 is gone.
TEST(HubReader, NoticesThatTwoEditionsHaveComeDuringTheRead) {
  FakeHub hub;
  hub.SetUser(0, 1, 3, 1);  // not changed by edition 2
  EXPECT_TRUE(UsersOf(hub).ok());
  hub.SetUser(0, 2, 3, 2);
  const auto users = UsersOf(hub);
  EXPECT_EQ(users.status().code(), StatusCode::kRetry);
  EXPECT_THAT(users.status().message(), HasSubstr("project elm"));
}

struct OptionalAccount {
  std::optional<wire::FeedAccount> account;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.account);
  }
};

// Rows that are on disks, and fingerprints of commits that are in logs, were made of an optional account.
TEST(EarlierAccount, HasTheBytesAndTheFingerprintOfAnOptionalAccount) {
  const wire::FeedAccount ann{.edition = 7, .total_micro = 12, .name = "Ann"};
  for (const bool there : {false, true}) {
    const OptionalAccount before{there ? std::optional(ann) : std::nullopt};
    const auto now = there ? members::EarlierAccount(ann) : members::EarlierAccount();
    std::string bytes;
    stream::EncodeState(before, bytes);
    std::string same;
    stream::EncodeState(now, same);
    EXPECT_EQ(same, bytes);
    stream::Hasher of_before;
    stream::FingerprintWriter<stream::Hasher>(of_before).Put(before);
    stream::Hasher of_now;
    stream::FingerprintWriter<stream::Hasher>(of_now).Put(now);
    EXPECT_EQ(of_now.Digest(), of_before.Digest());

    members::EarlierAccount read(wire::FeedAccount{.name = "of another row"});
    stream::StateReader reader(bytes);
    reader.Get(read);
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(static_cast<bool>(read), there);
    if (there) {
      EXPECT_EQ(*read, ann);
    }
  }
}

TEST(HubReader, NeedsTheTimeOfTheHub) {
  FakeHub hub;
  EXPECT_EQ(DateOf((*HubReader::Open(hub))->time()), "2026-09-21");
  class NoTime final : public view::State {
   public:
    [[nodiscard]] std::uint32_t partitions() const override { return 0; }
    Result<std::shared_ptr<const view::Rows>> Of(view::Stage, std::uint32_t) override {
      return std::shared_ptr<const view::Rows>(std::make_shared<FakeRows>());
    }
    [[nodiscard]] std::vector<stream::TopicPartition> InputsOf(view::Stage, std::uint32_t) const override {
      return {};
    }
  } no_time;
  EXPECT_THAT(HubReader::Open(no_time).status().message(), HasSubstr("ticks: wall"));
}

}  // namespace
}  // namespace cobblestone::hub

// From files to the events of an edition: texts of every charset, and only what changed.
#include "services/hub/collector/edition_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/events/event_check.h"
#include "common/wire/events/event_codec.h"
#include "common/wire/events/text_limits.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/collector/record_index.h"
#include "services/hub/collector/replace_file.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::hub {
namespace {

using ::testing::HasSubstr;

std::string User(int id, const std::string& name, const std::string& total, int create_time = 1003711477,
                 const std::string& cpid = "e6548b6c3d364685ae9221e0abe10098") {
  return "<user>\n <id>" + std::to_string(id) + "</id>\n <name>" + name + "</name>\n <create_time>" +
         std::to_string(create_time) + "</create_time>\n <total_credit>" + total +
         "</total_credit>\n <expavg_credit>0.5</expavg_credit>\n <expavg_time>1789999999.0</expavg_time>\n"
         " <cpid>" +
         cpid + "</cpid>\n <country>France</country>\n</user>\n";
}

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class EditionMaker : public ::testing::Test {
 protected:
  // The accounts that the edition of these users sends, by id.
  std::map<std::uint64_t, wire::FeedAccount> Make(std::uint64_t edition, const std::string& users,
                                                  std::uint64_t count, const std::string& sum) {
    const auto made = Try(edition, {users}, count, sum);
    EXPECT_TRUE(made.accepted) << made.reason;
    memory_ = made.memory;
    std::filesystem::rename(dir_ / "work/user.index", dir_ / "user.index");
    return Accounts();
  }
  // An edition of a set of files with these users.
  MadeEdition Try(std::uint64_t edition, const std::vector<std::string>& files, std::uint64_t count,
                  const std::string& sum) {
    TablesFile tables{.update_time = 1790000000 + edition, .users = count, .hosts = host_count_};
    CreditFigure total;
    EXPECT_EQ(ParseCredit(sum, Sign::kNotNegative, &total), FileProblem::kNone);
    tables.total_credit = total;
    std::filesystem::create_directories(dir_ / "work");
    EditionRequest request{.project = ProjectId(4),
                           .edition = edition,
                           .fetched = 1.79e9 + 3600,
                           .tables_before = tables,
                           .tables_after = tables,
                           .memory = memory_,
                           .indexes = dir_.path(),
                           .work = dir_ / "work"};
    for (std::size_t n = 0; n < files.size(); ++n) {
      request.files[0].push_back(dir_ / ("user_" + std::to_string(n) + ".xml"));
      std::ofstream(request.files[0].back(), std::ios::binary) << "<users>\n" + files[n] + "</users>\n";
    }
    if (!hosts_.empty()) {
      request.files[1] = {dir_ / "host.xml"};
      std::ofstream(dir_ / "host.xml", std::ios::binary) << "<hosts>\n" + hosts_ + "</hosts>\n";
    }
    const auto made = MakeEdition(request);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *made;
  }

  std::string hosts_;  // empty: no file
  std::uint64_t host_count_ = 1;
  testing::TempDir dir_;

 private:
  std::map<std::uint64_t, wire::FeedAccount> Accounts() {
    std::map<std::uint64_t, wire::FeedAccount> accounts;
    auto file = RecordFileReader::Open(dir_ / "work/events.pb");
    EXPECT_TRUE(file.ok());
    std::string_view record;
    for (auto found = file->Next(&record); found.ok() && *found; found = file->Next(&record)) {
      const auto event = wire::ParseEvent(record);
      EXPECT_TRUE(event.ok());
      const auto refusal = wire::CheckEvent(*event);
      EXPECT_FALSE(refusal) << refusal->detail
                            << ": the hub would refuse the event, and the edition would lack the account";
      if (const auto* account = std::get_if<wire::FeedAccount>(&event->body))
        accounts[account->account] = *account;
    }
    return accounts;
  }

  std::array<KindMemory, kRecordKinds.size()> memory_{};
};

// The charset is known only at the end of the file: one text in it is no UTF-8, so every byte is a character of Latin-1.
TEST_F(EditionMaker, ReadsTextsInTheCharsetOfTheWholeFile) {
  const auto latin1 =
      Make(1, User(1, "Jos\xe9 L", "1.0") + User(2, "Ann &amp; Bo", "2.0") + User(3, "Cem", "3.0"), 3, "6.0");
  ASSERT_EQ(latin1.size(), 3u);
  EXPECT_EQ(latin1.at(1).name, "Jos\xc3\xa9 L");
  EXPECT_EQ(latin1.at(2).name, "Ann & Bo");
  EXPECT_EQ(latin1.at(3).name, "Cem");
  EXPECT_EQ(latin1.at(3).country, "France");
}

TEST_F(EditionMaker, ReadsTextsOfUtf8) {
  const auto utf8 = Make(1, User(1, "Zo&#195;&#169;", "1.0") + User(2, "Zo\xc3\xa9 2", "2.0"), 2, "3.0");
  ASSERT_EQ(utf8.size(), 2u);
  EXPECT_EQ(utf8.at(1).name, "Zo\xc3\xa9");
  EXPECT_EQ(utf8.at(2).name, "Zo\xc3\xa9 2");
}

TEST_F(EditionMaker, SendsOnlyWhatChanged) {
  Make(1, User(1, "Ann", "1.0") + User(2, "Bo", "2000.0") + User(3, "Cem", "3.0"), 3, "2004.0");
  std::string many;
  for (int id = 4; id < 60; ++id) many += User(id, "U", "1.0");
  Make(2, User(1, "Ann", "1.0") + User(2, "Bo", "2000.0") + User(3, "Cem", "3.0") + many, 59, "2060.0");
  // User 1 earned 0.5, user 3 left.
  const auto third = Make(3, User(1, "Ann", "1.5") + User(2, "Bo", "2000.0") + many, 58, "2057.5");
  ASSERT_EQ(third.size(), 2u);
  EXPECT_EQ(third.at(1).total_micro, 1'500'000);
  EXPECT_EQ(third.at(1).edition, 3u);
  EXPECT_FALSE(third.at(1).gone);
  EXPECT_TRUE(third.at(3).gone);
}

TEST_F(EditionMaker, CountsAnIdInTwoFilesOfASetOnce) {
  const std::string both = User(2, "Bo", "20.0");
  const MadeEdition made = Try(1, {User(1, "Ann", "1.0") + both, both + User(3, "Cem", "3.0")}, 3, "24.0");
  EXPECT_TRUE(made.accepted) << made.reason;
  EXPECT_EQ(made.sums[0].accounts, 3u);
  EXPECT_EQ(static_cast<std::int64_t>(made.sums[0].total_micro), 24'000'000);
}

// The hub would refuse the event, and the edition would lack the account.
// Between the two records of an id are others, or the end of a file: the reader alone sees two records in a row only.
TEST_F(EditionMaker, HoldsTwoRecordsOfOneIdThatDiffer) {
  const std::string ann = User(1, "Ann", "1.0");
  const std::string bo = User(2, "Bo", "2.0");
  EXPECT_TRUE(Try(1, {ann + bo + ann}, 2, "3.0").accepted) << "the same record twice is one";
  const MadeEdition other = Try(1, {ann + bo + User(1, "Ann", "9.0")}, 2, "3.0");
  EXPECT_FALSE(other.accepted) << "either 1 or 9 is wrong";
  EXPECT_EQ(other.reason, "user_0.xml:22: one id has two records with different contents (id 1)");
  EXPECT_TRUE(other.refused[0]);
  EXPECT_FALSE(other.confirmable);
  EXPECT_EQ(
      other.next_step,
      "Ask the project which of the two records is right. Nobody can accept a file that cannot be read: the "
      "collector fetches it again until the project has repaired it.");
  const MadeEdition in_a_set = Try(1, {ann + bo, User(3, "Cem", "3.0") + User(2, "Bo", "2.5")}, 3, "6.0");
  EXPECT_EQ(in_a_set.reason, "user_1.xml:12: one id has two records with different contents (id 2)");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "work/user.repeated"));
}

TEST_F(EditionMaker, CutsATextThatAnEventCannotHave) {
  std::string longer(wire::kMaxName - 1, 'x');
  const auto made =
      Make(1, User(1, longer + "yz", "1.0") + User(2, longer + "&#195;&#169;", "2.0"), 2, "3.0");
  EXPECT_EQ(made.at(1).name, longer + "y");
  EXPECT_EQ(made.at(2).name, longer) << "no half character";
}

TEST_F(EditionMaker, SendsNoEventThatTheHubRefusesWhateverTheFileSays) {
  const std::string url = "<url>" + std::string(200000, 'u') + "</url>";
  std::string user =
      "<user><id>9223372036854775807</id>\n<name>" + std::string(5000, '\xe9') + "</name><country>" +
      std::string(5000, '\x01') + "</country><create_time>100000000000</create_time>\n" +
      "<total_credit>9223372036854.775807</total_credit><expavg_credit>-9223372036854.775807</expavg_credit>\n" +
      "<expavg_time>100000000000</expavg_time><cpid>" + std::string(5000, 'f') + "</cpid>" + url +
      "<teamid>18446744073709551615</teamid>\n</user>\n";
  const auto made = Make(1, user, 1, "9223372036854.775807");
  EXPECT_EQ(made.begin()->second.name.size(), wire::kMaxName);
  EXPECT_EQ(made.begin()->second.team, 0u);
}

TEST_F(EditionMaker, DatesAnAverageNoLaterThanItsFile) {
  std::string user = User(1, "Ann", "1.0");
  user.replace(user.find("1789999999.0"), 12, "90000000000");
  EXPECT_EQ(Make(1, user, 1, "1.0").at(1).recent_time, 1.79e9 + 3600);
}

std::string TwentyUsers(int first_id, int credit_of_first) {
  std::string users;
  for (int n = 0; n < 20; ++n)
    users += User(first_id + n, "U" + std::to_string(n), std::to_string(credit_of_first * (n + 1)) + ".0");
  return users;
}

TEST_F(EditionMaker, HoldsIdsThatMovedAndTotalsThatWereMultiplied) {
  Make(1, TwentyUsers(1, 100), 20, "21000.0");
  EXPECT_NE(Try(2, {TwentyUsers(2, 100)}, 20, "21000.0").reason.find("19 of 19 users have less credit"),
            std::string::npos);
  EXPECT_NE(Try(3, {TwentyUsers(1, 1000)}, 20, "210000.0").reason.find("20 of 20 users have at least twice"),
            std::string::npos);
  EXPECT_TRUE(Try(4, {TwentyUsers(1, 110)}, 20, "23100.0").accepted);
}

// In a file sorted by credit each neighbour has a little more or less, so the figures alone show nothing: `first_id` moved up
// gives less than 2 % of the total away, moved down everybody but one gains.
TEST_F(EditionMaker, HoldsAFileSortedByCreditWhoseIdsMovedByOne) {
  const auto sorted = [](int first_id) {
    std::string users;
    for (int n = 0; n < 100; ++n)
      users += User(first_id + n, "U" + std::to_string(n), std::to_string(10000 + n) + ".0",
                    1003711477 + 86400 * n);
    return users;
  };
  Make(1, sorted(2), 100, "1004950.0");
  for (const int first_id : {1, 3}) {
    const MadeEdition moved = Try(2, {sorted(first_id)}, 100, "1004950.0");
    EXPECT_FALSE(moved.accepted);
    EXPECT_EQ(moved.reason,
              "users: 99 of 99 users have another create_time than in the last file: ids that moved, or the "
              "file of another project");
  }
  EXPECT_TRUE(Try(3, {sorted(2)}, 100, "1004950.0").accepted);
}

// Every figure but the cross-project ids is as in the last file: each user has that of the next one, all have the same, or
// nobody has one. One user in a hundred gets another one every day.
TEST_F(EditionMaker, HoldsAFileWhoseCrossProjectIdsAreThoseOfOtherUsers) {
  const auto users = [](const std::function<std::string(int)>& cpid) {
    std::string text;
    for (int n = 0; n < 100; ++n)
      text += User(1 + n, "U" + std::to_string(n), std::to_string(1000 + n) + ".0", 1003711477 + n, cpid(n));
    return text;
  };
  const auto own = [](int n) { return "e6548b6c3d364685ae9221e0abe1" + std::to_string(1000 + n); };
  Make(1, users(own), 100, "104950.0");
  for (const auto& cpid : std::vector<std::function<std::string(int)>>{
           [&](int n) { return own(n + 1); }, [&](int) { return own(7); }, [](int) { return ""; }}) {
    const MadeEdition moved = Try(2, {users(cpid)}, 100, "104950.0");
    EXPECT_FALSE(moved.accepted);
    EXPECT_THAT(moved.reason,
                HasSubstr("of 100 users have another cross-project id than in the last file, or "
                          "none: ids that moved to other users"));
  }
  EXPECT_TRUE(Try(3, {users([&](int n) { return own(n < 40 ? 500 + n : n); })}, 100, "104950.0").accepted);
}

// The next file is compared with the marks of records that no file has changed since.
TEST_F(EditionMaker, RemembersTheMarksOfUnchangedRecords) {
  const auto users = [](int created, const std::string& first) {
    std::string text = User(1, first, "500.0", 1003711477 + created);
    for (int n = 1; n < 20; ++n)
      text += User(1 + n, "U" + std::to_string(n), "500.0", 1003711477 + n + created);
    return text;
  };
  Make(1, users(0, "Ann"), 20, "10000.0");
  EXPECT_EQ(Make(2, users(0, "Bob"), 20, "10000.0").size(), 1u);
  EXPECT_THAT(Try(3, {users(86400, "Bob")}, 20, "10000.0").reason,
              HasSubstr("20 of 20 users have another create_time"));
}

TEST_F(EditionMaker, HoldsAFileWithoutCreationTimes) {
  Make(1, TwentyUsers(1, 100), 20, "21000.0");
  std::string without = TwentyUsers(1, 100);
  const std::string element = " <create_time>1003711477</create_time>\n";
  for (auto at = without.find(element); at != std::string::npos; at = without.find(element))
    without.erase(at, element.size());
  const MadeEdition made = Try(2, {without}, 20, "21000.0");
  EXPECT_FALSE(made.accepted);
  EXPECT_THAT(made.reason, HasSubstr("20 of 20 users have another create_time than in the last file"));
}

// One volunteer may hide many computers: their owner and cross-project ids go, and others keep theirs.
TEST_F(EditionMaker, AcceptsComputersWhoseOwnerHidesThem) {
  const auto hosts = [](const std::string& owner) {
    std::string text;
    for (int n = 0; n < 20; ++n)
      text += "<host>\n <id>" + std::to_string(n + 1) + "</id>\n" + owner + " <total_credit>" +
              std::to_string(100 + n) + ".0</total_credit>\n</host>\n";
    return text;
  };
  host_count_ = 20;
  hosts_ = hosts(" <userid>7</userid>\n <host_cpid>e6548b6c3d364685ae9221e0abe10098</host_cpid>\n");
  Make(1, User(7, "Ann", "1.0"), 1, "1.0");
  std::filesystem::rename(dir_ / "work/host.index", dir_ / "host.index");
  hosts_ = hosts("");
  EXPECT_TRUE(Try(2, {User(7, "Ann", "1.0")}, 1, "1.0").accepted);
  hosts_ = hosts(" <userid>8</userid>\n <host_cpid>e6548b6c3d364685ae9221e0abe10098</host_cpid>\n");
  EXPECT_THAT(Try(3, {User(7, "Ann", "1.0")}, 1, "1.0").reason,
              HasSubstr("20 of 20 hosts have another userid"));
}

// The ids, names and creation times stay, and each account has the credit of the one above or below it.
TEST_F(EditionMaker, HoldsAFileWhoseCreditColumnMovedByOne) {
  const auto sorted = [](int from) {
    std::string users;
    for (int n = 0; n < 100; ++n)
      users += User(1 + n, "U" + std::to_string(n), std::to_string(10000 + from + n) + ".0");
    return users;
  };
  Make(1, sorted(0), 100, "1004950.0");
  for (const int by : {-1, 1}) {
    const std::string sum = std::to_string(1004950 + 100 * by) + ".0";
    const MadeEdition moved = Try(2, {sorted(by)}, 100, sum);
    EXPECT_FALSE(moved.accepted);
    EXPECT_EQ(
        moved.reason,
        "users: 99.0 % of the users whose credit changed have exactly the credit that another one had in the "
        "last file: credit that moved to other accounts");
    EXPECT_FALSE(moved.confirmable);
  }
}

// The first edition with hosts is sent whole; its users are compared with those of the edition before.
TEST_F(EditionMaker, ComparesUsersAlsoWhenHostsAppear) {
  Make(1, TwentyUsers(1, 100), 20, "21000.0");
  hosts_ = "<host>\n<id>1</id>\n<userid>1</userid>\n<total_credit>1.0</total_credit>\n</host>\n";
  EXPECT_NE(Try(2, {TwentyUsers(2, 100)}, 20, "21000.0").reason.find("19 of 19 users have less credit"),
            std::string::npos);
  const auto whole = Make(3, TwentyUsers(1, 100), 20, "21000.0");
  EXPECT_EQ(whole.size(), 20u) << "host 1 has the number of a user";
}

TEST(ReplaceFile, KeepsTheOldContentsIfTheNewOnesCannotBeWritten) {
  const testing::TempDir dir;
  const std::string path = dir / "state.json";
  ASSERT_TRUE(ReplaceFile(path, "old").ok());
  std::filesystem::create_directory(path + ".new");  // cannot be opened for writing
  EXPECT_EQ(ReplaceFile(path, "new").code(), StatusCode::kFatal);
  EXPECT_EQ(ContentsOf(path), "old");
  std::filesystem::remove(path + ".new");
  ASSERT_TRUE(ReplaceFile(path, "new").ok());
  EXPECT_EQ(ContentsOf(path), "new");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// Block sizes are 256 KiB; records lie across their borders, and one is longer than a block.
TEST(RecordFile, GivesTheRecordsBackInTheirOrder) {
  const testing::TempDir dir;
  std::vector<std::string> records;
  for (std::size_t i = 0; i < 3000; ++i) records.emplace_back(i % 7 == 0 ? i : i % 300, static_cast<char>(i));
  records.emplace_back(700000, 'x');
  records.emplace_back("last");
  auto file = RecordFile::Create(dir / "records");
  ASSERT_TRUE(file.ok());
  for (const std::string& record : records) file->Add(record);
  EXPECT_EQ(file->count(), records.size());
  ASSERT_TRUE(file->Finish().ok());
  auto reader = RecordFileReader::Open(dir / "records");
  ASSERT_TRUE(reader.ok());
  std::string_view record;
  for (const std::string& wanted : records) {
    ASSERT_TRUE(*reader->Next(&record));
    ASSERT_EQ(record, wanted);
  }
  EXPECT_FALSE(*reader->Next(&record));
}

TEST(RecordFile, ThatEndsWithinARecordIsCorrupted) {
  const testing::TempDir dir;
  auto file = RecordFile::Create(dir / "records");
  file->Add(std::string(200, 'x'));
  ASSERT_TRUE(file->FinishTemporary().ok());
  for (const std::uintmax_t size : {201, 2, 1}) {
    std::filesystem::resize_file(dir / "records", size);
    std::string_view record;
    EXPECT_EQ(RecordFileReader::Open(dir / "records")->Next(&record).status().code(), StatusCode::kCorrupted)
        << size;
  }
}

// More records than are written at a time, in two orders.
TEST(RecordIndexFile, IsTheSameForRecordsInAnyOrder) {
  const testing::TempDir dir;
  constexpr std::uint64_t kCount = 20000;
  auto ascending = RecordIndexWriter::Create(dir / "ascending");
  auto mixed = RecordIndexWriter::Create(dir / "mixed");
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::uint64_t other = i * 7919 % kCount;
    ascending->Add({.id = i + 1, .hash = 3 * i, .total_micro = 5});
    mixed->Add({.id = other + 1, .hash = 3 * other, .total_micro = 5});
  }
  ASSERT_TRUE(ascending->Finish().ok() && mixed->Finish().ok());
  EXPECT_EQ(ContentsOf(dir / "mixed"), ContentsOf(dir / "ascending"));
  auto index = RecordIndex::Open(dir / "ascending");
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->size(), kCount);
  EXPECT_EQ(index->Find(kCount)->hash, 3 * (kCount - 1));
}

TEST(RecordIndexFile, ThatIsMissingOrDamagedIsNone) {
  const testing::TempDir dir;
  const std::string path = dir / "user.index";
  auto missing = RecordIndex::OpenIntact(path);
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->has_value());
  auto writer = RecordIndexWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  writer->Add({.id = 7, .hash = 1, .total_micro = 1'000'000});
  ASSERT_TRUE(writer->Finish().ok());
  auto intact = RecordIndex::OpenIntact(path);
  ASSERT_TRUE(intact.ok() && intact->has_value());
  EXPECT_EQ((*intact)->size(), 1u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  auto damaged = RecordIndex::OpenIntact(path);
  ASSERT_TRUE(damaged.ok());
  EXPECT_FALSE(damaged->has_value());
}

}  // namespace
}  // namespace cobblestone::hub

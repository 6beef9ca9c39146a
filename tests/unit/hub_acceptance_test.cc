// When a statistics file takes effect, and when it waits for a second fetch or for an operator.
#include "services/hub/feeds/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace cobblestone::hub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kCredit = 1000000;  // a Cobblestone in micro-credits
constexpr std::uint64_t kMonday = 1790000000;
constexpr std::uint64_t kDaySeconds = 86400;

// A project with 1,000 users of 1,000 Cobblestones each, fetched an hour after its export of Monday.
struct Project {
  AcceptedFile last{.summary = Summary(1000, 1000000, 1), .update_time = kMonday, .announced = 1000};
  FetchedFile file = Fetch(1000, 1000500, 2);

  static FileSummary Summary(std::uint64_t users, std::int64_t total, std::uint64_t contents) {
    return {.kind = RecordKind::kUser,
            .records = users,
            .total_credit = total * kCredit,
            .contents = {.low = contents, .high = 0}};
  }
  // Tuesday's export.
  static FetchedFile Fetch(std::uint64_t users, std::int64_t total, std::uint64_t contents) {
    const TablesFile tables{.update_time = kMonday + kDaySeconds,
                            .users = users,
                            .total_credit = CreditFigure{total * kCredit, 6}};
    return {.summary = Summary(users, total, contents),
            .tables_before = tables,
            .tables_after = tables,
            .changes = RecordChanges{},
            .fetched = static_cast<double>(kMonday + kDaySeconds + 3600)};
  }
  void SetTables(const TablesFile& tables) { file.tables_before = file.tables_after = tables; }
  // The file has these totals, after those of the last one.
  void SetTotals(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& now) {
    const auto sum = [](const std::vector<std::int64_t>& totals) {
      return std::accumulate(totals.begin(), totals.end(), std::int64_t{0});
    };
    last.summary.total_credit = sum(before);
    file.summary.total_credit = sum(now);
    TablesFile tables = *file.tables_before;
    tables.total_credit = CreditFigure{sum(now), 6};
    SetTables(tables);
    file.changes.emplace();
    for (std::size_t i = 0; i < now.size(); ++i) file.changes->Note(i + 1, before[i], now[i]);
    if (file.changes->ManyChanged({}))
      for (const std::int64_t total : before) file.changes->totals.NoteOld(total);
  }
  [[nodiscard]] Judgement Judge(const HeldFetch* held = nullptr,
                                const stream::Hash128* released = nullptr) const {
    return JudgeFile(file, &last, held, released, {});
  }
  [[nodiscard]] std::vector<HoldReason> Reasons() const {
    std::vector<HoldReason> reasons;
    for (const Hold& hold : Judge().holds) reasons.push_back(hold.reason);
    return reasons;
  }
};

TEST(Acceptance, AnOrdinaryDayIsAccepted) {
  const Project project;
  EXPECT_TRUE(project.Judge().accepted);
  EXPECT_THAT(project.Judge().holds, IsEmpty());
}

TEST(Acceptance, TheFirstFileIsComparedWithTablesXmlAlone) {
  Project project;
  project.file.changes.reset();
  EXPECT_TRUE(JudgeFile(project.file, nullptr, nullptr, nullptr, {}).accepted);
  project.file.tables_before->users = project.file.tables_after->users = 999;
  EXPECT_FALSE(JudgeFile(project.file, nullptr, nullptr, nullptr, {}).accepted);
}

TEST(Acceptance, AnEmptyFileIsNeverATotalOfZero) {
  Project project;
  project.file = Project::Fetch(0, 0, 3);
  project.file.tables_before->users = project.file.tables_after->users = std::nullopt;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kEmpty));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("the file has no user; the last one had 1000"));
  // A second fetch that is empty too proves nothing.
  const HeldFetch held{.contents = project.file.summary.contents, .fetched = project.file.fetched - 86400};
  EXPECT_FALSE(project.Judge(&held).accepted);
  // A project without any user from its beginning.
  project.file.changes.reset();
  EXPECT_TRUE(JudgeFile(project.file, nullptr, nullptr, nullptr, {}).accepted);
}

TEST(Acceptance, MoreThanOneInTwentyMissingWaitsForAnOperator) {
  Project project;
  project.file.changes->missing = 50;
  EXPECT_TRUE(project.Judge().accepted);
  project.file.changes->missing = 51;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kDisappeared));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("51 of 1000 users are missing (5.1 %; the limit is 5.0 %)"));
  const HeldFetch held{.contents = project.file.summary.contents, .fetched = project.file.fetched - 86400};
  EXPECT_FALSE(project.Judge(&held).accepted);
  const stream::Hash128 released = project.file.summary.contents;
  EXPECT_TRUE(project.Judge(nullptr, &released).accepted);
  EXPECT_TRUE(project.Judge(nullptr, &released).released);
  const stream::Hash128 other{.low = 99};
  EXPECT_FALSE(project.Judge(nullptr, &other).accepted);
}

// 940 users of 1,000 Cobblestones are shown, tables.xml still announces 1,000: what a change of consent looks like.
TEST(Acceptance, AChangeOfConsentIsSeenInTablesXml) {
  Project project;
  project.file = Project::Fetch(940, 940000, 3);
  project.file.tables_before->users = project.file.tables_after->users = 1000;
  project.file.tables_before->total_credit = project.file.tables_after->total_credit =
      CreditFigure{1000500 * kCredit, 6};
  project.file.changes->missing = 60;
  // 94 % after 100 %; 60 of 1,000 missing; 1,000,000 to 940,000 are 6 %.
  EXPECT_THAT(project.Reasons(),
              ElementsAre(HoldReason::kDisappeared, HoldReason::kDisappeared, HoldReason::kTotalFell));
  // The day after, the same share is ordinary.
  project.last = {.summary = Project::Summary(940, 940000, 3), .update_time = kMonday, .announced = 1000};
  project.file.summary.contents.low = 4;
  project.file.changes->missing = 0;
  EXPECT_TRUE(project.Judge().accepted);
}

TEST(Acceptance, ATotalThatFallsIsConfirmedByASecondFetchAnHourLater) {
  Project project;
  project.file = Project::Fetch(1000, 979999, 3);  // 2.0001 %
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kTotalFell));
  HeldFetch held{.contents = project.file.summary.contents, .fetched = project.file.fetched - 3599};
  EXPECT_FALSE(project.Judge(&held).accepted);
  held.fetched -= 1;
  EXPECT_TRUE(project.Judge(&held).accepted);
  EXPECT_TRUE(project.Judge(&held).confirmed);
  EXPECT_THAT(project.Judge(&held).holds, ::testing::SizeIs(1));
  // Other contents confirm nothing.
  held.contents.low = 7;
  EXPECT_FALSE(project.Judge(&held).accepted);
  project.file = Project::Fetch(1000, 980000, 3);
  EXPECT_TRUE(project.Judge().accepted);
}

TEST(Acceptance, ARiseBeyondEveryMachineIsHeld) {
  Project project;
  // 100 PFLOPS for a day: 2 x 10^10 Cobblestones.
  project.file.changes->Note(7, 5 * kCredit, 20000000005 * kCredit);
  EXPECT_TRUE(project.Judge().accepted);
  project.file.changes->Note(8, 5 * kCredit, 20000000006 * kCredit);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kImpossibleRise));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("user 8 rose by 20000000001 Cobblestones"));
  // Two days after the last file twice as much is possible.
  TablesFile tables = *project.file.tables_before;
  tables.update_time = kMonday + 2 * kDaySeconds;
  project.SetTables(tables);
  project.file.fetched += kDaySeconds;
  EXPECT_TRUE(project.Judge().accepted);
}

TEST(Acceptance, AHostHasTheSpeedOfOneMachine) {
  Project project;
  project.file.summary.kind = project.last.summary.kind = RecordKind::kHost;
  TablesFile tables = *project.file.tables_before;
  tables.hosts = 1000;
  project.SetTables(tables);
  project.file.changes->Note(7, 0, 200000001 * kCredit);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kImpossibleRise));
}

// Ids that were shifted by one, or the file of another project: who has less is as many as who has more.
TEST(Acceptance, CreditThatMovedToOtherAccountsWaitsForAnOperator) {
  Project project;
  project.file.changes->compared = 1000;
  project.file.changes->fell = 51;
  project.file.changes->fallen = 20001 * kCredit;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kOtherAccounts));
  EXPECT_FALSE(Confirmable(HoldReason::kOtherAccounts));
  EXPECT_THAT(project.Judge().Text(),
              HasSubstr("51 of 1000 users have less credit than in the last file, 20001"));

  project.file.changes->fell = 50;
  EXPECT_TRUE(project.Judge().accepted) << "a few whose credit was corrected";
  project.file.changes->fell = 51;
  project.file.changes->fallen = 20000 * kCredit;
  EXPECT_TRUE(project.Judge().accepted) << "a little of everybody's credit was corrected";

  Project corrected;
  corrected.file = Project::Fetch(1000, 500000, 2);
  corrected.file.changes->compared = corrected.file.changes->fell = 1000;
  corrected.file.changes->fallen = 500000 * kCredit;
  EXPECT_THAT(corrected.Reasons(), ElementsAre(HoldReason::kTotalFell)) << "nobody has gained it";
}

// One per cent of everybody's credit is less than the total may fall by.
TEST(Acceptance, MostTotalsThatFellWaitForASecondFetch) {
  Project project;
  project.file.changes->compared = 1000;
  project.file.changes->fell = 501;
  project.file.changes->fallen = 5010 * kCredit;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kTotalFell));
  EXPECT_TRUE(Confirmable(HoldReason::kTotalFell));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("501 of 1000 users have less credit than in the last file"));
  project.file.changes->fell = 500;
  EXPECT_TRUE(project.Judge().accepted);
}

TEST(Acceptance, MostCrossProjectIdsThatChangedWaitForAnOperator) {
  Project project;
  project.file.changes->compared = 1000;
  project.file.changes->other_ids = 500;
  EXPECT_TRUE(project.Judge().accepted);
  project.file.changes->other_ids = 501;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kOtherAccounts));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("501 of 1000 users have another cross-project id"));
}

TEST(Acceptance, RecordsAboutOtherAccountsWaitForAnOperator) {
  Project project;
  project.file.changes->compared = 1000;
  project.file.changes->replaced = 50;
  EXPECT_TRUE(project.Judge().accepted);
  project.file.changes->replaced = 51;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kOtherAccounts));
  EXPECT_THAT(project.Judge().Text(),
              HasSubstr("51 of 1000 users have another create_time than in the last file"));
  project.file.summary.kind = project.last.summary.kind = RecordKind::kHost;
  TablesFile tables = *project.file.tables_before;
  tables.hosts = 1000;
  project.SetTables(tables);
  EXPECT_THAT(project.Judge().Text(), HasSubstr("51 of 1000 hosts have another userid"));
}

TEST(Acceptance, MostTotalsMultipliedAreConfirmedByASecondFetch) {
  Project project;
  project.file.changes->compared = 1000;
  project.file.changes->multiplied = 500;
  EXPECT_TRUE(project.Judge().accepted);
  project.file.changes->multiplied = 501;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kMultiplied));
  EXPECT_TRUE(Confirmable(HoldReason::kMultiplied));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("501 of 1000 users have at least twice the credit"));
  project.file.changes->compared = project.file.changes->multiplied = 9;
  EXPECT_TRUE(project.Judge().accepted) << "too few to tell";
}

// 1,000 accounts in the order of their credit, from 10,000 on, each about 0.1 % above the one before.
std::vector<std::int64_t> SortedByCredit() {
  std::vector<std::int64_t> totals;
  std::mt19937_64 random(1);
  std::int64_t total = 10000 * kCredit;
  for (int i = 0; i < 1000; ++i) {
    totals.push_back(total);
    total += total / 1000 + static_cast<std::int64_t>(random() % 1000000);
  }
  return totals;
}

// In a file sorted by credit a column of credit that moves by some rows changes each total and the sum by little.
TEST(Acceptance, ACreditColumnThatMovedByAnyNumberOfRowsWaitsForAnOperator) {
  Project project;
  for (const bool whole : {true, false})
    for (const int rows : {-17, -2, -1, 1, 2, 17}) {
      const std::vector<std::int64_t> before = SortedByCredit();
      // In half of the cases one account in five has earned something since.
      std::vector<std::int64_t> earned = before;
      for (std::size_t i = 0; i < earned.size(); i += whole ? earned.size() : 5) earned[i] += 123456789;
      std::vector<std::int64_t> now = earned;
      for (std::size_t i = 0; i < now.size(); ++i)
        now[i] = earned[static_cast<std::size_t>(
            std::clamp<std::int64_t>(static_cast<std::int64_t>(i) + rows, 0, 999))];
      project.SetTotals(before, now);
      EXPECT_THAT(project.Reasons(), testing::Contains(HoldReason::kOtherAccounts)) << rows << " " << whole;
    }
}

// Where each job earns 100, many accounts reach a total that another one had. That is no sign of damage.
TEST(Acceptance, TotalsInStepsAreNoCreditOfOthers) {
  Project project;
  for (const std::uint64_t accounts_a_step : {1, 3, 10})
    for (unsigned seed = 1; seed <= 50; ++seed) {
      std::mt19937_64 random(seed);
      std::vector<std::int64_t> before;
      std::vector<std::int64_t> now;
      for (int i = 0; i < 1000; ++i) {
        before.push_back(static_cast<std::int64_t>(random() % (1000 / accounts_a_step)) * 100 * kCredit);
        now.push_back(before.back() + static_cast<std::int64_t>(random() % 3) * 100 * kCredit);
      }
      project.SetTotals(before, now);
      EXPECT_LT(project.file.changes->totals.OfOthers(), project.file.changes->totals.sampled() / 2);
      for (const Hold& hold : project.Judge().holds) EXPECT_NE(hold.reason, HoldReason::kOtherAccounts);
    }
}

TEST(Acceptance, ADayOnWhichEverybodyEarnsIsAccepted) {
  Project project;
  std::mt19937_64 random(7);
  const std::vector<std::int64_t> before = SortedByCredit();
  std::vector<std::int64_t> now = before;
  for (std::int64_t& total : now) total += static_cast<std::int64_t>(random() % (total / 100));
  project.SetTotals(before, now);
  EXPECT_EQ(project.file.changes->totals.changed(), 1000u);
  EXPECT_THAT(project.Reasons(), IsEmpty());
}

TEST(Acceptance, TotalsThatAllChangedByOneFactorAreConfirmedByASecondFetch) {
  Project project;
  const std::vector<std::int64_t> before = SortedByCredit();
  for (const double factor : {0.99, 1.001, 1.5}) {
    std::vector<std::int64_t> now;
    for (const std::int64_t total : before) now.push_back(std::llround(static_cast<double>(total) * factor));
    project.SetTotals(before, now);
    EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kMultiplied)) << factor;
  }
  EXPECT_EQ(project.Judge().Text(),
            "100.0 % of the users whose credit changed have 1.5 times that of the last file");
  const HeldFetch held{.contents = project.file.summary.contents, .fetched = project.file.fetched - 3600};
  EXPECT_TRUE(project.Judge(&held).confirmed);
}

// A million changes: the sample stays small, and sees the end of the file as well as its beginning.
TEST(ChangedTotals, AreSampledEvenly) {
  ChangedTotals totals;
  for (std::int64_t i = 0; i < 1000000; ++i) totals.Note(i, i < 500000 ? 2 * i : i + 1000000000);
  EXPECT_EQ(totals.changed(), 1000000u);
  EXPECT_LE(totals.sampled(), ChangedTotals::kMost);
  EXPECT_GT(totals.sampled(), ChangedTotals::kMost / 3);
  for (std::int64_t i = 0; i < 500000; ++i) totals.NoteOld(2 * i);
  EXPECT_NEAR(static_cast<double>(totals.OfOthers()) / static_cast<double>(totals.sampled()), 0.5, 0.01);
}

TEST(Acceptance, CountsAndSumsMustBeThoseOfTablesXml) {
  Project more;
  TablesFile tables = *more.file.tables_before;
  tables.users = 998;
  more.SetTables(tables);
  EXPECT_THAT(more.Reasons(), ElementsAre(HoldReason::kMoreThanAnnounced));
  // 1,000,500 in the file, 1,000,502 announced: 2 x 10^-6, the limit is 10^-6.
  Project sum;
  tables = *sum.file.tables_before;
  tables.total_credit = CreditFigure{1000502 * kCredit, 6};
  sum.SetTables(tables);
  EXPECT_THAT(sum.Reasons(), ElementsAre(HoldReason::kSumDiffers));
  tables.total_credit = CreditFigure{1000501 * kCredit, 6};
  sum.SetTables(tables);
  EXPECT_TRUE(sum.Judge().accepted);
  // The number of a chunk in one figure: 17,446 became 171,000,446, and the sum shows it.
  Project chunk;
  chunk.file.summary.total_credit += (171000446 - 17446) * kCredit;
  EXPECT_THAT(chunk.Reasons(), ElementsAre(HoldReason::kSumDiffers));
}

TEST(Acceptance, TeamsMayBeAnnouncedTwice) {
  Project project;
  project.file.summary.kind = project.last.summary.kind = RecordKind::kTeam;
  TablesFile tables = *project.file.tables_before;
  tables.teams = 2000;
  project.SetTables(tables);
  EXPECT_TRUE(project.Judge().accepted);
  tables.teams = 1001;
  project.SetTables(tables);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kTeamsDiffer));
}

TEST(Acceptance, FileAndTablesMustBeOfOneExport) {
  Project project;
  project.file.tables_after->update_time += 1;
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kTablesChanged));
  const HeldFetch held{.contents = project.file.summary.contents, .fetched = project.file.fetched - 86400};
  EXPECT_FALSE(project.Judge(&held).accepted);
  project.file.tables_after.reset();
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kNoTables));
  EXPECT_TRUE(project.Judge(&held).accepted);
}

TEST(Acceptance, TheTimeOfTheExportMustGoForward) {
  Project project;
  TablesFile tables = *project.file.tables_before;
  tables.update_time = kMonday - 1;
  project.SetTables(tables);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kTimeBack));
  tables.update_time = kMonday;
  project.SetTables(tables);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kSameTime));
  project.file.summary.contents = project.last.summary.contents;
  EXPECT_TRUE(project.Judge().accepted);
  tables.update_time = static_cast<std::uint64_t>(project.file.fetched) + kDaySeconds + 1;
  project.SetTables(tables);
  EXPECT_THAT(project.Reasons(), ElementsAre(HoldReason::kFromTheFuture));
  EXPECT_THAT(project.Judge().Text(), HasSubstr("86401 s after the fetch"));
}

TEST(Acceptance, NumbersAndNamesOfReasonsAreFrozen) {
  EXPECT_EQ(static_cast<int>(HoldReason::kDisappeared), 4);
  EXPECT_EQ(static_cast<int>(HoldReason::kSameTime), 12);
  EXPECT_EQ(static_cast<int>(HoldReason::kOtherAccounts), 13);
  EXPECT_EQ(static_cast<int>(HoldReason::kMultiplied), 14);
  EXPECT_EQ(HoldReasonName(HoldReason::kDisappeared), "disappeared");
  EXPECT_EQ(static_cast<int>(FileProblem::kChunkHeader), 46);
  EXPECT_EQ(static_cast<int>(FileProblem::kShiftedNumbers), 60);
}

TEST(RecordChanges, CountWhatFellRoseAndAppeared) {
  RecordChanges changes;
  changes.Note(1, 10, 4);
  changes.Note(2, 10, 9);
  changes.Note(3, std::nullopt, 1000);
  changes.Note(4, 10, 25);
  changes.Note(5, 10, 20);
  EXPECT_EQ(changes.fell, 2u);
  EXPECT_EQ(static_cast<std::int64_t>(changes.fallen), 7);
  EXPECT_EQ(changes.appeared, 1u);
  EXPECT_EQ(changes.compared, 4u);
  EXPECT_EQ(changes.multiplied, 2u);
  EXPECT_EQ(changes.largest_rise, 15);
  EXPECT_EQ(changes.largest_rise_id, 4u);
}

}  // namespace
}  // namespace cobblestone::hub

// The problems that the audit reports for results and accounts that disagree with the ledger, with any memory
// limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "services/audit/account_balance.h"
#include "services/audit/result_balance.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {

using audit::AccountBalance;
using audit::AuditedAccount;
using audit::AuditProblems;
using audit::ResultBalance;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

wire::Grant GrantOf(std::uint64_t result, std::int64_t micro, wire::GrantKind kind = wire::GrantKind::kFinal,
                    std::uint32_t project = 1) {
  wire::Grant grant;
  grant.head.project = ProjectId(project);
  grant.head.result = ResultId(result);
  grant.head.kind = kind;
  grant.head.credit_micro = micro;
  return grant;
}

wire::Posting PostingOf(std::uint64_t result, std::int64_t micro, std::uint32_t project = 1) {
  wire::Posting posting;
  posting.project = ProjectId(project);
  posting.result = ResultId(result);
  posting.credit_micro = micro;
  return posting;
}

// The parameter is the number of entries that fit into memory.
class Results : public ::testing::TestWithParam<std::size_t> {
 protected:
  void Take(const wire::Grant& grant, bool behind = false) { balance_.Take(grant, 0, next_++, behind); }
  void Take(const wire::Posting& posting) { balance_.Take(posting, 0, next_++); }
  std::vector<std::string> Problems() {
    AuditProblems problems;
    EXPECT_TRUE(balance_.Compare(problems).ok());
    return problems.texts();
  }

  testing::TempDir dir_;
  std::uint64_t next_ = 0;
  ResultBalance balance_{{.directory = dir_.path(), .entries = GetParam()}};
};

TEST_P(Results, ManyCorrectResultsHaveNoProblems) {
  for (std::uint64_t result = 1; result <= 500; ++result) {
    // The same number in another project is another result.
    for (const std::uint32_t project : {1u, 2u}) {
      Take(GrantOf(result, 7, wire::GrantKind::kFinal, project));
      if (result % 2 == 0) Take(PostingOf(result, 7, project));
    }
  }
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_P(Results, ASecondFinalGrantIsReportedWithBothPlaces) {
  for (std::uint64_t result = 1; result <= 100; ++result) Take(GrantOf(result, 7));
  Take(GrantOf(42, 7));
  EXPECT_THAT(Problems(), ElementsAre("result 42 of project 1: has 2 final grants: partition 0, offset 41; "
                                      "partition 0, offset 100"));
}

TEST_P(Results, APostingWithoutItsGrantIsReported) {
  Take(GrantOf(1, 7));
  Take(PostingOf(1, 8));
  Take(PostingOf(2, 7));
  EXPECT_THAT(
      Problems(),
      ElementsAre("posting at partition 0, offset 1 (result 1 of project 1): the amount of 8 "
                  "micro-credits differs from the grant",
                  HasSubstr("offset 2 (result 2 of project 1): the result of the posting has no grant")));
}

TEST_P(Results, ASecondPostingOfAGrantIsReported) {
  Take(GrantOf(1, 7));
  Take(GrantOf(1, 7, wire::GrantKind::kRepricing));
  for (int n = 0; n < 3; ++n) Take(PostingOf(1, 7));
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("offset 4 (result 1 of project 1): the grant has another posting")));
}

// The state of the posting's partition is newer than the state of the grant's partition.
TEST_P(Results, APostingOfAGrantBehindTheSnapshotIsNoProblem) {
  Take(GrantOf(1, 7), true);
  Take(PostingOf(1, 7));
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_P(Results, TricklePaymentsAreFinalAsAWholeOrNotAtAll) {
  const auto final = [](std::uint64_t result, std::int64_t settles) {
    wire::Grant grant = GrantOf(result, 10);
    grant.head.settles_micro = settles;
    return grant;
  };
  const auto reversed = [](std::uint64_t result, std::int64_t settles) {
    wire::Grant grant = GrantOf(result, -settles, wire::GrantKind::kReversal);
    grant.head.settles_micro = settles;
    grant.undone.emplace();
    return grant;
  };
  for (const std::uint64_t result : {1, 2, 3, 4, 5}) {
    Take(GrantOf(result, 3, wire::GrantKind::kPartial));
    Take(GrantOf(result, 4, wire::GrantKind::kPartial));
  }
  Take(final(1, 7));
  Take(final(2, 6));
  // The job of result 3 is still running.
  Take(reversed(4, 2));
  Take(final(4, 5));
  Take(GrantOf(5, 1, wire::GrantKind::kPartial), true);
  Take(final(5, 8));
  EXPECT_THAT(Problems(),
              ElementsAre("result 2 of project 1: the trickle payments are 7 micro-credits, but 6 "
                          "became final and 0 were reversed while running"));
}

INSTANTIATE_TEST_SUITE_P(Memory, Results, ::testing::Values(1, 10, 100000));

// ---- Accounts --------------------------------------------------------------------------------------------

class Accounts : public ::testing::TestWithParam<std::size_t> {
 protected:
  static AccountBalance::Account Host(std::uint64_t id, std::uint32_t partition = 0) {
    return {.partition = partition, .kind = AuditedAccount::kHost, .project = 1, .id = id};
  }
  std::vector<std::string> Problems() {
    AuditProblems problems;
    const auto accounts = balance_.Compare(problems);
    EXPECT_TRUE(accounts.ok());
    accounts_ = *accounts;
    return problems.texts();
  }

  testing::TempDir dir_;
  AccountBalance balance_{{.directory = dir_.path(), .entries = GetParam()}};
  std::uint64_t accounts_ = 0;
};

TEST_P(Accounts, ADifferenceOfOneMicroCreditIsFound) {
  for (std::uint64_t host = 1; host <= 200; ++host)
    balance_.AddState(Host(host), {.micro = host == 77 ? 301 : 300, .grants = 3});
  for (int n = 0; n < 3; ++n)
    for (std::uint64_t host = 1; host <= 200; ++host)
      balance_.AddRecord(Host(host), {.micro = 100, .grants = 1});
  EXPECT_THAT(Problems(),
              ElementsAre("host 77 of project 1: the total differs by 1 micro-credits from the grants"));
  EXPECT_EQ(accounts_, 200u);
}

TEST_P(Accounts, WrongCountsAndMissingRowsAreFound) {
  balance_.AddState(Host(1), {.micro = 5, .grants = 2});
  balance_.AddRecord(Host(1), {.micro = 5, .grants = 1});
  balance_.AddRecord(Host(2), {.micro = 5, .grants = 1});
  balance_.AddRecord(Host(3), {});
  EXPECT_THAT(Problems(), ElementsAre("host 1 of project 1: has 2 grants, but the ledger has 1",
                                      "host 2 of project 1: has grants in the ledger but no total"));
  EXPECT_EQ(accounts_, 1u);
}

TEST_P(Accounts, EachPartitionAndKindIsASeparateAccount) {
  balance_.AddState(Host(1, 0), {.micro = 5});
  balance_.AddRecord(Host(1, 1), {.micro = 5});
  AccountBalance::Account user = Host(1, 0);
  user.kind = AuditedAccount::kUser;
  balance_.AddRecord(user, {.micro = 5});
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("host 1 of project 1: the total differs by 5"),
                                      "host 1 of project 1: has grants in the ledger but no total",
                                      "user 1 of project 1: has grants in the ledger but no total"));
}

TEST_P(Accounts, HeldCreditCountsAsPartOfTheTotal) {
  balance_.AddState(Host(1), {.micro = 5, .grants = 1});
  balance_.AddRecord(Host(1), {.micro = 12, .grants = 2});
  balance_.AddHeld(Host(1), {.micro = 7, .grants = 1});
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(accounts_, 1u);
}

INSTANTIATE_TEST_SUITE_P(Memory, Accounts, ::testing::Values(1, 10, 100000));

}  // namespace
}  // namespace cobblestone

// A federation hub and the owners of accounts: signed proofs, people who leave, deletions, and accounts that belong to an
// account manager. The hub runs in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/hub_world.h"

namespace cobblestone::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using HubProofs = HubWorld;
using HubDeletions = HubWorld;

// Strangers by their ids: user 17 of project 1 has 100 Cobblestones, user 4711 of project 2 has 7.
TEST_F(HubProofs, OfBothSidesJoinTwoAccounts) {
  const SigningProject one;
  const SigningProject two;
  Project(1, &one);
  Project(2, &two);
  Complete(1, 1, 0, {User(17, 1, 100, 'a')}, true);
  Complete(2, 1, 0, {User(4711, 1, 7, 'c')}, true);
  // The page of a project shows its URL as it likes.
  Proof(1, 1, one, "17 cobblestone joins http://P2.example 4711");
  EXPECT_EQ(PersonTotal(1, 17), "100.000000") << "only one side has said so";
  Proof(2, 1, two, "4711 cobblestone joins https://p1.example/ 17");
  EXPECT_EQ(PersonTotal(1, 17), "107.000000");
  EXPECT_EQ(PersonTotal(2, 4711), "107.000000");

  Proof(2, 2, two, "4711 cobblestone leaves 2023-11-16");
  EXPECT_EQ(PersonTotal(1, 17), "100.000000");
  EXPECT_EQ(PersonTotal(2, 4711), "7.000000");
  Proof(2, 3, two, "4711 cobblestone returns 2023-11-16");
  EXPECT_EQ(PersonTotal(1, 17), "107.000000");
  EXPECT_THAT(Refused(), IsEmpty());
}

TEST_F(HubProofs, ThatAreNotOfTheProjectAreRefusedWithAReason) {
  const SigningProject one;
  const SigningProject liar;
  const std::string joins = "17 cobblestone joins https://p2.example/ 4711";
  Project(1, &one);
  Project(2);  // without a key
  Complete(1, 1, 0, {User(17, 1, 100, 'a')}, true);
  Complete(2, 1, 0, {User(4711, 1, 7, 'c')}, true);
  Proof(1, 1, liar, joins);
  Proof(2, 1, liar, "4711 cobblestone joins https://p1.example/ 17");
  Proof(3, 1, liar, joins);
  Proof(1, 1, one, joins, "https://p2.example/");
  Proof(1, 1, one, "17 cobblestone joins https://elsewhere.example/ 5");
  Proof(1, 1, one, "17 cobblestone joins https://p1.example/ 17");
  Proof(1, 1, one, "17 of another hub");
  Proof(1, 1, one, "17 cobblestone leaves 2023-12-24");
  EXPECT_THAT(Refused(),
              ElementsAre(HasSubstr("OUT_OF_RANGE: the project https://p1.example/ has not signed"),
                          HasSubstr("OUT_OF_RANGE: the hub has no public key of this project"),
                          HasSubstr("UNKNOWN_PROJECT"), HasSubstr("the proof is of another project"),
                          HasSubstr("no project of this hub has the URL in the statement"),
                          HasSubstr("joins an account to itself"), HasSubstr("no statement for this hub"),
                          HasSubstr("a day that has not come yet")));
  EXPECT_EQ(PersonTotal(1, 17), "100.000000");
  EXPECT_EQ(PersonTotal(2, 4711), "7.000000");
}

// Project 1 says that the URL of project 2 is its own, to add its user 4711 to the person of whoever names user 4711 there.
TEST_F(HubProofs, AboutAUrlThatTwoProjectsClaimAreRefused) {
  const SigningProject thief;
  const SigningProject three;
  Project(1, &thief);
  Project(2);
  Project(3, &three);
  Complete(1, 1, 0, {User(4711, 1, 1000, 'a')}, true);
  Complete(2, 1, 0, {User(4711, 1, 7, 'b')}, true);
  Complete(3, 1, 0, {User(17, 1, 100, 'c')}, true);
  wire::FeedProject claim{.name = "project 1", .url = "https://P2.example", .mode = wire::FeedMode::kDirect};
  claim.present = wire::FeedProject::kRequired | wire::FeedProject::kUrl;
  Add(1, 0.5, claim);
  Proof(3, 1, three, "17 cobblestone joins https://p2.example/ 4711");
  Proof(1, 1, thief, "4711 cobblestone joins https://p3.example/ 17", "https://p2.example/");
  EXPECT_THAT(Refused(), ElementsAre(HasSubstr("several projects of this hub say that the URL")));
  EXPECT_EQ(PersonTotal(3, 17), "100.000000");
  // The operator ends the claim.
  wire::FeedProject retired{.name = "project 1", .mode = wire::FeedMode::kDirect, .retired = true};
  retired.present = wire::FeedProject::kRequired | wire::FieldBit(4);
  Add(1, 2, retired);
  Proof(3, 3, three, "17 cobblestone joins https://p2.example/ 4711");
  EXPECT_EQ(Refused().size(), 1u);
}

TEST_F(HubProofs, ASharedAccountIsInNoSum) {
  Project(1);
  Project(2, nullptr, {4, 5});
  Complete(1, 1, 0, {User(17, 1, 100, 'a')}, true);
  Complete(2, 1, 0, {User(5, 1, 1'000'000, 'a'), User(6, 1, 7, 'c')}, true);
  EXPECT_EQ(PersonTotal(1, 17), "100.000000");
  EXPECT_EQ(PersonTotal(2, 5), "100.000000") << "it shows the id of user 17";
  EXPECT_EQ(PersonTotal(2, 6), "7.000000");
  EXPECT_EQ(Asked(2, 5)["in_sum"], false);
  EXPECT_EQ(Asked(2, 6)["in_sum"], true);
  const auto person = questions_->PersonOf(ProjectId(1), UserId(17));
  ASSERT_TRUE(person.ok());
  ASSERT_EQ((*person)["accounts"].size(), 2u) << "it is shown beside the sum";
  EXPECT_EQ((*person)["accounts"][1]["in_sum"], false);
  EXPECT_EQ((*person)["accounts"][0]["in_sum"], true);
}

// User 5 of project 1 and user 6 of project 3 are accounts of managers.
TEST_F(HubProofs, APersonIsNotNamedAfterASharedAccount) {
  Project(1, nullptr, {5});
  Project(2);
  Project(3, nullptr, {6});
  const auto asked = [&](std::uint32_t project, std::uint64_t user) {
    SendAndIndex();
    const auto person = questions_->PersonOf(ProjectId(project), UserId(user));
    return person.ok() ? *person : json(person.status().message());
  };
  Complete(3, 1, 0, {User(6, 1, 10)}, true);
  EXPECT_EQ(asked(3, 6)["name"], "user 6") << "it has no other account";
  Complete(2, 1, 1, {User(17, 1, 100)}, true);
  const json eldest = asked(2, 17);
  ASSERT_EQ(eldest["accounts"].size(), 2u) << eldest;
  ASSERT_EQ(eldest["identity"], "3-6-1200000000") << "the eldest account is shared";
  EXPECT_EQ(eldest["name"], "user 17");
  Complete(1, 1, 2, {User(5, 1, 1000)}, true);
  const json first = asked(2, 17);
  ASSERT_EQ(first["accounts"].size(), 3u) << first;
  ASSERT_EQ(first["accounts"][0]["id"], 5) << "the first account is shared";
  EXPECT_EQ(first["name"], "user 17");
}

TEST_F(HubDeletions, AnAccountThatStaysAwayIsErasedAndReturnsAsANewOne) {
  Project(1);
  Complete(1, 1, 0, {User(7, 1, 100), User(8, 1, 10, 'c')}, true);
  Complete(1, 2, 1, {User(7, 2, 150), User(8, 2, 30, 'c')});
  Complete(1, 3, 2, {Gone(7, 3), Gone(8, 3)});
  EXPECT_EQ(Asked(1, 7), "user 7 of project 1 is no longer exported since 2023-11-16");
  // User 8 comes back within the 30 days, with 5 more: 20 of day 1, 5 of day 20.
  Complete(1, 4, 20, {User(8, 4, 35, 'c')});
  EXPECT_EQ(Asked(1, 8)["days"].size(), 2u);
  Tick(31.9);  // 29.9 days after the edition without user 7
  EXPECT_EQ(Rows().accounts.count("1/user/7"), 1u);
  Tick(32.9);
  EXPECT_EQ(Rows().accounts.count("1/user/7"), 0u);
  EXPECT_EQ(Rows().accounts.count("1/user/8"), 1u);
  EXPECT_EQ(Asked(1, 7), "user 7 of project 1 is not known");
  EXPECT_FALSE(questions_->PersonOfCpid(std::string(32, 'a')).ok()) << "identities keep hashes only";

  Complete(1, 5, 40, {User(7, 5, 160)});
  const json back = Asked(1, 7);
  EXPECT_EQ(back["total"], "160.000000");
  EXPECT_THAT(back["days"], IsEmpty()) << "a new account, whose credit is no day's credit";
  EXPECT_EQ(PersonTotal(1, 7), "160.000000");
}

// The collector has lost its index, so the edition names nobody who is gone.
TEST_F(HubDeletions, WhoIsNotInAWholeEditionHasLeft) {
  Project(1);
  Complete(1, 1, 0, {User(7, 1, 100), User(8, 1, 10, 'c')}, true);
  Complete(1, 2, 3, {User(8, 2, 10, 'c')}, true);
  EXPECT_EQ(Asked(1, 7), "user 7 of project 1 is no longer exported since 2023-11-17");
  Tick(4);
  Tick(32.9);  // 29.9 days
  EXPECT_EQ(Rows().accounts.size(), 2u);
  Tick(33.9);
  EXPECT_EQ(Rows().accounts.size(), 1u);
  EXPECT_EQ(Asked(1, 8)["total"], "10.000000");
}

// What an edition says counts once it is complete: it neither erases an account before, nor saves one.
TEST_F(HubDeletions, AnEditionThatArrivesErasesNobody) {
  Project(1);
  Complete(1, 1, 0, {User(7, 1, 100)}, true);
  Edition(1, 2, 1, EditionState::kBegun);
  Add(1, 1, Gone(7, 2));
  Tick(60);
  EXPECT_EQ(Asked(1, 7)["total"], "100.000000");
  Edition(1, 2, 1, EditionState::kComplete);
  Tick(61);
  EXPECT_EQ(Rows().accounts.size(), 0u);
}

TEST_F(HubDeletions, AKnownDeletionTakesEffectAtOnce) {
  Project(1);
  Project(2);
  Complete(1, 1, 0, {User(7, 1, 100), User(8, 1, 10, 'c')}, true);
  Complete(2, 1, 0, {User(70, 1, 5)}, true);
  EXPECT_EQ(PersonTotal(2, 70), "105.000000");
  FeedAccount deleted = Gone(7, 0);
  deleted.erased = true;
  Add(1, 1, deleted);
  EXPECT_EQ(Asked(1, 7), "user 7 of project 1 is not known");
  EXPECT_EQ(PersonTotal(2, 70), "5.000000");
  EXPECT_EQ(Asked(1, 8)["total"], "10.000000");
  // The project deletes the account as well, and gives the number to somebody else.
  Complete(1, 2, 2, {Gone(7, 2)});
  Complete(1, 3, 3, {User(7, 3, 1, 'd')});
  EXPECT_EQ(Asked(1, 7)["total"], "1.000000");
  EXPECT_EQ(PersonTotal(2, 70), "5.000000");
  EXPECT_THAT(Refused(), IsEmpty());
}

TEST_F(HubDeletions, ALateEventOfADeletedUserChangesNothing) {
  Project(1);
  Complete(1, 1, 0, {User(7, 1, 100)}, true);
  FeedAccount deleted = Gone(7, 0);
  deleted.erased = true;
  Add(1, 2, deleted);
  // The files of an export that was made before the deletion.
  Complete(1, 2, 1.5, {User(7, 2, 120)});
  EXPECT_EQ(Asked(1, 7), "user 7 of project 1 is not known");
  Complete(1, 3, 2.5, {User(7, 3, 130)});
  EXPECT_EQ(Asked(1, 7)["total"], "130.000000") << "the project still exports the account";
  // The deletion is older than what is shown now.
  Add(1, 2, deleted);
  EXPECT_EQ(Asked(1, 7)["total"], "130.000000");
}

}  // namespace
}  // namespace cobblestone::testing

// Who is the same person: stories of accounts whose cross-project ids change for honest reasons.
#include "common/federation/identity/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/federation_cpid_model.h"
#include "tests/unit/federation_identity_world.h"

namespace cobblestone::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Projects A, B, C by the age of the person's accounts, as in the field reports: 2005, 2010, 2008.
constexpr AccountKey kA{1, 11, 1'104'537'600};
constexpr AccountKey kB{2, 22, 1'262'304'000};
constexpr AccountKey kC{3, 33, 1'199'145'600};
constexpr Day kStart = 15'000;  // January 2011

struct Rounds {
  std::vector<Day> changed;  // the rounds after which the identity of some account changed
  int flips = 0;             // of the id that the watched account shows
  Day returned = 0;          // the round in which it first showed an id for the second time
};

Rounds RunRounds(CpidModel& model, World& world, std::uint64_t seed, std::size_t watched, int rounds = 1000) {
  std::mt19937_64 random(seed);
  Rounds seen;
  Cpid shown;
  std::set<Cpid> earlier;
  for (Day round = 0; round < static_cast<Day>(rounds); ++round) {
    model.Round(random, 2);
    bool changed = false;
    for (const Sighting& sighting : model.Export(kStart + round)) changed |= !world.Add(sighting).empty();
    if (changed) seen.changed.push_back(round);
    if (model.IdOf(watched) != shown) {
      ++seen.flips;
      earlier.insert(shown);
      shown = model.IdOf(watched);
      if (seen.returned == 0 && earlier.contains(shown)) seen.returned = round;
    }
  }
  return seen;
}

TEST(Identity, OfAnAccountThatFlipsForEverStaysStillFromItsFirstReturnOn) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CpidModel model;
    const auto a = model.AddAccount(kA, "m@example.org");
    const auto b = model.AddAccount(kB, "m@example.org");
    const auto c = model.AddAccount(kC, "m@example.org");
    model.AddHost({a, b});
    model.AddHost({c, b});
    World world;
    const Rounds seen = RunRounds(model, world, seed, b);
    EXPECT_GT(seen.flips, 300) << "B never comes to rest";
    EXPECT_LT(seen.returned, 40u);
    EXPECT_LE(seen.changed.back(), seen.returned) << "afterwards nothing changes in 1,000 rounds";
    EXPECT_EQ(SetsOf(world.Groups()), (std::set<std::set<AccountKey>>{{kA, kB, kC}}));
  }
}

TEST(Identity, OfTwoAccountsThatFlipTogetherStaysStill) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CpidModel model;
    const auto a = model.AddAccount(kA, "m@example.org");
    const auto b = model.AddAccount(kB, "m@example.org");
    const auto c = model.AddAccount(kC, "m@example.org");
    model.AddHost({a, b, c});
    model.AddHost({b, c});
    World world;
    const Rounds seen = RunRounds(model, world, seed, b);
    EXPECT_LT(seen.changed.back(), 40u);
    EXPECT_EQ(SetsOf(world.Groups()), (std::set<std::set<AccountKey>>{{kA, kB, kC}}));
  }
}

TEST(Identity, OfAccountsOnOneComputerConvergesWithTheirIds) {
  CpidModel model;
  const auto a = model.AddAccount(kA, "m@example.org");
  const auto b = model.AddAccount(kB, "m@example.org");
  const auto c = model.AddAccount(kC, "m@example.org");
  model.AddHost({a, b, c});
  World world;
  const Rounds seen = RunRounds(model, world, 1, b);
  EXPECT_EQ(model.IdOf(a), model.IdOf(b));
  EXPECT_EQ(model.IdOf(a), model.IdOf(c));
  EXPECT_LT(seen.changed.back(), 40u);
  EXPECT_EQ(SetsOf(world.Groups()), (std::set<std::set<AccountKey>>{{kA, kB, kC}}));
}

TEST(Identity, OfTwoPeopleIsNeverOne) {
  CpidModel model;
  const auto a = model.AddAccount(kA, "one@example.org");
  const auto b = model.AddAccount(kB, "one@example.org");
  const auto other_a = model.AddAccount(Account(1, 12), "two@example.org");
  const auto other_c = model.AddAccount(Account(3, 34), "two@example.org");
  model.AddHost({a, b, other_a, other_c});  // they share a computer
  World world;
  RunRounds(model, world, 1, b, 100);
  EXPECT_EQ(SetsOf(world.Groups()),
            (std::set<std::set<AccountKey>>{{kA, kB}, {Account(1, 12), Account(3, 34)}}));
}

TEST(Identity, HasTheNameOfTheAccountThatWasShownFirst) {
  World world;
  world.See(kB, Id(1), 100);
  world.See(kA, Id(1), 101);
  EXPECT_EQ(world.identities.IdentityOf(kA), kB);
  world.See(kC, Id(1), 102);
  EXPECT_EQ(world.identities.IdentityOf(kC), kB);
  EXPECT_THAT(world.identities.AccountsOf(kB), ElementsAre(kA, kB, kC));
  EXPECT_THAT(world.identities.AccountsOf(kA), IsEmpty()) << "the name of an account that joined another";
  EXPECT_EQ(IdentityText(kB), "2-22-1262304000");
  EXPECT_EQ(ParseIdentity("2-22-1262304000"), kB);
  for (const char* text : {"", "2-22", "2-22-", "2-22-1 ", "02-22-1", "x-22-1", "2-22-1-4", "4294967296-1-1"})
    EXPECT_EQ(ParseIdentity(text), std::nullopt) << text;
}

TEST(Identity, FindsAPersonByEveryIdEverSeen) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 100);
  world.See(kB, Id(2), 200);  // a new address at B alone
  EXPECT_TRUE(world.Together(kA, kB));
  EXPECT_EQ(world.identities.IdentityOf(Id(1)), kA);
  EXPECT_EQ(world.identities.IdentityOf(Id(2)), kA);
  EXPECT_EQ(world.identities.IdentityOf(Id(3)), std::nullopt);
  const auto view = world.identities.Describe(kA);
  ASSERT_TRUE(view);
  ASSERT_THAT(view->accounts, SizeIs(2));
  ASSERT_THAT(view->accounts[1].edges, SizeIs(2));
  const EdgeView& edge = view->accounts[1].edges[1];
  EXPECT_EQ(edge.edge.cpid, Id(2));
  EXPECT_EQ(edge.edge.first, 200u);
  EXPECT_EQ(edge.standing, Standing::kJoined);
  EXPECT_TRUE(edge.counts);
  EXPECT_THAT(view->possible, IsEmpty());
}

TEST(Identity, FollowsAChangedAddressAtOneProjectAndANewAccountUnderIt) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 100);
  world.See(kB, Id(2), 200);  // nobody else has shown id 2: B's account alone changes
  EXPECT_TRUE(world.Together(kA, kB));
  world.See(kC, Id(2), 300);  // a new account with the new address
  EXPECT_TRUE(world.Together(kA, kC));
  world.See(kA, Id(2), 400);  // the old project follows later
  EXPECT_EQ(SetsOf(world.Groups()), (std::set<std::set<AccountKey>>{{kA, kB, kC}}));
}

TEST(Identity, JoinsEstablishedIdsOnceASecondProjectSaysTheSame) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(Account(4, 44), Id(1), 100);
  world.See(Account(5, 55), Id(2), 100);
  world.See(Account(6, 66), Id(2), 100);
  world.See(kB, Id(1), 101);
  world.See(kB, Id(2), 102);  // B alone, and it has not returned
  EXPECT_TRUE(world.Together(kA, kB));
  EXPECT_FALSE(world.Together(kB, Account(5, 55)));
  const auto view = world.identities.Describe(Account(5, 55));
  ASSERT_TRUE(view);
  ASSERT_THAT(view->possible, SizeIs(1));
  EXPECT_EQ(view->possible[0].identity, kA);
  EXPECT_EQ(view->possible[0].account, kB);
  EXPECT_EQ(view->possible[0].standing, Standing::kUnconfirmed);
  EXPECT_THAT(world.identities.Describe(kA)->possible, SizeIs(1)) << "seen from both sides";
  world.See(kC, Id(1), 103);
  world.See(kC, Id(2), 104);
  EXPECT_THAT(SetsOf(world.Groups()), SizeIs(1));
}

TEST(Identity, OfAnAccountThatReturnsJoinsUnlessAnotherProjectKeepsTwoAccountsApart) {
  for (const bool contradicted : {false, true}) {
    World world;
    world.See(kA, Id(1), 100);
    world.See(contradicted ? Account(1, 12) : kC, Id(2), 100);  // A has an account for each id, or C for one
    world.See(kB, Id(1), 101);
    world.See(kB, Id(2), 102);
    EXPECT_THAT(world.Groups(), SizeIs(2));
    world.See(kB, Id(1), 103);
    EXPECT_THAT(world.Groups(), SizeIs(contradicted ? 2 : 1));
  }
}

TEST(Identity, OfASwingIsNotUndoneByWhatAnotherProjectPublishesLater) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kC, Id(2), 100);
  for (const Day day : {101, 103}) world.See(kB, Id(1), day);
  world.See(kB, Id(2), 102);
  ASSERT_TRUE(world.Together(kA, kC));
  world.See(Account(9, 1), Id(1), 110);  // two accounts of project 9, as if the ids were two people
  world.See(Account(9, 2), Id(2), 110);
  EXPECT_TRUE(world.Together(kA, kC));
}

TEST(Identity, OfAReusedNumberBelongsToTheNewPerson) {
  World world;
  const AccountKey old_account{1, 17, 1'100'000'000};
  const AccountKey new_account{1, 17, 1'300'000'000};  // after the reset
  const AccountKey again{1, 40, 1'300'000'500};        // the person of the old account registers again
  world.See(old_account, Id(1), 100);
  world.See(kB, Id(1), 100);
  world.See(kC, Id(2), 100);
  world.See(new_account, Id(2), 200);
  EXPECT_TRUE(world.Together(old_account, kB));
  EXPECT_TRUE(world.Together(new_account, kC));
  EXPECT_FALSE(world.Together(old_account, new_account));
  world.See(again, Id(1), 210);
  EXPECT_TRUE(world.Together(again, kB)) << "the old account was last shown before";
}

TEST(Identity, HasAtMostOneAccountOfAProjectByTheSameIdAtATime) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 100);
  world.See(Account(2, 23), Id(1), 101);  // B shows the id for another account, too
  world.See(kB, Id(1), 102);
  EXPECT_TRUE(world.Together(kA, kB));
  EXPECT_FALSE(world.Together(kA, Account(2, 23)));
  EXPECT_EQ(world.identities.Describe(kA)->possible.at(0).standing, Standing::kHeldByAnother);
}

TEST(Identity, OfACrowdedIdHasNoAccountOfTheProject) {
  World world;
  world.See(kA, Id(1), 100);
  for (std::uint64_t user = 1; user <= 5; ++user) world.See(Account(2, user), Id(1), 100);
  EXPECT_THAT(world.Groups(), SizeIs(6)) << "a project that gives one id to five accounts says nothing by it";
  world.See(kC, Id(1), 101);
  EXPECT_TRUE(world.Together(kA, kC));
}

TEST(Identity, JoinsAccountsByMutualProofs) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kC, Id(2), 100);
  world.Add(Proof(kA, kC, 20'001));
  EXPECT_FALSE(world.Together(kA, kC)) << "only A's account claims the other";
  const IdentityChanges changes = world.Add(Proof(kC, kA, 20'002));
  EXPECT_THAT(changes, ElementsAre(IdentityChange{.account = kC, .from = kC, .to = kA}));
  EXPECT_TRUE(world.Together(kA, kC));
}

// Project 1 starts again with an empty database on day 20,000, and its user 11 is another person then.
TEST(Identity, IsNotJoinedByAProofOfAnEarlierOwnerOfTheNumber) {
  const AccountKey new_owner = Account(1, 11, 20'000ull * 86400);
  World world;
  world.See(kA, Id(1), 19'000);
  world.See(kC, Id(2), 19'000);
  world.Add(Proof(kC, kA, 19'500));  // C's owner means the first owner of number 11
  world.See(new_owner, Id(3), 20'001);
  world.Add(Proof(new_owner, kC, 20'002));
  EXPECT_FALSE(world.Together(new_owner, kC)) << "C's owner never said so of the new owner";
  EXPECT_FALSE(world.Together(kA, kC)) << "nor did the first owner ever answer";
  world.Add(Proof(kC, kA, 20'003));  // said again, of who has the number now
  EXPECT_TRUE(world.Together(new_owner, kC));
  EXPECT_FALSE(world.Together(kA, kC));
}

TEST(Identity, OfAnOwnerWhoLeavesStandsAloneUntilTheOwnerReturns) {
  World world;
  world.See(kA, Id(1), 20'000);
  world.See(kB, Id(1), 20'000);
  world.Add(Departure{.project = 2, .user = 22, .day = 20'100});
  EXPECT_FALSE(world.Together(kA, kB));
  EXPECT_EQ(world.identities.Describe(kB)->accounts[0].edges[0].standing, Standing::kCut);
  world.Add(Departure{.project = 2, .user = 22, .day = 20'050, .returns = true});
  EXPECT_FALSE(world.Together(kA, kB)) << "an older statement";
  world.Add(Departure{.project = 2, .user = 22, .day = 20'100, .returns = true});
  EXPECT_TRUE(world.Together(kA, kB));
}

TEST(Identity, OfAnAccountCreatedAfterTheDepartureIsNotThatOfWhoLeft) {
  const AccountKey new_owner = Account(2, 22, 20'200ull * 86400);
  World world;
  world.See(kA, Id(1), 20'000);
  world.Add(Departure{.project = 2, .user = 22, .day = 20'100});  // before any account was shown
  world.See(kB, Id(1), 20'000);
  EXPECT_FALSE(world.Together(kA, kB));
  world.See(kC, Id(5), 20'000);
  world.See(new_owner, Id(5), 20'201);
  EXPECT_TRUE(world.Together(kC, new_owner));
}

TEST(Identity, IsSplitAndMergedByDecisionsThatCanBeWithdrawn) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 100);
  world.See(kC, Id(2), 100);
  const Decision join{.kind = DecisionKind::kJoin, .account = kC, .other = kA, .day = 101, .number = 1};
  world.Add(join);
  EXPECT_TRUE(world.Together(kA, kC));
  Decision withdrawn = join;
  withdrawn.number = 2;
  withdrawn.withdrawn = true;
  std::swap(withdrawn.account, withdrawn.other);  // the same pair
  world.Add(withdrawn);
  EXPECT_FALSE(world.Together(kA, kC));
  world.Add(join);  // repeated: the newer decision is in force
  EXPECT_FALSE(world.Together(kA, kC));

  world.Add(Decision{.kind = DecisionKind::kCut, .account = kB, .cpid = Id(1), .day = 102, .number = 3});
  EXPECT_FALSE(world.Together(kA, kB));
  EXPECT_EQ(world.identities.Describe(kB)->accounts[0].edges[0].standing, Standing::kCut);
  world.Add(Decision{
      .kind = DecisionKind::kCut, .account = kB, .cpid = Id(1), .day = 103, .number = 4, .withdrawn = true});
  EXPECT_TRUE(world.Together(kA, kB));

  world.Add(Decision{.kind = DecisionKind::kLeave, .account = kB, .day = 104, .number = 5});
  world.See(kB, Id(3), 105);
  world.See(kA, Id(3), 106);
  world.Add(Decision{.kind = DecisionKind::kJoin, .account = kA, .other = kB, .day = 107, .number = 6});
  EXPECT_FALSE(world.Together(kA, kB)) << "whoever has left stays alone under later ids, too";
}

TEST(Identity, OfADeletedAccountLeavesHashesAndItsReturnIsANewAccount) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 101);
  world.See(kB, Id(4), 102);
  const IdentityChanges changes = world.Add(Deletion{.project = 2, .user = 22, .day = 110});
  EXPECT_THAT(changes, ElementsAre(IdentityChange{.account = kB, .from = kA, .to = std::nullopt}));
  EXPECT_EQ(world.identities.IdentityOf(kB), std::nullopt);
  EXPECT_EQ(world.identities.IdentityOf(Id(4)), std::nullopt);
  EXPECT_EQ(world.users.rows().count({2, 22, 0}), 0u);
  EXPECT_THAT(world.See(kB, Id(1), 109), IsEmpty()) << "a late file from before the deletion";
  world.See(kB, Id(5), 120);
  EXPECT_EQ(world.identities.IdentityOf(kB), kB) << "the number appears again, alone";
}

TEST(Identity, OfADeletedAccountGivesItsNameToTheNextOne) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 101);
  world.See(kC, Id(1), 102);
  world.Add(Deletion{.project = 1, .user = 11, .day = 110});
  EXPECT_THAT(world.identities.AccountsOf(kB), ElementsAre(kB, kC));
}

TEST(Identity, RefusesMalformedFactsAndChangesNothing) {
  World world;
  ASSERT_TRUE(world.identities.AddProject(1, 100).ok());
  world.See(kA, Id(1), 100);
  const std::string before = world.Dump();
  EXPECT_FALSE(world.identities.Add(Sighting{.account = {1, 0, 5}, .cpid = Id(1), .day = 1}).ok());
  EXPECT_FALSE(world.identities.Add(Sighting{.account = {1, 5, 0}, .cpid = Id(1), .day = 1}).ok());
  EXPECT_FALSE(world.identities.Add(Sighting{.account = kA, .cpid = {}, .day = 1}).ok());
  EXPECT_FALSE(world.identities.Add(Sighting{.account = kA, .cpid = Id(1), .day = 0}).ok());
  EXPECT_FALSE(world.identities.Add(Proof(kA, kA, 1)).ok());
  EXPECT_FALSE(world.identities.Add(Departure{.project = 1, .user = 11, .day = 0}).ok());
  EXPECT_FALSE(world.identities.Add(Decision{.kind = DecisionKind::kCut, .account = kA, .day = 1}).ok());
  EXPECT_FALSE(
      world.identities.Add(Decision{.kind = DecisionKind::kJoin, .account = kA, .other = kA, .day = 1}).ok());
  EXPECT_FALSE(world.identities.Add(Deletion{.project = 1, .user = 0, .day = 1}).ok());
  EXPECT_FALSE(world.identities.AddProject(1, 50).ok());
  EXPECT_EQ(world.Dump(), before);
  EXPECT_EQ(ParseCpid("000102030405060708090A0B0C0D0E0F"),
            (Cpid{.high = 0x0001020304050607, .low = 0x08090A0B0C0D0E0F}));
  EXPECT_EQ(ParseCpid("fedcba98765432100123456789ABCDEF"),
            (Cpid{.high = 0xfedcba9876543210, .low = 0x0123456789abcdef}));
  for (std::size_t at = 0; at < 32; ++at)
    for (const char no_digit : {'g', 'G', '/', ':', '@', '`', '\xff', '\0'}) {
      std::string text = "fedcba98765432100123456789ABCDEF";
      text[at] = no_digit;
      EXPECT_EQ(ParseCpid(text), std::nullopt) << at;
    }
  EXPECT_EQ(CpidText({.high = 0x0001020304050607, .low = 0x08090A0B0C0D0E0F}),
            "000102030405060708090a0b0c0d0e0f");
  for (const char* text : {"", "00010203040506070809", "00000000000000000000000000000000",
                           "g00102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f0"})
    EXPECT_EQ(ParseCpid(text), std::nullopt) << text;
}

TEST(Identity, OfAnUnchangedAccountCostsOneRow) {
  World world;
  world.See(kA, Id(1), 100);
  world.See(kB, Id(1), 100);
  const std::string cpids_before = world.Dump();
  EXPECT_THAT(world.See(kA, Id(1), 105), IsEmpty());
  UserRow row;
  ASSERT_TRUE(world.users.Find({1, 11, 0}, &row));
  EXPECT_EQ(row.accounts[0].edges[0].last, 105u);
  EXPECT_THAT(world.See(kA, Id(1), 103), IsEmpty());
  ASSERT_TRUE(world.users.Find({1, 11, 0}, &row));
  EXPECT_EQ(row.accounts[0].edges[0].last, 105u);
}

}  // namespace
}  // namespace cobblestone::federation

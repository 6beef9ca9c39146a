// A project that lies about cross-project ids, which are public. What it cannot do: join people whom other projects know
// as two, or take an account of another project out of its identity. What it can do has the bounds of
// docs/design/identity.md, "What a lying project can still do".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/federation_cpid_model.h"
#include "tests/unit/federation_identity_world.h"

namespace cobblestone::federation {
namespace {

using ::testing::SizeIs;

constexpr std::uint32_t kLiar = 9;
constexpr Day kFirst = 15'000;  // 2011; all accounts are older

// The identities without the accounts of the liar.
std::set<std::set<AccountKey>> Honest(const World& world) {
  std::set<std::set<AccountKey>> honest;
  for (const auto& [identity, accounts] : world.Groups()) {
    std::set<AccountKey> rest;
    for (const AccountKey& account : accounts) {
      if (account.project != kLiar) rest.insert(account);
    }
    if (!rest.empty()) honest.insert(rest);
  }
  return honest;
}

// People with accounts at two to four of six projects. Every fourth person has two computers that make an account flip
// for ever.
class People {
 public:
  People(std::uint64_t seed, int count) : random_(seed) {
    for (int i = 0; i < count; ++i) AddPerson(i);
    for (int i = 0; i < 40; ++i) model_.Round(random_, 1);
  }
  void Day_(Day day, World* world) {
    model_.Round(random_, 1);
    for (const Sighting& sighting : model_.Export(day)) {
      world->Add(sighting);
      ids_.insert(sighting.cpid);
    }
  }
  [[nodiscard]] std::vector<Cpid> ids() const { return {ids_.begin(), ids_.end()}; }

 private:
  void AddPerson(int i) {
    const std::string email = "person" + std::to_string(i) + "@example.org";
    std::vector<std::uint32_t> projects = {1, 2, 3, 4, 5, 6};
    std::shuffle(projects.begin(), projects.end(), random_);
    projects.resize(i % 4 == 0 ? 3 : 2 + random_() % 3);
    std::vector<std::size_t> accounts;
    for (const std::uint32_t project : projects)
      accounts.push_back(model_.AddAccount(
          Account(project, 100 + static_cast<std::uint64_t>(i), 1'000'000'000 + random_() % 200'000'000),
          email));
    if (i % 4 == 0) {
      model_.AddHost({accounts[0], accounts[2]});
      model_.AddHost({accounts[1], accounts[2]});
    } else {
      model_.AddHost(accounts);
    }
  }

  std::mt19937_64 random_;
  CpidModel model_;
  std::set<Cpid> ids_;
};

TEST(IdentityAttack, WithRandomIdsForThirtyDaysChangesNothingForOthers) {
  for (const int people_count : {3, 40}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      World honest;
      World attacked;
      People people(seed, people_count);
      People same_people(seed, people_count);
      std::mt19937_64 random(seed);
      for (Day day = kFirst; day < kFirst + 60; ++day) {
        people.Day_(day, &honest);
        same_people.Day_(day, &attacked);
        if (day < kFirst + 30) continue;
        const std::vector<Cpid> ids = people.ids();
        for (std::uint64_t user = 1; user <= 60; ++user)
          attacked.See(Account(kLiar, user), ids[random() % ids.size()], day);
      }
      EXPECT_EQ(Honest(attacked), Honest(honest)) << people_count << " people, seed " << seed;
    }
  }
}

// Victims: N people with accounts at projects 1 and 2, each with one id.
void AddVictims(World* world, std::uint64_t count) {
  for (std::uint64_t i = 1; i <= count; ++i) {
    world->See(Account(1, i), Id(i), kFirst);
    world->See(Account(2, i), Id(i), kFirst);
  }
}

TEST(IdentityAttack, OnChosenPairsWithAndWithoutSwingsJoinsNobody) {
  for (const Day days : {2, 30}) {  // 2: each pair once; 30: to and fro
    World world;
    AddVictims(&world, 100);
    const auto before = Honest(world);
    for (Day day = 1; day <= days; ++day) {
      for (std::uint64_t user = 1; user <= 50; ++user)
        world.See(Account(kLiar, user), Id(2 * user - day % 2), kFirst + day);
    }
    EXPECT_EQ(Honest(world), before);
  }
}

TEST(IdentityAttack, ByOneSwingOnPeopleWithACommonProjectJoinsNobody) {
  World world;
  AddVictims(&world, 2);
  for (Day day = 1; day <= 30; ++day) world.See(Account(kLiar, 1), Id(1 + day % 2), kFirst + day);
  EXPECT_THAT(Honest(world), SizeIs(2));
}

// People without a common project look like one person with two computers: the one thing that a liar can fake. Three
// accounts, or one in a hundred, and then nothing.
TEST(IdentityAttack, BySwingsOnPeopleWithoutACommonProjectIsBounded) {
  struct Case {
    std::uint64_t accounts;  // that the liar has
    std::uint64_t swinging;
    std::size_t joined;
  };
  for (const Case& c :
       {Case{1, 1, 1}, Case{3, 3, 3}, Case{4, 4, 0}, Case{50, 50, 0}, Case{400, 4, 4}, Case{400, 5, 0}}) {
    World world;
    for (std::uint64_t i = 1; i <= c.swinging; ++i) {
      world.See(Account(1, i), Id(2 * i), kFirst);
      world.See(Account(2, i), Id(2 * i + 1), kFirst);
    }
    for (std::uint64_t user = c.swinging + 1; user <= c.accounts; ++user)
      world.See(Account(kLiar, user), Id(10'000 + user), kFirst);
    for (Day day = 1; day <= 30; ++day) {
      for (std::uint64_t user = 1; user <= c.swinging; ++user)
        world.See(Account(kLiar, user), Id(2 * user + day % 2), kFirst + day);
    }
    EXPECT_THAT(Honest(world), SizeIs(2 * c.swinging - c.joined))
        << c.swinging << " of " << c.accounts << " accounts swing";
    EXPECT_EQ(SetsOf(world.Groups()), world.GroupsFromLinks());
  }
}

TEST(IdentityAttack, WithAChainOfInventedIdsJoinsNobody) {
  World world;
  AddVictims(&world, 2);
  const auto before = Honest(world);
  // 1 - x - 1001 - y - 1002 - z - 2, in both directions of time, and the liar's accounts swing.
  world.See(Account(kLiar, 1), Id(1), kFirst + 1);
  world.See(Account(kLiar, 1), Id(1001), kFirst + 2);
  world.See(Account(kLiar, 2), Id(1001), kFirst + 3);
  world.See(Account(kLiar, 2), Id(1002), kFirst + 4);
  world.See(Account(kLiar, 3), Id(1002), kFirst + 5);
  world.See(Account(kLiar, 3), Id(2), kFirst + 6);
  world.See(Account(kLiar, 3), Id(1002), kFirst + 7);
  EXPECT_EQ(Honest(world), before);
  // A member of the liar, whose client carries an invented id to an honest project, is led to one of them only.
  world.See(Account(3, 1), Id(1001), kFirst + 8);
  world.See(Account(3, 2), Id(1002), kFirst + 8);
  EXPECT_FALSE(world.Together(Account(1, 1), Account(1, 2)));
  EXPECT_EQ(SetsOf(world.Groups()), world.GroupsFromLinks());
}

TEST(IdentityAttack, WithAnInventedIdThatOthersUseLaterJoinsNobodyEstablished) {
  World world;
  AddVictims(&world, 1);
  world.See(Account(kLiar, 1), Id(1001), kFirst);   // the liar's own
  world.See(Account(3, 1), Id(1001), kFirst + 10);  // honest accounts attach to it
  world.See(Account(4, 1), Id(1001), kFirst + 10);
  world.See(Account(kLiar, 1), Id(1), kFirst + 20);  // only now the liar claims the victim's id
  EXPECT_FALSE(world.Together(Account(1, 1), Account(3, 1)));
  EXPECT_TRUE(world.Together(Account(3, 1), Account(4, 1)));
}

TEST(IdentityAttack, OnIdsOfAProjectThatIsNotKnownYetJoinsNobody) {
  for (const bool victim_first : {true, false}) {
    World world;
    ASSERT_TRUE(world.identities.AddProject(3, kFirst + 50).ok());
    AddVictims(&world, 1);
    world.See(Account(kLiar, 1), Id(victim_first ? 1 : 77), kFirst + 1);
    world.See(Account(kLiar, 1), Id(victim_first ? 77 : 1), kFirst + 2);
    world.See(Account(3, 5), Id(77), kFirst + 50);  // the first file of project 3; the account is years old
    EXPECT_FALSE(world.Together(Account(1, 1), Account(3, 5)));
  }
}

TEST(IdentityAttack, ByANewProjectWithOldAccountsTakesNobodyApart) {
  World world;
  ASSERT_TRUE(world.identities.AddProject(kLiar, kFirst + 50).ok());
  world.See(Account(3, 1), Id(5), kFirst);  // the first id of a new account, then the person's
  AddVictims(&world, 1);
  world.See(Account(3, 1), Id(1), kFirst + 1);
  const auto before = Honest(world);
  ASSERT_THAT(before, SizeIs(1));
  std::uint64_t user = 0;
  for (const std::uint64_t id : {1, 5}) world.See(Account(kLiar, ++user, 1), Id(id), kFirst + 50);
  EXPECT_EQ(Honest(world), before);
}

TEST(IdentityAttack, WithThousandsOfAccountsOnOneIdLeavesThePersonAlone) {
  World world;
  AddVictims(&world, 1);
  for (std::uint64_t user = 1; user <= 5000; ++user) world.See(Account(kLiar, user), Id(1), kFirst + 1);
  EXPECT_THAT(world.identities.AccountsOf(Account(1, 1)), SizeIs(2)) << "none of them is attached";
  CpidRow row;
  ASSERT_TRUE(world.cpids.Find(KeyOf(Id(1)), &row));
  EXPECT_THAT(row.holders, SizeIs(2)) << "and the row of the id stays small";
}

TEST(IdentityAttack, WithAForgedProofNeedsTheOtherSide) {
  World world;
  AddVictims(&world, 2);
  world.See(Account(kLiar, 1), Id(1), kFirst + 1);
  world.Add(Proof(Account(kLiar, 1), Account(2, 2), kFirst + 2));
  EXPECT_THAT(Honest(world), SizeIs(2));
}

}  // namespace
}  // namespace cobblestone::federation

// The rows are a function of the set of facts: any order of import and any repetition gives the same bits, and the
// incremental result equals one that is computed from all accounts at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/federation_identity_world.h"

namespace cobblestone::federation {
namespace {

constexpr Day kFrom = 100;

std::string DumpAfter(const std::vector<Fact>& facts) {
  World world;
  EXPECT_TRUE(
      world.identities.AddProject(4, kFrom + 15).ok());  // the others are known before their first fact
  for (const Fact& fact : facts) world.Add(fact);
  EXPECT_EQ(SetsOf(world.Groups()), world.GroupsFromLinks());
  return world.Dump();
}

TEST(IdentityOrder, OfSevenFactsMakesNoDifference) {
  const AccountKey a = Account(1, 1);
  const AccountKey b = Account(2, 1);
  const AccountKey c = Account(3, 1);
  std::vector<Fact> facts = {
      Sighting{.account = a, .cpid = Id(1), .day = 100},
      Sighting{.account = c, .cpid = Id(2), .day = 100},
      Sighting{.account = b, .cpid = Id(1), .day = 101},
      Sighting{.account = b, .cpid = Id(2), .day = 102},
      Sighting{.account = b, .cpid = Id(1), .day = 103, .sources = kFromRpc},
      Decision{.kind = DecisionKind::kCut, .account = a, .cpid = Id(1), .day = 104, .number = 1},
      Deletion{.project = 2, .user = 1, .day = 101},
  };
  std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6};
  const std::string expected = DumpAfter(facts);
  do {
    std::vector<Fact> permuted;
    for (const std::size_t i : order) permuted.push_back(facts[i]);
    ASSERT_EQ(DumpAfter(permuted), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Accounts of projects 2 and 3 confirm each other's tie of ids 1 and 2. A late fact shows that the account of project 2
// has shown five ids that others had before, so that it confirms nothing.
TEST(IdentityOrder, OfALateFactAboutAWitnessReachesWhoReliesOnIt) {
  for (const bool swings : {false, true}) {
    World world;
    for (std::uint32_t id = 1; id <= 4; ++id) world.See(Account(10 + id, 1), Id(id), 100);
    for (std::uint32_t id = 1; id <= 5; ++id) world.See(Account(2, 1), Id(id), 100 + id);
    world.See(Account(3, 1), Id(1), 110);
    world.See(Account(3, 1), Id(2), 111);
    if (swings) world.See(Account(3, 1), Id(1), 112);
    ASSERT_TRUE(world.Together(Account(11, 1), Account(12, 1)));
    const auto swingers = [&] { return world.projects.rows().at(ProjectKeyOf(3)).swingers; };
    EXPECT_EQ(swingers(), 0u) << "project 2 says the same";
    world.See(Account(15, 1), Id(5), 100);
    EXPECT_EQ(world.Together(Account(11, 1), Account(12, 1)), swings);
    EXPECT_EQ(swingers(), swings ? 1u : 0u);
    EXPECT_EQ(SetsOf(world.Groups()), world.GroupsFromLinks());
  }
}

// An account is noise by five established ids. An id on which its project is crowded is none of them, whenever another
// project shows that id.
TEST(IdentityOrder, OfAFactAboutACrowdedIdDoesNotReachTheCrowd) {
  World world;
  for (std::uint32_t id = 1; id <= 4; ++id) {
    world.See(Account(10 + id, 1), Id(id), 100);
    world.See(Account(2, 1), Id(id), 100 + id);
  }
  for (std::uint64_t user = 1; user <= 5; ++user) world.See(Account(2, user), Id(9), 110);
  world.See(Account(15, 1), Id(9), 100);
  AccountRow row;
  ASSERT_TRUE(FindAccount(world.tables(), Account(2, 1), &row));
  EXPECT_FALSE(row.noise);
  EXPECT_EQ(SetsOf(world.Groups()), world.GroupsFromLinks());
}

// Few accounts and ids, so that swings, crowds, noise, contradictions and limits all occur.
class FactMaker {
 public:
  explicit FactMaker(std::uint64_t seed) : random_(seed) {}

  std::vector<Fact> Facts(int count) {
    std::vector<Fact> facts;
    for (int i = 0; i < count; ++i) facts.push_back(OneFact());
    return facts;
  }

 private:
  std::uint64_t UpTo(std::uint64_t n) { return 1 + random_() % n; }
  Day OneDay() { return kFrom + static_cast<Day>(random_() % 30); }
  AccountKey OneAccount() {
    const std::uint64_t created = random_() % 4 == 0 ? 86400 * (kFrom + 15) : 86400 * 50;
    return {static_cast<std::uint32_t>(UpTo(4)), UpTo(7), created};
  }
  // Project 2 has up to four accounts that swing between ids of projects 1 and 3: one more than is believed.
  Sighting OneSwinger() {
    const std::uint64_t user = 10 + UpTo(4);
    const auto project = static_cast<std::uint32_t>(random_() % 3 == 0 ? 2 : UpTo(3));
    const std::uint64_t id = project == 2 ? random_() % 2 : (project == 3 ? 1 : 0);
    return {.account = {project, user, 86400 * 50}, .cpid = Id(100 + 2 * user + id), .day = OneDay()};
  }
  Fact OneFact() {
    const std::uint64_t kind = random_() % 100;
    if (kind < 40) return OneSwinger();
    if (kind < 88)
      return Sighting{.account = OneAccount(),
                      .cpid = Id(UpTo(9)),
                      .day = OneDay(),
                      .sources = static_cast<std::uint8_t>(UpTo(7))};
    if (kind < 91)
      return Deletion{.project = static_cast<std::uint32_t>(UpTo(4)), .user = UpTo(7), .day = OneDay()};
    AccountKey one = OneAccount();
    AccountKey two = OneAccount();
    if (one == two) two.user += 1;
    if (kind < 93) {
      if (one.project == two.project && one.user == two.user) ++two.user;
      return Proof(one, two, OneDay());
    }
    if (kind < 94)
      return Departure{
          .project = one.project, .user = one.user, .day = OneDay(), .returns = random_() % 2 == 0};
    Decision decision{
        .account = one, .day = OneDay(), .number = ++decisions_, .withdrawn = random_() % 3 == 0};
    decision.kind = static_cast<DecisionKind>(UpTo(3));
    if (decision.kind == DecisionKind::kCut) decision.cpid = Id(UpTo(9));
    if (decision.kind == DecisionKind::kJoin) decision.other = two;
    return decision;
  }

  std::mt19937_64 random_;
  std::uint64_t decisions_ = 0;
};

class IdentityOrderOf : public ::testing::TestWithParam<int> {};

TEST_P(IdentityOrderOf, RandomFactsMakesNoDifference) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<Fact> facts = FactMaker(seed).Facts(GetParam());
    const std::string expected = DumpAfter(facts);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 10; ++i) {
      std::shuffle(facts.begin(), facts.end(), random);
      std::vector<Fact> repeated = facts;
      repeated.insert(repeated.end(), facts.begin(), facts.begin() + GetParam() / 2);
      ASSERT_EQ(DumpAfter(repeated), expected) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, IdentityOrderOf, ::testing::Values(10, 30, 60, 150));

// What the random facts reach, so that the test above does not become empty.
TEST(IdentityOrder, OfRandomFactsReachesEveryRule) {
  std::map<Standing, int> standings;
  int disbelieved = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const int count : {30, 60, 150}) {
      World world;
      ASSERT_TRUE(world.identities.AddProject(4, kFrom + 15).ok());
      for (const Fact& fact : FactMaker(seed).Facts(count)) world.Add(fact);
      for (const auto& [identity, accounts] : world.Groups()) {
        const auto view = world.identities.Describe(identity);
        ASSERT_TRUE(view);
        for (const AccountView& account : view->accounts) {
          for (const EdgeView& edge : account.edges) ++standings[edge.standing];
        }
      }
      for (const auto& [key, project] : world.projects.rows()) disbelieved += SwingsBelieved(project) ? 0 : 1;
    }
  }
  for (const Standing standing :
       {Standing::kJoined, Standing::kSwing, Standing::kUnconfirmed, Standing::kContradicted,
        Standing::kNoise, Standing::kCrowded, Standing::kHeldByAnother, Standing::kCut})
    EXPECT_GT(standings[standing], 0) << static_cast<int>(standing);
  EXPECT_GT(disbelieved, 0);
}

}  // namespace
}  // namespace cobblestone::federation

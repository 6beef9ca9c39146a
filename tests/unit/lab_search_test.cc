// The search for attacks: it finds one that pays under `boinc` and none under `robust`, and what it finds is a file.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "services/lab/search.h"

namespace cobblestone {
namespace {

// The first results of a new world pay more (docs/lab.md), so it is long enough for them not to decide.
lab::SearchOptions Short(const std::string& policy, fleet::Replication replication) {
  lab::SearchOptions options{.lab = {.hosts = 50, .jobs = 600, .seeds = 2}, .attacks = 12, .seed = 5};
  options.lab.parameters = lab::LabParameters();
  options.lab.conditions = {{policy, replication, fleet::SizeModel::kNoisy}};
  return options;
}

TEST(LabSearch, FindsAnAttackThatPaysUnderBoincAndNoneUnderRobust) {
  const auto boinc = SearchAttack(Short("boinc", fleet::Replication::kSingle));
  ASSERT_TRUE(boinc.ok());
  EXPECT_GT(boinc->score, 1.10);
  const auto robust = SearchAttack(Short("robust", fleet::Replication::kAdvised));
  ASSERT_TRUE(robust.ok());
  EXPECT_LE(robust->score, 1.10) << lab::AttackText({.id = "S", .name = "s", .attack = robust->attack});
}

TEST(LabSearch, TheSameOptionsFindTheSameAttackAndKeepTheBest) {
  lab::SearchOptions options = Short("boinc", fleet::Replication::kSingle);
  options.lab.hosts = 10;
  options.lab.jobs = 20;
  double last = 0;
  options.progress = [&](std::uint32_t, double best) {
    EXPECT_GE(best, last);
    last = best;
  };
  const auto one = SearchAttack(options);
  last = 0;
  const auto two = SearchAttack(options);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->attack, two->attack);
  EXPECT_EQ(one->score, two->score);
  EXPECT_EQ(one->score, last);
}

TEST(LabSearch, InventedResultsAndAHandfulOfResultsCountByTheIncomeOfTheSameTime) {
  lab::Figures figures{.gain = 1.5, .income = 0.2, .honest_work = 0.1};
  EXPECT_EQ(ScoreOf(figures), 1.5);
  figures.honest_work = 0.09;
  EXPECT_EQ(ScoreOf(figures), 0.2);
  figures.gain = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ScoreOf(figures), 0.2);
}

TEST(LabSearch, AnAttackIsReadFromItsTextAsItWas) {
  const fleet::Attack usual;
  fleet::Attack all;
  all.start = 5;
  all.pattern = fleet::ClaimPattern::kSawtooth;
  all.anonymous = true;
  all.fabricate_share = 0.25;
  all.reports = 7;
  all.build = 12;
  all.late_every = 7;
  all.rehome = false;  // not together with identities
  all.version_every = 9;
  all.repeat = 2;
  all.channel = fleet::ClaimChannel::kBenchmark;
  all.factor = 24.5;
  all.growth = 1.0005;
  all.period = 7;
  all.first_jobs = 9;
  all.benchmark = 1e9;
  all.fabricate = true;
  all.keep_share = 0.97;
  all.unwanted = fleet::Unwanted::kWithheld;
  all.fail_every = 8;
  all.recycle_every = 50;
  all.identity = fleet::NewIdentity::kAccount;
  for (const fleet::Attack& attack : {usual, all}) {
    const std::string text =
        lab::AttackText({.id = "S1", .name = "found", .share = 0.02, .versions = 4, .attack = attack});
    const auto read = lab::ParseAttack("found.yaml", text);
    ASSERT_TRUE(read.ok()) << read.status().message() << text;
    EXPECT_EQ(read->attack, attack);
    EXPECT_EQ(read->share, 0.02);
    EXPECT_EQ(read->id, "S1");
  }
}

}  // namespace
}  // namespace cobblestone

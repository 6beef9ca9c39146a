// What a project's records tell about its hosts: a simulated world whose parameters are known is written as events, read
// back and fitted. Each tolerance is at least four standard errors of its estimate, so no seed is a lucky one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "services/events/event_file.h"
#include "services/fleet/fleet.h"
#include "services/history/event_history.h"
#include "services/history/fit.h"
#include "services/history/fit_statistics.h"
#include "services/lab/attack_file.h"
#include "services/lab/fitted_world.h"
#include "services/lab/report.h"
#include "services/lab/world.h"
#include "tests/support/temp_dir.h"

namespace cobblestone {
namespace {

using history::Fit;
using history::History;
using history::ValidResult;
using ::testing::HasSubstr;

// ---- Estimators ----------------------------------------------------------------------------------------

TEST(FitStatistics, NoiseIsWhatTwoHostsDifferByForTheSameJob) {
  // Large groups: half of the mean square of 0.3 and 0.1.
  const history::Pair large[] = {{0.3, 1e9, 1e9}, {-0.1, 1e9, 1e9}};
  EXPECT_NEAR(history::NoiseVariance(large, 1), 0.025, 1e-6);
  // Groups of 2: 1 = noise (2 - 1/2 - 1/2) + (2 - noise) (1/2 + 1/2 - 2/4), so noise = 0.
  const history::Pair small[] = {{1, 2, 2}};
  EXPECT_NEAR(history::NoiseVariance(small, 2), 0, 1e-12);
  // 1 = noise + (1 - noise)/2.
  EXPECT_NEAR(history::NoiseVariance(small, 1), 1, 1e-12);
  EXPECT_EQ(history::NoiseVariance({}, 1), 0);
}

TEST(FitStatistics, TheSpreadOfHostsIsThatOfTheirMeansLessTheNoiseOfAMean) {
  // Means 0 and 2 in one version: variance 2, of which each mean has 1/2 by chance. Version 8 has one host.
  const history::Group groups[] = {{1, 7, 2, 0, 1}, {2, 7, 2, 2, 1}, {3, 8, 2, 50, 1}};
  EXPECT_DOUBLE_EQ(history::VarianceWithin(groups), 1);
  std::uint64_t counted = 0;
  EXPECT_NEAR(history::SpreadOfHosts(groups, 1, &counted), std::sqrt(1.5), 1e-12);
  EXPECT_EQ(counted, 2u);
}

TEST(FitStatistics, EqualFailureRatesHaveNoSpreadAndExtremeOnesHave) {
  const std::vector<history::Failures> equal(50, {.jobs = 1000, .failed = 100});
  EXPECT_EQ(history::SigmaOfRates(equal, 0.1), 0);
  std::vector<history::Failures> extreme(50, {.jobs = 1000, .failed = 10});
  extreme.resize(60, {.jobs = 1000, .failed = 500});
  EXPECT_GT(history::SigmaOfRates(extreme, 0.09), 1);
}

// ---- History -------------------------------------------------------------------------------------------

ValidResult ResultOf(std::uint64_t workunit, std::uint64_t host, double elapsed = 1000) {
  return {.workunit = WorkunitId(workunit),
          .host = HostId(host),
          .user = UserId(host),
          .version = AppVersionId(11),
          .elapsed_time = elapsed,
          .cpu_time = elapsed,
          .peak_flops = 2e9,
          .fpops_est = 1e12,
          .fpops_bound = 1e13,
          .delay_bound = 86400,
          .turnaround = 5000,
          .replicas = 1};
}

History HistoryOf(int results, AppId wanted = {}) {
  History history(wanted);
  for (int i = 0; i < results; ++i)
    history.TakeResult(AppId(1), credit::PolicyKind::kBoinc,
                       ResultOf(static_cast<std::uint64_t>(i), 1 + static_cast<std::uint64_t>(i) % 20));
  return history;
}

TEST(FitErrors, NoResultsTooFewAndSeveralAppsNameTheNextStep) {
  const auto message = [](const History& history) {
    const auto fit = history::FitOf(history);
    return fit.ok() ? "" : fit.status().message();
  };
  EXPECT_THAT(message(HistoryOf(0)), HasSubstr("no valid results"));
  EXPECT_THAT(message(HistoryOf(150)), HasSubstr("too few results for a fit: 150 of app 1"));
  EXPECT_THAT(message(HistoryOf(300, AppId(2))), HasSubstr("no valid results of app 2"));
  History several = HistoryOf(300);
  several.TakeApp({.id = AppId(1), .name = "sixtrack"});
  several.TakeResult(AppId(2), credit::PolicyKind::kBoinc, ResultOf(1, 1));
  EXPECT_THAT(message(several),
              HasSubstr("several apps: 1 sixtrack (300 results), 2 (1 result); choose one with --app"));
  History few_hosts({});
  for (std::uint64_t i = 0; i < 300; ++i)
    few_hosts.TakeResult(AppId(1), credit::PolicyKind::kBoinc, ResultOf(i, 1 + i % 9));
  EXPECT_THAT(message(few_hosts), HasSubstr("only 9 hosts have five results"));
  EXPECT_EQ(message(HistoryOf(300)), "");
}

TEST(FitErrors, ResultsWithoutAUsableRunTimeAreLeftOut) {
  History history = HistoryOf(300);
  for (const double elapsed : {0.0, -1.0, 1e12, std::nan("")})
    history.TakeResult(AppId(1), credit::PolicyKind::kBoinc, ResultOf(1, 1, elapsed));
  const auto fit = history::FitOf(history);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->results, 304u);
  EXPECT_EQ(fit->left_out, 4u);
  EXPECT_EQ(fit->Find(history::kRunTime)->value, 1000);
}

TEST(FitHistory, OfALongLedgerWholeWorkunitsAreKept) {
  History history(AppId(1));
  constexpr std::uint64_t kWorkunits = History::kMostRows * 3 / 4;
  for (const std::uint64_t host : {1, 2})
    for (std::uint64_t workunit = 0; workunit < kWorkunits; ++workunit)
      history.TakeResult(AppId(1), credit::PolicyKind::kBoinc, ResultOf(workunit, host));
  EXPECT_LE(history.rows().size(), History::kMostRows);
  EXPECT_GT(history.rows().size(), History::kMostRows / 3);
  std::map<std::uint64_t, int> results;
  for (const history::ResultRow& row : history.rows()) ++results[row.workunit];
  EXPECT_EQ(results.size() * 2, history.rows().size());
  EXPECT_EQ(history.results().at(1), 2 * kWorkunits);
}

// ---- Round trip ----------------------------------------------------------------------------------------

fleet::FleetOptions KnownWorld(std::uint64_t seed, fleet::Replication replication) {
  fleet::FleetOptions world;
  world.seed = seed;
  world.hosts = 200;
  world.days = 10;
  world.projects = 1;
  world.policy = "creditnew";
  fleet::Parameters& p = world.parameters = lab::LabParameters();
  p.core_speed_sigma = 0.4;
  p.runtime_noise = 0.15;
  p.gpu_hosts = 0.4;
  p.gpu_peak_mu = 4.28;
  p.gpu_peak_sigma = 0.5;
  p.error_rate = 0.06;
  p.abort_rate = 0.02;
  p.wrong_rate = 0.02;
  p.bound_factor = 50;
  p.hosts_per_user = 1.5;
  p.anonymous_hosts = 0.1;
  p.cpu_jobs_limit = p.gpu_jobs_limit = 1000;  // so that buffers determine how long jobs wait
  world.apps = {{.name = "known",
                 .fpops_est = 6e12,
                 .size = fleet::SizeModel::kNoisy,
                 .replication = replication,
                 .delay_bound = 5 * 86400.0,
                 .cpu = true,
                 .gpu = true,
                 .threads = 1,
                 .size_classes = 1,
                 .trickles = false,
                 .weight = 1,
                 .source = ""}};
  return world;
}

// The fit of the events that the world sends.
Fit FitOfWorld(const fleet::FleetOptions& options) {
  const testing::TempDir dir;
  auto writer = events::EventWriter::Open(dir / "events.pb");
  EXPECT_TRUE(writer.ok());
  fleet::Fleet world(options, {});
  std::string_view event;
  while (world.Next(&event)) EXPECT_TRUE((*writer)->Write(event).ok());
  EXPECT_TRUE((*writer)->Close().ok());
  const auto read = history::ReadEvents(dir / "events.pb", ProjectId(1), {}, {});
  EXPECT_TRUE(read.ok()) << read.status().message();
  auto fit = history::FitOf(*read);
  EXPECT_TRUE(fit.ok()) << fit.status().message();
  return *std::move(fit);
}

class RoundTrip : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RoundTrip, TheParametersOfTheWorldAreFound) {
  const Fit fit = FitOfWorld(KnownWorld(GetParam(), fleet::Replication::kQuorum));
  struct {
    std::string_view name;
    double value;
    double tolerance;
  } const expected[] = {
      {history::kEstimate, 6e12, 1e6},
      {"bound_factor", 50, 1e-6},
      {history::kDelayBound, 5 * 86400.0, 1},
      {history::kSingleShare, 0, 0},
      {"quorum", 2, 0},
      {"cpu_efficiency", 0.9, 0.01},
      // The benchmark's noise of 0.1 is part of both spreads.
      {"core_speed_mu", 1.067, 0.12},
      {"core_speed_sigma", 0.412, 0.085},
      {"failed_benchmarks", 0, 0},
      {"cpu_samples", 2, 0.25},
      {"cpu_samples_sigma", 0.316, 0.065},
      {"gpu_samples", 12.5, 3.5},
      {"gpu_samples_sigma", 0.4, 0.14},
      {"runtime_noise", 0.15, 0.01},
      {history::kSizeSigma, 0.6, 0.02},
      {"error_rate", 0.06, 0.024},
      {"error_rate_sigma", 1, 0.35},
      {"abort_rate", 0.02, 0.004},
      // Of the jobs that returned: 0.02/0.92.
      {"wrong_rate", 0.0217, 0.004},
      {"hosts_per_user", 1.5, 0.3},
      {"anonymous_hosts", 0.1, 0.085},
      {"gpu_hosts", 0.4, 0.14},
      {"gpu_peak_mu", 4.28, 0.25},
      {"gpu_peak_sigma", 0.5, 0.17},
  };
  for (const auto& [name, value, tolerance] : expected) {
    const history::FittedFigure* figure = fit.Find(name);
    ASSERT_NE(figure, nullptr) << name;
    EXPECT_NEAR(figure->value, value, tolerance) << name;
    EXPECT_GT(figure->results + figure->hosts, 0u) << name;
  }
  EXPECT_EQ(fit.policies, std::vector<std::string>{"creditnew"});
  // The sizes are those of a log-normal variable with sigma 0.6: parts 32 and 58 of 64 lie at its quantiles 0.508 and
  // 0.914.
  EXPECT_NEAR(fit.sizes[32], std::exp(0.6 * 0.02), 0.04);
  EXPECT_NEAR(fit.sizes[58], std::exp(0.6 * 1.366), 0.12);

  lab::LabOptions options;
  lab::UseFit(fit, &options);
  EXPECT_EQ(lab::ReplicationOf(fit), fleet::Replication::kQuorum);
  EXPECT_NEAR(options.parameters.buffer_min, 0.1, 0.04);
  EXPECT_EQ(options.parameters.benchmark_noise, 0);
  EXPECT_TRUE(options.app->cpu && options.app->gpu);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, ::testing::Values(1, 2, 3));

TEST(FitRoundTrip, SingleResultsDoNotTellNoiseFromSizes) {
  const Fit fit = FitOfWorld(KnownWorld(1, fleet::Replication::kSingle));
  EXPECT_EQ(fit.Find(history::kSingleShare)->value, 1);
  EXPECT_EQ(lab::ReplicationOf(fit), fleet::Replication::kSingle);
  EXPECT_EQ(fit.Find("runtime_noise"), nullptr);
  EXPECT_EQ(fit.Find("wrong_rate"), nullptr);
  // What single results show is sqrt(0.6^2 + 0.15^2), of which the default noise of 0.08 is taken.
  EXPECT_NEAR(fit.Find(history::kSizeSigma)->value, std::sqrt(0.36 + 0.0225 - 0.0064), 0.02);
  const std::string text = lab::FitText(fit);
  EXPECT_THAT(text, HasSubstr("runtime_noise                   0.08     fewer than 50 pairs"));
  EXPECT_THAT(text, HasSubstr("world of app 1 known: "));
}

TEST(FitRoundTrip, AdaptiveReplicationIsRecognized) {
  const Fit fit = FitOfWorld(KnownWorld(1, fleet::Replication::kAdaptive));
  EXPECT_GT(fit.Find(history::kSingleShare)->value, 0.2);
  EXPECT_LT(fit.Find(history::kSingleShare)->value, 0.95);
  EXPECT_EQ(lab::ReplicationOf(fit), fleet::Replication::kAdaptive);
  EXPECT_NEAR(fit.Find("runtime_noise")->value, 0.15, 0.02);
}

TEST(FitRoundTrip, BimodalSizesKeepTheirShape) {
  fleet::FleetOptions options = KnownWorld(1, fleet::Replication::kQuorum);
  options.apps[0].size = fleet::SizeModel::kBimodal;
  const Fit fit = FitOfWorld(options);
  // 1.95/0.05 = 39: the halves are far apart, and each is narrow.
  EXPECT_NEAR(std::log(fit.sizes[50] / fit.sizes[13]), std::log(39), 0.15);
  EXPECT_LT(fit.sizes[25] / fit.sizes[6], 1.5);
  EXPECT_LT(fit.sizes[57] / fit.sizes[38], 1.5);
}

TEST(FitJson, IsReadAsItWasWritten) {
  Fit fit = *history::FitOf(HistoryOf(300));
  fit.left_out = 3;
  fit.app_name = "sixtrack";
  const auto read = history::ParseFit(history::FitJson(fit));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(history::FitJson(*read), history::FitJson(fit));
  EXPECT_EQ(history::ParseFit({{"app", 1}}).status().code(), StatusCode::kCorrupted);
}

// ---- The simulated world -------------------------------------------------------------------------------

TEST(FittedWorld, SimulatesTheMeasuredSizes) {
  lab::LabOptions options{.hosts = 50, .jobs = 60};
  options.parameters = lab::LabParameters();
  fleet::FleetOptions world = lab::WorldOf(options, {.policy = "boinc"}, 0, {}, 1);
  world.apps[0].size = fleet::SizeModel::kMeasured;
  world.apps[0].sizes.fill(1);
  for (std::size_t i = 32; i < 64; ++i) world.apps[0].sizes[i] = 3;
  std::map<double, int> sizes;  // in multiples of the estimate
  const double of_one =
      world.apps[0].fpops_est * world.parameters.cpu_samples * 200 / 86400e9;  // deserved Cobblestones
  fleet::Fleet fleet(world, [&](const fleet::Truth& row) {
    ++sizes[std::round(static_cast<double>(row.deserved_micro) / 1e6 / of_one)];
  });
  std::string_view event;
  while (fleet.Next(&event)) {
  }
  ASSERT_EQ(sizes.size(), 2u);
  const double share = static_cast<double>(sizes[3]) / (sizes[1] + sizes[3]);
  EXPECT_NEAR(share, 0.5, 0.1);
}

TEST(FittedWorld, GpusAreSlowedDownAndValuesStayInTheirRanges) {
  Fit fit = *history::FitOf(HistoryOf(300));
  fit.figures.push_back({"bound_factor", 1e9, 1, 0});
  std::erase_if(fit.figures, [](const history::FittedFigure& f) { return f.name == "gpu_hosts"; });
  for (const auto& [name, value] : {std::pair<const char*, double>{"gpu_hosts", 0.5},
                                    {"gpu_samples", 10},
                                    {"cpu_samples", 2},
                                    {"core_speed_mu", 1},
                                    {"gpu_peak_mu", 8},
                                    {"gpu_peak_sigma", 1.2}})
    fit.figures.push_back({name, value, 1, 1});
  lab::LabOptions options;
  lab::UseFit(fit, &options);
  EXPECT_EQ(options.parameters.bound_factor, 1e6);
  // Four times e/2 x 10.
  EXPECT_NEAR(options.parameters.gpu_peak_mu, 1 - std::log(2) + std::log(4) + std::log(10), 1e-9);
  EXPECT_EQ(options.parameters.gpu_peak_sigma, 0.5);
}

// What the fit is for: an attack gains as much in the fitted world as in the world that the records are of.
TEST(FittedWorld, AttacksGainWhatTheyGainInTheOriginal) {
  lab::LabOptions original{.hosts = 60, .jobs = 150, .seeds = 1};
  original.parameters = lab::LabParameters();
  original.parameters.error_rate = 0.03;
  original.conditions = {{.policy = "boinc"}};
  const auto attacks = lab::ReadAttacks({COBBLESTONE_SOURCE_DIR "/config/attacks/a00-none.yaml",
                                         COBBLESTONE_SOURCE_DIR "/config/attacks/a02-bound.yaml",
                                         COBBLESTONE_SOURCE_DIR "/config/attacks/a08-cherry-pick.yaml",
                                         COBBLESTONE_SOURCE_DIR "/config/attacks/a10-recycle.yaml"});
  ASSERT_TRUE(attacks.ok()) << attacks.status().message();
  original.attacks = *attacks;
  // Six attackers: the gain of a single one depends on how efficient its machine is.
  for (lab::NamedAttack& attack : original.attacks) attack.share = 0.1;
  const Fit fit = FitOfWorld(lab::WorldOf(original, original.conditions[0], 0, {}, 77));
  lab::LabOptions fitted = original;
  lab::UseFit(fit, &fitted);
  fitted.conditions[0].sizes = fleet::SizeModel::kMeasured;
  fitted.conditions[0].replication = lab::ReplicationOf(fit);
  const auto expected = lab::RunLaboratory(original);
  const auto measured = lab::RunLaboratory(fitted);
  ASSERT_TRUE(expected.ok() && measured.ok());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const double gain = lab::SpreadOf((*expected)[i], &lab::Figures::gain).mean;
    EXPECT_NEAR(lab::SpreadOf((*measured)[i], &lab::Figures::gain).mean / gain, 1, i == 0 ? 1e-9 : 0.3)
        << (*expected)[i].id << ": " << gain;
  }
}

TEST(PayingText, NamesTheAttacksThatPayByGainOrByIncome) {
  const auto row = [](const char* id, const char* policy, double gain, double income) {
    lab::Measurement measurement{.id = id, .name = id, .condition = {.policy = policy}};
    measurement.seeds.push_back({.gain = gain, .income = income});
    return measurement;
  };
  const double unbounded = std::numeric_limits<double>::infinity();
  lab::Measurement uncertain = row("A3", "boinc", 2, 1);
  uncertain.seeds.push_back({.gain = 1});
  EXPECT_EQ(lab::PayingText({row("A1", "boinc", 1.2, 1), row("A2", "boinc", 9, 1), uncertain,
                             row("B2", "boinc", unbounded, 40), row("A1", "robust", 1.05, 1),
                             row("B2", "robust", unbounded, 0.1)}),
            "boinc, single replication, noisy sizes: 3 of 4 attacks pay:\n"
            "  B2 40.00, A2 9.00, A1 1.20\n"
            "  perhaps, more seeds would tell: A3 1.50\n"
            "robust, single replication, noisy sizes: 0 of 2 attacks pay\n");
}

}  // namespace
}  // namespace cobblestone

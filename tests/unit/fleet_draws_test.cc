// Draws of the fleet simulator: known answers, so that a seed means the same traffic on every machine, and the
// distributions that the names promise. Bounds are five standard errors of the sample: a correct generator passes with
// any seed but one in a million.
#include "services/fleet/draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "common/base/exp.h"

namespace cobblestone {

using fleet::Draws;
using fleet::Log;
using fleet::NormalQuantile;
using fleet::Philox;
using fleet::PhiloxBlock;
using fleet::Stream;

namespace {

constexpr int kSample = 100'000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments MomentsOf(const std::function<double(std::uint64_t entity)>& draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kSample; ++i) {
    const double x = draw(static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kSample;
  return {mean, squares / kSample - mean * mean};
}

double StandardError(double variance) { return std::sqrt(variance / kSample); }

// From the file kat_vectors of Random123, the library of the authors.
TEST(FleetDraws, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(FleetDraws, LogIsWithinTwoUnitsInTheLastPlace) {
  const Draws draws(1);
  for (std::uint64_t i = 0; i < kSample; ++i) {
    const auto [u, v] = draws.Uniforms(Stream::kUser, i, 0);
    for (const double x : {u, 0.5 + v, std::ldexp(u, static_cast<int>(v * 2000) - 1000)}) {
      const auto exact = static_cast<double>(std::log(static_cast<long double>(x)));
      const double unit = std::nextafter(std::fabs(exact), INFINITY) - std::fabs(exact);
      ASSERT_LE(std::fabs(Log(x) - exact), 2 * unit) << x;
    }
  }
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Log(0x1p-1074), std::log(0x1p-1074));  // the smallest number
}

// Expected: Python's statistics.NormalDist().inv_cdf, an independent program of the same algorithm with libm's log.
TEST(FleetDraws, NormalQuantilesAreThoseOfTheTable) {
  struct Row {
    double p;
    double quantile;
  };
  for (const Row& row :
       {Row{1e-300, -37.0470962993612}, Row{1e-20, -9.262340089798405}, Row{1e-10, -6.361340902404056},
        Row{1e-05, -4.2648907939228256}, Row{0.001, -3.090232306167813}, Row{0.05, -1.6448536269514726},
        Row{0.075, -1.4395314709384557}, Row{0.0750001, -1.4395307645017297}, Row{0.3, -0.5244005127080407},
        Row{0.6, 0.2533471031357998}, Row{0.925, 1.439531470938456}, Row{0.95, 1.6448536269514715},
        Row{0.999, 3.090232306167813}}) {
    EXPECT_NEAR(NormalQuantile(row.p), row.quantile, 4e-16 * std::fabs(row.quantile)) << row.p;
  }
  EXPECT_EQ(NormalQuantile(0.5), 0);
}

// The bits are promised: reports name a seed, not a file.
TEST(FleetDraws, DrawsAlwaysHaveTheSameBits) {
  const Draws draws(20261127);
  EXPECT_EQ(draws.Uniform(Stream::kHost, 7, 3), 0x1.c1dff051a6a98p-4);
  EXPECT_EQ(draws.Normal(Stream::kHost, 7, 3), -0x1.3a3815ff2246p+0);
  EXPECT_EQ(draws.Gamma(2.5, Stream::kHost, 7, 3), 0x1.a197fc8b82e74p-1);
  EXPECT_EQ(fleet::LogNormal(1, 0.5, 0.3), 0x1.0bb0ab15cbdbep+1);
  EXPECT_EQ(fleet::Weibull(0.58, 135, 0.3), 0x1.73d77674d1ca1p+7);
  EXPECT_EQ(fleet::Exponential(10, 0.3), 0x1.814573bed10e9p+3);
}

TEST(FleetDraws, SeedStreamEntityAndCounterEachSelectADraw) {
  const Draws draws(1);
  const PhiloxBlock block = draws.Bits(Stream::kHost, 1, 1);
  EXPECT_EQ(block, Draws(1).Bits(Stream::kHost, 1, 1));
  EXPECT_NE(block, Draws(1 + (std::uint64_t{1} << 32)).Bits(Stream::kHost, 1, 1));
  EXPECT_NE(block, draws.Bits(Stream::kUser, 1, 1));
  EXPECT_NE(block, draws.Bits(Stream::kHost, 1 + (std::uint64_t{1} << 32), 1));
  EXPECT_NE(block, draws.Bits(Stream::kHost, 1, 2));
}

TEST(FleetDraws, SamplesHaveTheMomentsOfTheirDistribution) {
  const Draws draws(1);
  const auto uniform = [&](std::uint64_t i) { return draws.Uniform(Stream::kUser, i, 0); };
  const Moments flat = MomentsOf(uniform);
  EXPECT_NEAR(flat.mean, 0.5, 5 * StandardError(1.0 / 12));
  // Var(x^2) of a uniform x is below 1/10.
  EXPECT_NEAR(flat.variance, 1.0 / 12, 5 * StandardError(0.1));

  const Moments normal = MomentsOf([&](std::uint64_t i) { return draws.Normal(Stream::kUser, i, 0); });
  EXPECT_NEAR(normal.mean, 0, 5 * StandardError(1));
  EXPECT_NEAR(normal.variance, 1, 5 * StandardError(2));  // the variance of x^2 is 2

  const double log_mean = std::exp(0.5 * 0.25);
  const Moments log_normal = MomentsOf([&](std::uint64_t i) { return fleet::LogNormal(0, 0.5, uniform(i)); });
  EXPECT_NEAR(log_normal.mean, log_mean, 5 * StandardError(log_mean * log_mean * (std::exp(0.25) - 1)));

  const Moments exponential = MomentsOf([&](std::uint64_t i) { return fleet::Exponential(3, uniform(i)); });
  EXPECT_NEAR(exponential.mean, 3, 5 * StandardError(9));

  const double weibull_mean = 135 * std::tgamma(1 + 1 / 0.58);
  const double weibull_square = 135 * 135 * std::tgamma(1 + 2 / 0.58);
  const Moments weibull = MomentsOf([&](std::uint64_t i) { return fleet::Weibull(0.58, 135, uniform(i)); });
  EXPECT_NEAR(weibull.mean, weibull_mean, 5 * StandardError(weibull_square - weibull_mean * weibull_mean));

  const Moments gamma = MomentsOf([&](std::uint64_t i) { return draws.Gamma(2.5, Stream::kUser, i, 0); });
  EXPECT_NEAR(gamma.mean, 2.5, 5 * StandardError(2.5));
  EXPECT_NEAR(gamma.variance, 2.5, 5 * StandardError(3 * 2.5 * 2.5 + 6 * 2.5));  // the fourth central moment
}

// Draws of neighbours are not correlated: over streams, entities and counters.
TEST(FleetDraws, NeighboursAreUncorrelated) {
  const Draws draws(1);
  const auto product = [&](Stream stream, std::uint64_t entity_step, std::uint32_t counter) {
    return MomentsOf([&, stream, entity_step, counter](std::uint64_t i) {
             return (draws.Uniform(Stream::kUser, i, 0) - 0.5) *
                    (draws.Uniform(stream, i + entity_step, counter) - 0.5);
           })
        .mean;
  };
  const double bound = 5 * StandardError(1.0 / 144);
  EXPECT_NEAR(product(Stream::kHost, 0, 0), 0, bound);
  EXPECT_NEAR(product(Stream::kUser, 1, 0), 0, bound);
  EXPECT_NEAR(product(Stream::kUser, 0, 1), 0, bound);
}

}  // namespace
}  // namespace cobblestone

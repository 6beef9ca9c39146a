#include "services/history/fit_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace cobblestone::history {

double QuantileOf(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

MeanAndSigma MeanAndSigmaOf(std::span<const double> values) {
  if (values.empty()) return {};
  MeanAndSigma result;
  for (const double value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sigma = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

double VarianceWithin(std::span<const Group> groups) {
  double squares = 0;
  double freedom = 0;
  for (const Group& group : groups) {
    squares += group.squares;
    freedom += group.n - 1;
  }
  return freedom > 0 ? squares / freedom : 0;
}

double SpreadOfHosts(std::span<const Group> groups, double within, std::uint64_t* counted) {
  std::map<std::int64_t, std::vector<const Group*>> versions;
  for (const Group& group : groups) versions[group.version].push_back(&group);
  double squares = 0;
  double expected = 0;  // of `squares`, from results within hosts
  double freedom = 0;
  *counted = 0;
  for (const auto& [version, hosts] : versions) {
    if (hosts.size() < 2) continue;
    const auto n = static_cast<double>(hosts.size());
    double mean = 0;
    for (const Group* host : hosts) mean += host->mean / n;
    for (const Group* host : hosts) {
      squares += (host->mean - mean) * (host->mean - mean);
      expected += within / host->n * (n - 1) / n;
    }
    freedom += n - 1;
    *counted += hosts.size();
  }
  return freedom > 0 ? std::sqrt(std::max(0.0, (squares - expected) / freedom)) : 0;
}

double NoiseVariance(std::span<const Pair> pairs, double within) {
  double squares = 0;
  double of_noise = 0;  // factors of the two variances
  double of_sizes = 0;
  for (const Pair& pair : pairs) {
    squares += pair.difference * pair.difference;
    of_noise += 2 - 1 / pair.a - 1 / pair.b;
    of_sizes += 1 / pair.a + 1 / pair.b - 2 / (pair.a * pair.b);
  }
  return of_noise > of_sizes ? std::max(0.0, (squares - within * of_sizes) / (of_noise - of_sizes)) : 0;
}

double SigmaOfRates(std::span<const Failures> hosts, double mean) {
  // Hosts with equal counts are equally likely.
  std::map<std::pair<double, double>, double> counts;
  for (const Failures& host : hosts) ++counts[{host.jobs, host.failed}];
  constexpr double kStep = 0.05;
  constexpr double kGreatest = 2.5;
  constexpr double kMostRate = 0.9;  // of a simulated host
  constexpr int kPoints = 33;        // of the normal distribution, from -4 to 4
  double best_sigma = 0;
  double best = -std::numeric_limits<double>::infinity();
  for (double sigma = 0; sigma < kGreatest + kStep / 2; sigma += kStep) {
    std::array<double, kPoints> weight{};
    std::array<double, kPoints> log_rate{};
    std::array<double, kPoints> log_rest{};
    double all = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double z = -4 + 0.25 * static_cast<double>(i);
      const double rate = std::min(kMostRate, mean * std::exp(-sigma * sigma / 2 + sigma * z));
      weight[i] = std::exp(-z * z / 2);
      all += weight[i];
      log_rate[i] = std::log(rate);
      log_rest[i] = std::log1p(-rate);
    }
    double likelihood = 0;
    for (const auto& [host, n] : counts) {
      const auto& [jobs, failed] = host;
      std::array<double, kPoints> terms{};
      for (std::size_t i = 0; i < kPoints; ++i)
        terms[i] = failed * log_rate[i] + (jobs - failed) * log_rest[i];
      const double greatest = *std::max_element(terms.begin(), terms.end());
      double sum = 0;
      for (std::size_t i = 0; i < kPoints; ++i) sum += weight[i] / all * std::exp(terms[i] - greatest);
      likelihood += n * (greatest + std::log(sum));
    }
    if (likelihood > best) {
      best = likelihood;
      best_sigma = sigma;
    }
  }
  return best_sigma;
}

}  // namespace cobblestone::history

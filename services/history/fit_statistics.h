// Estimators of the fit. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cobblestone::history {

// The value below which this share of the values lies; 0 for none.
double QuantileOf(std::vector<double> values, double share);

struct MeanAndSigma {
  double mean = 0;
  double sigma = 0;  // of a sample; 0 for fewer than two values
};
MeanAndSigma MeanAndSigmaOf(std::span<const double> values);

// ln(PFC/E) of the results of one host with one app version.
struct Group {
  std::uint64_t host = 0;
  std::int64_t version = 0;
  double n = 0;
  double mean = 0;
  double squares = 0;  // sum of squared deviations from the mean
};

// Pooled variance within groups; 0 if none has two results.
double VarianceWithin(std::span<const Group> groups);

// The sigma over hosts of their true means: the spread of the groups' means around those of their version, less what
// `within` adds to a mean of few results. `counted`: the groups that could be compared.
double SpreadOfHosts(std::span<const Group> groups, double within, std::uint64_t* counted);

// Two results of one workunit, each less the mean of its group.
struct Pair {
  double difference = 0;
  double a = 0;  // results of its group
  double b = 0;
};
// The variance of run times that has nothing to do with the job. A result is part of the mean of its group, so
// E[d^2] = noise (2 - 1/a - 1/b) + sizes (1/a + 1/b - 2/ab), with noise + sizes = within.
double NoiseVariance(std::span<const Pair> pairs, double within);

// A host's jobs, and how many of them failed.
struct Failures {
  double jobs = 0;
  double failed = 0;
};
// The sigma of log-normal failure rates with this mean over hosts under which the counts are most likely.
double SigmaOfRates(std::span<const Failures> hosts, double mean);

}  // namespace cobblestone::history

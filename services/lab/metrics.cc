#include "services/lab/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

namespace cobblestone::lab {
namespace {

constexpr std::size_t kWarmUp = 50;  // jobs of a host
constexpr std::size_t kWindow = 20;  // jobs
constexpr double kTolerance = 0.05;
constexpr std::size_t kFewest = 10;  // grants of an account or of a host whose ratio counts
constexpr double kPercentile = 0.01;

double Quotient(double a, double b) {
  if (b > 0) return a / b;
  return a > 0 ? std::numeric_limits<double>::infinity() : 0;
}

struct Sums {
  double granted = 0;
  double deserved = 0;
  std::size_t jobs = 0;

  void Add(const GrantedJob& job) {
    granted += job.granted;
    deserved += job.deserved;
    ++jobs;
  }
  [[nodiscard]] double ratio() const { return Quotient(granted, deserved); }
};

struct Summary {
  Sums honest;
  Sums attackers;
  std::map<std::uint32_t, Sums> persons;
  std::map<std::uint64_t, std::pair<std::uint32_t, Sums>> accounts;  // of attackers
  std::map<std::uint32_t, Sums> devices;                             // honest, after the warm-up
  std::unordered_map<std::uint64_t, Sums> hosts;                     // honest
  std::unordered_map<std::uint64_t, std::vector<double>> ratios;     // of each honest host, in order
  Sums halves[2];                // of all grants: those of honest hosts after the warm-up
  double attackers_granted = 0;  // without a limit
};

Summary SummaryOf(const WorldOutcome& world, std::uint64_t limit) {
  Summary sums;
  for (const GrantedJob& job : world.jobs) {
    const bool second = 2 * static_cast<std::size_t>(&job - world.jobs.data()) >= world.jobs.size();
    if (job.person == 0) {
      sums.honest.Add(job);
      sums.hosts[job.host].Add(job);
      if (job.deserved <= 0) continue;
      std::vector<double>& ratios = sums.ratios[job.host];
      ratios.push_back(job.granted / job.deserved);
      if (ratios.size() <= kWarmUp) continue;
      sums.devices[job.device].Add(job);
      sums.halves[second ? 1 : 0].Add(job);
      continue;
    }
    sums.attackers_granted += job.granted;
    Sums& person = sums.persons[job.person];
    if (limit > 0 && person.jobs >= limit) continue;
    person.Add(job);
    sums.attackers.Add(job);
    auto& account = sums.accounts[job.account];
    account.first = job.person;
    account.second.Add(job);
  }
  return sums;
}

}  // namespace

double VariationOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return Quotient(std::sqrt(squares / (n - 1)), mean);
}

std::size_t ConvergenceOf(const std::vector<double>& values, double level) {
  if (values.size() < kWindow) return values.size();
  // From the end: the first window that deviates.
  for (std::size_t end = values.size(); end >= kWindow; --end) {
    const auto last = values.begin() + static_cast<std::ptrdiff_t>(end);
    const double mean = std::accumulate(last - kWindow, last, 0.0) / kWindow;
    if (std::abs(mean / level - 1) > kTolerance) return end;
  }
  return 0;
}

Spread SpreadOf(const std::vector<double>& values) {
  // 97.5th percentile of Student's t for 1 to 30 degrees of freedom.
  constexpr std::array<double, 30> kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (values.empty()) return {};
  const double n = static_cast<double>(values.size());
  Spread spread;
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  spread.least = *std::min_element(values.begin(), values.end());
  spread.greatest = *std::max_element(values.begin(), values.end());
  if (values.size() < 2 || !std::isfinite(spread.mean)) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  const double t = values.size() - 1 <= kStudent.size() ? kStudent[values.size() - 2] : 1.96;
  spread.half_width = t * std::sqrt(squares / (n - 1) / n);
  return spread;
}

Figures FiguresOf(const WorldOutcome& attack, const WorldOutcome& twin, std::uint64_t limit) {
  const Summary with = SummaryOf(attack, limit);
  const Summary without = SummaryOf(twin, limit);
  Figures figures;
  figures.gain = Quotient(with.attackers.ratio(), without.attackers.ratio());
  const double shift = Quotient(with.honest.ratio(), without.honest.ratio());
  figures.relative_gain = Quotient(figures.gain, shift);
  figures.collateral = shift - 1;
  figures.income = Quotient(with.attackers_granted, without.attackers_granted);
  figures.honest_work = Quotient(attack.attackers_work, twin.attackers_work);
  const auto twin_of = [&](std::uint32_t person) {
    const auto found = without.persons.find(person);
    return found == without.persons.end() ? 0 : found->second.ratio();
  };
  for (const auto& [person, sums] : with.persons)
    figures.worst_person = std::max(figures.worst_person, Quotient(sums.ratio(), twin_of(person)));
  for (const auto& [account, owned] : with.accounts) {
    if (owned.second.jobs >= kFewest)
      figures.worst_account =
          std::max(figures.worst_account, Quotient(owned.second.ratio(), twin_of(owned.first)));
  }

  std::vector<double> shifts;
  std::vector<double> identical;
  std::vector<double> convergence;
  for (const auto& [host, sums] : with.hosts) {
    const auto other = without.hosts.find(host);
    if (other == without.hosts.end() || std::min(sums.jobs, other->second.jobs) < kFewest) continue;
    shifts.push_back(Quotient(sums.ratio(), other->second.ratio()) - 1);
  }
  if (!shifts.empty()) {
    std::sort(shifts.begin(), shifts.end());
    figures.worst_collateral =
        shifts[static_cast<std::size_t>(kPercentile * static_cast<double>(shifts.size()))];
  }
  for (const auto& [host, ratios] : with.ratios) {
    if (ratios.size() > kWarmUp) identical.insert(identical.end(), ratios.begin() + kWarmUp, ratios.end());
    if (ratios.size() >= kWindow)
      convergence.push_back(static_cast<double>(ConvergenceOf(ratios, with.honest.ratio())));
  }
  // The sum of squares depends on the order of its terms, and the order of a hash map is nobody's promise.
  std::sort(identical.begin(), identical.end());
  figures.cv_identical = VariationOf(identical);
  if (!convergence.empty()) {
    std::sort(convergence.begin(), convergence.end());
    figures.convergence = convergence[convergence.size() / 2];
  }
  const double before = with.halves[0].ratio();
  figures.drift = before > 0 ? with.halves[1].ratio() / before - 1 : 0;
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  for (const auto& [device, sums] : with.devices) {
    least = std::min(least, sums.ratio());
    greatest = std::max(greatest, sums.ratio());
  }
  if (with.devices.size() > 1) figures.device_neutrality = Quotient(greatest, least);
  return figures;
}

}  // namespace cobblestone::lab

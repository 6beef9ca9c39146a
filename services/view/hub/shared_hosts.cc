#include "services/view/hub/shared_hosts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace cobblestone::view {

namespace {

// An id that more accounts of hosts have is not that of one computer.
constexpr std::size_t kMostAccountsOfAHost = 64;
constexpr double kNormal95 = 1.96;  // of both sides

struct Earned {
  std::uint16_t project = 0;
  double recent = 0;  // Cobblestones per day
};

// What one host earns at each project where it has recent credit, by project.
std::vector<Earned> EarnedBy(const HubIndex& index, std::span<const Place> host) {
  std::vector<Earned> earned;
  for (const Place place : host) {
    const IndexedHost& account = index.hosts.all[place];
    const IndexedProject& project = index.projects[account.project];
    // The averages of a project that is silent decay, whatever its hosts earn.
    if (index.as_of - project.ended > kKnownFor || account.recent < kUsedRecent) continue;
    // What a host has at an account manager it earned at the projects.
    if (project.account_manager) continue;
    if (earned.empty() || earned.back().project != account.project)
      earned.push_back({.project = static_cast<std::uint16_t>(account.project)});
    earned.back().recent += project.points.OfRecent(account.recent, index.as_of);
  }
  return earned;
}

// The median and its 95 % interval by ranks, which assumes nothing about the distribution.
SharedHosts CompareRatios(std::vector<double>& ratios) {
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  const double left = (static_cast<double>(n) - kNormal95 * std::sqrt(static_cast<double>(n))) / 2;
  const auto beyond = static_cast<std::size_t>(std::max(0.0, left));  // the interval, on each side
  return {.hosts = static_cast<std::uint32_t>(n),
          .ratio = std::sqrt(ratios[(n - 1) / 2] * ratios[n / 2]),
          .least = ratios[beyond],
          .greatest = ratios[n - 1 - beyond]};
}

}  // namespace

void CompareSharedHosts(HubIndex& index) {
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::vector<double>> ratios;
  const std::vector<Place>& by_cpid = index.hosts_by_cpid;
  for (std::size_t begin = 0, end = 0; begin < by_cpid.size(); begin = end) {
    const auto cpid_of = [&](std::size_t at) { return index.hosts.all[by_cpid[at]].cpid; };
    for (end = begin + 1; end < by_cpid.size() && cpid_of(end) == cpid_of(begin);) ++end;
    if (end - begin < 2 || end - begin > kMostAccountsOfAHost) continue;
    const std::vector<Earned> earned = EarnedBy(index, std::span(by_cpid).subspan(begin, end - begin));
    for (std::size_t a = 0; a < earned.size(); ++a) {
      for (std::size_t b = a + 1; b < earned.size(); ++b) {
        std::vector<double>& pair = ratios[{earned[a].project, earned[b].project}];
        if (pair.size() < kMostSharedHosts) pair.push_back(earned[a].recent / earned[b].recent);
      }
    }
  }
  for (auto& [pair, values] : ratios) {
    if (values.size() < kLeastSharedHosts) continue;
    SharedHosts compared = CompareRatios(values);
    compared.other = pair.second;
    index.projects[pair.first].shared_hosts.push_back(compared);
    index.projects[pair.second].shared_hosts.push_back({.other = pair.first,
                                                        .hosts = compared.hosts,
                                                        .ratio = 1 / compared.ratio,
                                                        .least = 1 / compared.greatest,
                                                        .greatest = 1 / compared.least});
  }
}

}  // namespace cobblestone::view

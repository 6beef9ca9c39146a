#include "services/replay/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

namespace cobblestone::replay {
namespace {

using credit::MicroTotal;
using Both = std::pair<MicroTotal, MicroTotal>;

constexpr const char* kDeviceNames[] = {"CPU versions", "GPU versions", "anonymous platform"};
constexpr std::size_t kShown = 5;
constexpr double kDeviates = 0.10;

double RelativeChange(const Both& both) {
  if (both.first == 0) return both.second > 0 ? std::numeric_limits<double>::infinity() : 0;
  return static_cast<double>(both.second) / static_cast<double>(both.first) - 1;
}

Changes ChangesOf(const std::vector<Both>& members) {
  Changes changes;
  std::vector<double> relative;
  for (const Both& both : members) {
    if (both.first <= 0 && both.second <= 0) continue;
    relative.push_back(RelativeChange(both));
    const auto bin = std::upper_bound(kChangeLimits.begin(), kChangeLimits.end(), relative.back());
    ++changes.bins[static_cast<std::size_t>(bin - kChangeLimits.begin())];
  }
  changes.all = relative.size();
  if (relative.empty()) return changes;
  const auto middle = relative.begin() + static_cast<std::ptrdiff_t>(relative.size() / 2);
  std::nth_element(relative.begin(), middle, relative.end());
  changes.median = *middle;
  return changes;
}

MicroTotal SumOf(MicroTotal total) { return total; }
MicroTotal SumOf(const DeviceTotals& totals) { return totals[0] + totals[1] + totals[2]; }

template <class Totals>
std::map<std::uint64_t, Both> Joined(const Totals& first, const Totals& second) {
  std::map<std::uint64_t, Both> joined;
  for (const auto& [id, total] : first) joined[id].first = SumOf(total);
  for (const auto& [id, total] : second) joined[id].second = SumOf(total);
  return joined;
}

std::string Percent(double relative, int decimals = 2) {
  if (std::isinf(relative)) return "new";
  char text[32];
  std::snprintf(text, sizeof text, "%+.*f %%", decimals, 100 * relative);
  return text;
}

std::string CreditsOf(MicroTotal micro) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(micro) / 1e6);
  return text;
}

std::string TotalsRow(const std::string& name, const Both& both) {
  char text[256];
  std::snprintf(text, sizeof text, "  %-24s %20s %20s %20s %12s\n", name.c_str(),
                CreditsOf(both.first).c_str(), CreditsOf(both.second).c_str(),
                CreditsOf(both.second - both.first).c_str(), Percent(RelativeChange(both)).c_str());
  return text;
}

std::string ChangesRow(const std::string& name, const Changes& changes) {
  char text[256];
  int length = std::snprintf(text, sizeof text, "  %-28s %9llu %10s", name.c_str(),
                             static_cast<unsigned long long>(changes.all),
                             changes.all == 0 ? "-" : Percent(changes.median).c_str());
  for (const std::uint64_t bin : changes.bins)
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), " %11llu",
                            static_cast<unsigned long long>(bin));
  return std::string(text) + "\n";
}

std::string Extremes(const std::string& kind, const std::map<std::uint64_t, Both>& members) {
  std::vector<std::pair<MicroTotal, std::uint64_t>> order;
  for (const auto& [id, both] : members) order.emplace_back(both.second - both.first, id);
  std::sort(order.begin(), order.end());
  const std::size_t shown = std::min(kShown, order.size());
  std::string text = kind + "s with the largest gains\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [difference, id] = order[order.size() - 1 - i];
    if (difference <= 0) break;
    text += TotalsRow(kind + " " + std::to_string(id), members.at(id));
  }
  text += kind + "s with the largest losses\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [difference, id] = order[i];
    if (difference >= 0) break;
    text += TotalsRow(kind + " " + std::to_string(id), members.at(id));
  }
  return text;
}

std::string Number(std::uint64_t number) { return std::to_string(number); }

}  // namespace

Comparison Compare(const ReplaySummary& summary) {
  const PolicyTotals& a = summary.first;
  const PolicyTotals& b = summary.second;
  Comparison comparison;
  comparison.all = RelativeChange({a.micro, b.micro});
  std::vector<Both> users;
  for (const auto& [user, both] : Joined(a.by_user, b.by_user)) {
    users.push_back(both);
    if (both.first <= 0 && both.second <= 0) continue;
    const double deviation = (1 + RelativeChange(both)) / (1 + comparison.all) - 1;
    if (deviation > kDeviates) ++comparison.users_above;
    if (deviation < -kDeviates) ++comparison.users_below;
  }
  comparison.users = ChangesOf(users);
  std::vector<Both> hosts;
  std::array<std::vector<Both>, 3> by_device;
  for (const auto& [host, both] : Joined(a.by_host, b.by_host)) {
    hosts.push_back(both);
    const auto found = a.by_host.find(host);
    const DeviceTotals& devices = found != a.by_host.end() ? found->second : b.by_host.at(host);
    const auto most = std::max_element(devices.begin(), devices.end());
    by_device[static_cast<std::size_t>(most - devices.begin())].push_back(both);
  }
  comparison.hosts = ChangesOf(hosts);
  for (std::size_t d = 0; d < by_device.size(); ++d) comparison.hosts_by_device[d] = ChangesOf(by_device[d]);
  return comparison;
}

std::string DescribeComparison(const ReplaySummary& summary) {
  const PolicyTotals& a = summary.first;
  const PolicyTotals& b = summary.second;
  const Comparison comparison = Compare(summary);
  std::string text = b.policy + " instead of " + a.policy + ": all credit " + Percent(comparison.all) +
                     "; of " + Number(comparison.users.all) + " users " + Number(comparison.users.gaining()) +
                     " gain and " + Number(comparison.users.losing()) +
                     " lose more than 2 %, the median user " + Percent(comparison.users.median) +
                     ".\nCompared with the change of all credit, more than 10 % are gained by " +
                     Number(comparison.users_above) + " and lost by " + Number(comparison.users_below) +
                     " of the users.\n\n";
  char head[256];
  std::snprintf(head, sizeof head, "  %-28s %9s %10s %11s %11s %11s %11s %11s\n", "", "number", "median",
                "below -10 %", "to -2 %", "to +2 %", "to +10 %", "above");
  text += head;
  text += ChangesRow("users", comparison.users) + ChangesRow("hosts", comparison.hosts);
  for (std::size_t d = 0; d < 3; ++d)
    text += ChangesRow(std::string("hosts, ") + kDeviceNames[d], comparison.hosts_by_device[d]);

  std::snprintf(head, sizeof head, "\n  %-24s %20s %20s %20s\n", "", a.policy.c_str(), b.policy.c_str(),
                "difference");
  text += head;
  text += TotalsRow("all", {a.micro, b.micro});
  if (a.partials + b.partials > 0) {
    text += TotalsRow("trickle payments", {a.partial_micro, b.partial_micro});
    text += TotalsRow("final grants", {a.micro - a.partial_micro - a.reversal_micro,
                                       b.micro - b.partial_micro - b.reversal_micro});
    text += TotalsRow("reversed", {a.reversal_micro, b.reversal_micro});
  }
  for (const auto& [app, both] : Joined(a.by_app, b.by_app)) text += TotalsRow("app " + Number(app), both);
  for (std::size_t d = 0; d < 3; ++d) text += TotalsRow(kDeviceNames[d], {a.by_device[d], b.by_device[d]});
  return text + Extremes("user", Joined(a.by_user, b.by_user)) +
         Extremes("host", Joined(a.by_host, b.by_host));
}

}  // namespace cobblestone::replay

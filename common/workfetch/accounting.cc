#include "common/workfetch/accounting.h"

#include <algorithm>

#include "common/base/exp.h"

namespace cobblestone::workfetch {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kWithoutShare = -1000;  // a backup project is asked when nobody else can be

void AdjustDebts(Client& client, std::size_t r, double now) {
  double total_used = 0;
  double shares = 0;
  std::vector<std::size_t> eligible;
  for (std::size_t p = 0; p < client.projects.size(); ++p) {
    const Project& project = client.projects[p];
    total_used += project.used[r];
    if (!DebtEligible(client, p, r, now)) continue;
    eligible.push_back(p);
    shares += project.share;
  }
  if (shares > 0) {
    std::vector<double> change;
    double sum = 0;
    for (const std::size_t p : eligible) {
      const Project& project = client.projects[p];
      change.push_back(project.share / shares * total_used - project.used[r]);
      sum += change.back();
    }
    const double mean = sum / static_cast<double>(eligible.size());
    for (std::size_t i = 0; i < eligible.size(); ++i)
      client.projects[eligible[i]].debt[r] += change[i] - mean;
  }
  double greatest = -kNever;
  for (const Project& project : client.projects)
    if (project.attached) greatest = std::max(greatest, project.debt[r]);
  for (Project& project : client.projects)
    if (project.attached) project.debt[r] -= greatest;
}

void AdjustRecentFlops(Client& client, double elapsed) {
  const double kept = Exp(-kLn2 * elapsed / kRecHalfLife);
  for (Project& project : client.projects) {
    double flops = 0;
    for (std::size_t r = 0; r < client.resources.size(); ++r)
      flops += project.used[r] * client.resources[r].speed;
    project.recent_flops = kept * project.recent_flops + (1 - kept) * flops / elapsed;
  }
}

}  // namespace

double GreatestLead(const Client& client) {
  return kDay + client.preferences.buffer() * client.total_speed();
}

double OverallDebt(const Client& client, std::size_t project) {
  double sum = 0;
  for (std::size_t r = 0; r < client.resources.size(); ++r)
    sum += client.resources[r].speed * client.projects[project].debt[r];
  return sum;
}

bool DebtEligible(const Client& client, std::size_t project, std::size_t resource, double now) {
  const Project& p = client.projects[project];
  if (!p.may_run() || p.no_more_work) return false;
  const Backoff& backoff = p.backoff[resource];
  if (!backoff.Active(now) && !backoff.AtLongest()) return true;
  if (client.variant != Variant::kHybrid) return false;
  double least = kNever;
  for (std::size_t q = 0; q < client.projects.size(); ++q)
    if (client.projects[q].attached) least = std::min(least, OverallDebt(client, q));
  return OverallDebt(client, project) - least < GreatestLead(client);
}

bool Overworked(const Client& client, std::size_t project, std::size_t resource) {
  const double limit = std::max(kDay, client.preferences.buffer() + client.preferences.time_slice);
  if (client.variant == Variant::kSeed) return client.projects[project].debt[resource] < -limit;
  double greatest = -kNever;
  for (std::size_t q = 0; q < client.projects.size(); ++q)
    if (client.projects[q].attached) greatest = std::max(greatest, OverallDebt(client, q));
  return OverallDebt(client, project) < greatest - limit;
}

void Account(Client& client, double now, double elapsed) {
  if (elapsed > 0 && elapsed <= 2 * client.preferences.period) {
    if (client.variant == Variant::kRec) {
      AdjustRecentFlops(client, elapsed);
    } else {
      for (std::size_t r = 0; r < client.resources.size(); ++r) AdjustDebts(client, r, now);
    }
  }
  for (Project& project : client.projects) project.used.fill(0);
}

double RecPriority(const Client& client, std::size_t project) {
  double flops = 0;
  double shares = 0;
  for (const Project& p : client.projects) {
    if (!p.may_run()) continue;
    flops += p.recent_flops;
    shares += p.share;
  }
  const Project& p = client.projects[project];
  if (p.share <= 0) return kWithoutShare;
  return flops > 0 ? -(p.recent_flops / flops) / (p.share / shares) : 0;
}

std::vector<double> FetchPriorities(const Client& client) {
  std::vector<double> priorities(client.projects.size());
  const bool rec = client.variant == Variant::kRec;
  for (std::size_t p = 0; p < client.projects.size(); ++p)
    priorities[p] = rec ? RecPriority(client, p) : OverallDebt(client, p);
  if (!rec) return priorities;
  // At least a day: a smaller buffer would let one queued job outweigh the whole past.
  const double full = client.total_speed() * std::max(client.preferences.buffer(), kDay);
  for (const Job& job : client.jobs) {
    double flops = 0;
    for (std::size_t r = 0; r < client.resources.size(); ++r)
      flops += job.usage[r] * client.resources[r].speed;
    priorities[job.project] -= flops * job.estimated_remaining() / full;
  }
  return priorities;
}

}  // namespace cobblestone::workfetch

// How hosts used their time: the part of Fleet that measures work fetch.
#include <algorithm>
#include <cmath>

#include "services/fleet/fleet.h"

namespace cobblestone::fleet {

// The run is spread evenly over the time between start and end, although the host may be off in some of it.
double Fleet::UseOf(const Job& job, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t begin = std::max(from, job.start);
  const std::uint32_t end = std::min(to, job.ended);
  if (begin >= end) return 0;
  return static_cast<double>(job.run) * job.threads * (end - begin) / (job.ended - job.start);
}

// What the job has run until now. It will not run any more.
void Fleet::CountUse(std::uint32_t number, Job& job) {
  const std::size_t r = job.gpu ? 1 : 0;
  slots_[number].attachments[job.attachment].ran[r] += static_cast<float>(UseOf(job, 0, now_));
  if (!clients_.empty()) {
    ClientState& client = clients_[number];
    client.projects[job.attachment].used[r] += static_cast<float>(UseOf(job, client.decided, now_));
  }
  job.start = job.ended = 0;
}

// Adds a host that leaves, or is there at the end, to the measures.
void Fleet::Settle(std::uint32_t number) {
  if (IsAttacker(number)) return;
  Slot& slot = slots_[number];
  for (std::uint32_t at = slot.first_job; at != kNone; at = jobs_[at].next_of_host)
    CountUse(number, jobs_[at]);
  const std::uint64_t host = HostOf(number, slot.generation);
  const bool settled = slot.joined == 0;
  const HostTraits traits = TraitsOf(parameters_, draws_, host, settled);
  Availability available(traits, host, settled ? -parameters_.off_limit * 3600 : slot.joined);
  const double on = available.Between(parameters_, draws_, slot.joined, now_);
  const double instances[2] = {static_cast<double>(slot.cores), 1};
  const double speed[2] = {slot.core_flops, slot.gpu_flops};
  std::array<double, kMaxProjects> flops{};
  double all_flops = 0;
  double shares = 0;
  for (std::uint32_t i = 0; i < slot.projects; ++i) shares += slot.attachments[i].share;
  for (const std::size_t r : {0, 1}) {
    double ran = 0;
    bool supplied = false;
    for (std::uint32_t i = 0; i < slot.projects; ++i) {
      supplied = supplied || Supplies(slot, i, static_cast<int>(r));
      ran += slot.attachments[i].ran[r];
      flops[i] += slot.attachments[i].ran[r] * speed[r];
    }
    if (!supplied) continue;
    available_[r] += on * instances[r];
    used_[r] += ran;
  }
  for (std::uint32_t i = 0; i < slot.projects; ++i) all_flops += flops[i];
  if (slot.projects < 2 || all_flops <= 0) return;
  double violation = 0;
  for (std::uint32_t i = 0; i < slot.projects; ++i)
    violation += std::fabs(flops[i] / all_flops - slot.attachments[i].share / shares);
  violation_ += violation * on;
  several_ += on;
}

FleetMeasures Fleet::measures() const {
  FleetMeasures measures;
  const auto part = [](double a, double of) { return of > 0 ? a / of : 0; };
  for (const std::size_t r : {0, 1}) measures.idle[r] = part(available_[r] - used_[r], available_[r]);
  measures.share_violation = part(violation_, several_);
  measures.requests_per_job =
      part(static_cast<double>(counts_.requests), static_cast<double>(counts_.dispatches));
  return measures;
}

}  // namespace cobblestone::fleet

#include "common/credit/model/measure.h"

#include <algorithm>
#include <cmath>

#include "common/base/agree.h"
#include "common/credit/model/flops.h"

namespace cobblestone::credit {
namespace {

double ReportedElapsed(const Claim& claim) {
  return claim.elapsed_time == 0 ? claim.cpu_time : claim.elapsed_time;
}

// The job's peak FLOP/s with each device limited to the maximum of its kind.
double SpeedWithinLimits(const CompletionFacts& completion, double cpus, double gpus,
                         const Constants& constants) {
  const double max_cpu = constants.max_peak_flops_cpu;
  const double max_gpu = constants.max_peak_flops_gpu;
  const bool limited = (cpus > 0 && max_cpu > 0) || (gpus > 0 && max_gpu > 0);
  if (!limited) return completion.peak_flops;
  double known = 0;  // FLOP/s of the devices of known speed
  double most = 0;   // FLOP/s that may count
  for (std::size_t kind = 0; kind < kResources; ++kind) {
    const RatedDevices& devices = completion.rated[kind];
    if (!(devices.count > 0) || static_cast<Resource>(kind) == Resource::kUnknown) continue;
    const bool is_cpu = static_cast<Resource>(kind) == Resource::kCpu;
    const double limit = is_cpu ? max_cpu : max_gpu;
    (is_cpu ? cpus : gpus) -= devices.count;
    known += devices.peak_flops;
    most += limit > 0 ? std::min(devices.peak_flops, devices.count * limit) : devices.peak_flops;
  }
  if (!(cpus > 0) && !(gpus > 0) && most == known && FiguresAgree(completion.peak_flops, known))
    return completion.peak_flops;
  // Devices of unknown speed count with the limit of their kind or, without a limit, with the remaining speed.
  most += std::max(cpus, 0.0) * max_cpu + std::max(gpus, 0.0) * max_gpu;
  if ((cpus > 0 && !(max_cpu > 0)) || (gpus > 0 && !(max_gpu > 0)))
    most += std::max(0.0, completion.peak_flops - known);
  return completion.peak_flops > most ? most : completion.peak_flops;
}

}  // namespace

double LimitedPeakFlops(const CompletionFacts& completion, bool gpu, const Constants& constants) {
  double cpus = completion.cpus_used;
  double gpus = completion.gpus_used;
  if (!(cpus > 0) && !(gpus > 0)) {
    (gpu ? gpus : cpus) = completion.devices > 0 ? completion.devices : 1;
  }
  cpus = std::max(cpus, 0.0);
  gpus = std::max(gpus, 0.0);
  const double speed = SpeedWithinLimits(completion, cpus, gpus, constants);
  // Devices above the maximum are removed in the proportion in which the job used them.
  const double devices = cpus + gpus;
  const bool too_many = constants.max_devices > 0 && devices > constants.max_devices;
  return too_many ? speed * (constants.max_devices / devices) : speed;
}

double LimitedElapsed(const Claim& claim) {
  const double elapsed = ReportedElapsed(claim);
  if (!(claim.sent_time > 0) || !(claim.received_time > 0)) return elapsed;
  const double wall = std::max(0.0, claim.received_time - claim.sent_time);
  return elapsed > wall ? wall : elapsed;
}

Measure MeasureJob(const Claim& claim, double limited_peak_flops) {
  const double reported = ReportedElapsed(claim);
  Measure measure;
  measure.elapsed = LimitedElapsed(claim);
  measure.pfc = measure.elapsed * limited_peak_flops;
  measure.ratio = measure.pfc / claim.fpops_est;
  measure.clamped = limited_peak_flops < claim.peak_flops || measure.elapsed < reported;
  measure.sane = std::isfinite(reported * claim.peak_flops) && std::isfinite(measure.pfc) &&
                 measure.pfc >= 0 && !(measure.pfc > claim.fpops_bound);
  return measure;
}

double DefaultPfc(double fpops_est, std::optional<double> min_avg_pfc) {
  return min_avg_pfc ? *min_avg_pfc * fpops_est : fpops_est;
}

double DefaultPfc(const Claim& claim) {
  const bool defined = (claim.flags & kClaimMinAvgDefined) != 0;
  return DefaultPfc(claim.fpops_est, defined ? std::optional(claim.min_avg_pfc) : std::nullopt);
}

void FinishClaim(const Constants& constants, Claim& claim) {
  claim.claimed = CreditOfFlops(claim.pfc, constants);
  if (std::isfinite(claim.claimed) && claim.claimed >= 0) return;
  claim.mode = Mode::kNone;
  claim.flags |= kClaimNoClaim;
  claim.pfc = 0;
  claim.claimed = 0;
}

}  // namespace cobblestone::credit

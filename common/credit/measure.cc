#include "common/credit/measure.h"

#include <algorithm>
#include <cmath>

#include "common/credit/flops.h"

namespace cobblestone::credit {
namespace {

double ReportedElapsed(const Claim& claim) {
  return claim.elapsed_time == 0 ? claim.cpu_time : claim.elapsed_time;
}

}  // namespace

double LimitedPeakFlops(const CompletionFacts& completion, bool gpu, const Constants& constants) {
  double cpus = completion.cpus_used;
  double gpus = completion.gpus_used;
  if (!(cpus > 0) && !(gpus > 0)) {
    (gpu ? gpus : cpus) = completion.devices > 0 ? completion.devices : 1;
  }
  double peak_flops = completion.peak_flops;
  // Devices beyond the maximum go in the proportion in which the job used them.
  const double devices = std::max(cpus, 0.0) + std::max(gpus, 0.0);
  double part = 1;
  if (constants.max_devices > 0 && devices > constants.max_devices) {
    part = constants.max_devices / devices;
    peak_flops *= part;
  }
  const bool limited =
      (!(cpus > 0) || constants.max_peak_flops_cpu > 0) && (!(gpus > 0) || constants.max_peak_flops_gpu > 0);
  if (!limited) return peak_flops;
  const double most = (std::max(cpus, 0.0) * constants.max_peak_flops_cpu +
                       std::max(gpus, 0.0) * constants.max_peak_flops_gpu) *
                      part;
  return peak_flops > most ? most : peak_flops;
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

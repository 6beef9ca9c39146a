#include "services/fleet/hosts.h"

#include <algorithm>
#include <cmath>

#include "common/base/exp.h"

namespace cobblestone::fleet {
namespace {

constexpr double kHour = 3600;
constexpr double kDay = 86400;
constexpr double kGflops = 1e9;
constexpr double kShortestOn = 60;  // s

// Counters of Stream::kHost. Frozen, as the streams.
enum HostDraw : std::uint32_t {
  kSpeedAndCores = 0,
  kBenchmark = 1,
  kGpu = 2,
  kGpuModel = 3,
  kAvailabilityDraw = 4,
  kDayDraw = 5,
  kFlags = 6,
  kProjects = 7,
  kErrors = 8,
  kLifetime = 9,
  kLifetimeGamma = 64,  // to 127
};

std::uint32_t CoresAt(const Parameters& p, double normal) {
  const double shares[] = {p.cores_1, p.cores_2, p.cores_4, p.cores_8, p.cores_16, p.cores_32};
  double all = 0;
  for (const double share : shares) all += share;
  double sum = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    sum += shares[i];
    // The core count is a step function of the normal variable, with the shares as probabilities.
    if (sum > 0 && (sum >= all || normal < NormalQuantile(sum / all))) return 1u << i;
  }
  return 32;
}

void DrawGpu(const Parameters& p, const Draws& draws, std::uint64_t host, HostTraits* traits) {
  const auto [has, vendor] = draws.Uniforms(Stream::kHost, host, kGpu);
  if (has >= p.gpu_hosts) return;
  traits->gpu = vendor < p.gpu_nvidia               ? credit::Resource::kNvidia
                : vendor < p.gpu_nvidia + p.gpu_amd ? credit::Resource::kAmd
                                                    : credit::Resource::kIntelGpu;
  // Model m of n has the peak at the middle of the m-th n-th part of the distribution.
  const double models = std::floor(p.gpu_models);
  const double model = std::floor(draws.Uniform(Stream::kHost, host, kGpuModel) * models);
  traits->gpu_flops = kGflops * LogNormal(p.gpu_peak_mu, p.gpu_peak_sigma, (model + 0.5) / models);
}

void DrawAvailability(const Parameters& p, const Draws& draws, std::uint64_t host, HostTraits* traits) {
  const auto [kind, weekends] = draws.Uniforms(Stream::kHost, host, kAvailabilityDraw);
  traits->availability = kind < p.always_on                 ? AvailabilityKind::kAlways
                         : kind < p.always_on + p.random_on ? AvailabilityKind::kRandom
                                                            : AvailabilityKind::kDaily;
  traits->weekends = weekends < p.weekend_hosts;
  const auto [start, length] = draws.Uniforms(Stream::kHost, host, kDayDraw);
  const double hours = std::clamp(p.day_hours + p.day_hours_sigma * NormalQuantile(length), 1.0, 23.0);
  traits->day_start = static_cast<std::uint32_t>(start * kDay);
  traits->day_length = static_cast<std::uint32_t>(hours * kHour);
}

}  // namespace

HostTraits TraitsOf(const Parameters& p, const Draws& draws, std::uint64_t host, bool settled) {
  HostTraits traits;
  const auto [speed, rest] = draws.Uniforms(Stream::kHost, host, kSpeedAndCores);
  const double z = NormalQuantile(speed);
  traits.core_flops = kGflops * Exp(p.core_speed_mu + p.core_speed_sigma * z);
  traits.speed_class = std::min(2u, static_cast<std::uint32_t>(speed * 3));
  const double rho = p.cores_speed_correlation;
  traits.cores = CoresAt(p, rho * z + std::sqrt(1 - rho * rho) * NormalQuantile(rest));

  const auto [noise, system] = draws.Uniforms(Stream::kHost, host, kBenchmark);
  traits.whetstone = traits.core_flops * LogNormal(0, p.benchmark_noise, noise);
  if (system < p.slow_os_hosts) traits.whetstone *= p.slow_os_factor;
  if (system >= 1 - p.failed_benchmarks) traits.whetstone = kGflops;

  DrawGpu(p, draws, host, &traits);
  DrawAvailability(p, draws, host, &traits);

  const auto [anonymous, managed] = draws.Uniforms(Stream::kHost, host, kFlags);
  traits.anonymous = anonymous < p.anonymous_hosts;
  traits.managed = managed < p.managed_hosts;
  const double projects = draws.Uniform(Stream::kHost, host, kProjects);
  traits.projects = projects < p.third_project ? 3 : projects < p.second_project ? 2 : 1;
  // The mean over hosts is error_rate.
  const double spread = p.error_rate_sigma;
  traits.error_rate = std::min(0.9, p.error_rate * LogNormal(-spread * spread / 2, spread,
                                                             draws.Uniform(Stream::kHost, host, kErrors)));

  // A host that is observed in a stationary population has a length-biased lifetime, of which a uniform part is left.
  // For a Weibull variable the length-biased power x^k is gamma-distributed with shape 1 + 1/k.
  const double u = draws.Uniform(Stream::kHost, host, kLifetime);
  const double scale = p.lifetime_scale * kDay;
  const double k = p.lifetime_shape;
  traits.lifetime =
      settled ? u * scale * Power(draws.Gamma(1 + 1 / k, Stream::kHost, host, kLifetimeGamma), 1 / k)
              : Weibull(k, scale, u);
  return traits;
}

double OnFraction(const Parameters& p, const HostTraits& traits) {
  if (traits.availability == AvailabilityKind::kAlways) return 1;
  if (traits.availability == AvailabilityKind::kDaily)
    return traits.day_length / kDay * (traits.weekends ? 1.0 : 5.0 / 7);
  constexpr int kParts = 200;
  double on = 0;
  double off = 0;
  for (int i = 0; i < kParts; ++i) {
    const double u = (i + 0.5) / kParts;
    on += std::max(kShortestOn / kHour, Weibull(p.on_shape, p.on_scale, u));
    off += std::min(p.off_limit, LogNormal(p.off_mu, p.off_sigma, u));
  }
  return on / (on + off);
}

Availability::Availability(const HostTraits& traits, std::uint64_t host, double joined)
    : host_(host),
      day_start_(traits.day_start),
      day_length_(traits.day_length),
      kind_(traits.availability),
      weekends_(traits.weekends) {
  if (kind_ == AvailabilityKind::kAlways) return;
  // Before the first period: MoveTo finds it.
  from_ = until_ = kind_ == AvailabilityKind::kRandom ? joined : -1;
}

void Availability::MoveTo(const Parameters& p, const Draws& draws, double moment) {
  if (kind_ == AvailabilityKind::kDaily && until_ <= moment) {
    // Day 0 is a Monday. A period may reach into the next day, so the search begins a day early.
    for (auto day = static_cast<std::int64_t>(std::floor(moment / kDay)) - 1;; ++day) {
      if (!weekends_ && ((day % 7) + 7) % 7 >= 5) continue;
      from_ = static_cast<double>(day) * kDay + day_start_;
      until_ = from_ + day_length_;
      if (until_ > moment) return;
    }
  }
  while (kind_ == AvailabilityKind::kRandom && until_ <= moment) {
    const auto [on, off] = draws.Uniforms(Stream::kAvailable, host_, period_);
    // The first period starts when the host joins.
    if (period_ > 0) from_ = until_ + std::min(p.off_limit, LogNormal(p.off_mu, p.off_sigma, off)) * kHour;
    until_ = from_ + std::max(kShortestOn, kHour * Weibull(p.on_shape, p.on_scale, on));
    ++period_;
  }
}

double Availability::NextOn(const Parameters& p, const Draws& draws, double moment) {
  MoveTo(p, draws, moment);
  return std::max(moment, from_);
}

double Availability::After(const Parameters& p, const Draws& draws, double moment, double seconds) {
  for (;;) {
    moment = NextOn(p, draws, moment);
    if (until_ - moment >= seconds) return moment + seconds;
    seconds -= until_ - moment;
    moment = until_;
  }
}

double Availability::Between(const Parameters& p, const Draws& draws, double from, double to) {
  double on = 0;
  for (double moment = NextOn(p, draws, from); moment < to; moment = NextOn(p, draws, moment)) {
    const double until = std::min(to, until_);
    on += until - moment;
    moment = until;
    if (moment >= to) break;
  }
  return on;
}

}  // namespace cobblestone::fleet

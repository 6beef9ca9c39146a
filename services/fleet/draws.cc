#include "services/fleet/draws.h"

#include <bit>
#include <cmath>
#include <string>

#include "common/base/check.h"
#include "common/base/exp.h"

namespace cobblestone::fleet {
namespace {

constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 42 bits: its product with an exponent is exact
constexpr double kLn2Low = 0x1.ef35793c76730p-45;
constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;

double OpenUnit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

// c[0] + c[1] x + ... + c[7] x^7
double Horner(const double (&c)[8], double x) {
  double sum = c[7];
  for (int i = 6; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// |p - 1/2| <= 0.425; then by r = sqrt(-ln p) up to 5, and above.
constexpr double kMiddleAbove[8] = {
    3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kMiddleBelow[8] = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
constexpr double kTailAbove[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kTailBelow[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
constexpr double kFarAbove[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarBelow[8] = {1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

}  // namespace

double Log(double x) {
  COBBLESTONE_CHECK(x > 0 && x <= 0x1.fffffffffffffp+1023, std::to_string(x));
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p+54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & kMantissa) | (std::uint64_t{1023} << 52));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  // ln m = 2 atanh(s) with s = (m - 1)/(m + 1), |s| < 0.172: f - s (f - R) with f = m - 1 loses less than 2 s (1 + ...),
  // since f is exact. The omitted terms of R are below 2^-58.
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double r = 2.0 / 23;
  for (const double term :
       {2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3})
    r = r * z + term;
  r *= z;
  const double n = exponent;
  return n * kLn2High - ((s * (f - r) - n * kLn2Low) - f);
}

double NormalQuantile(double p) {
  COBBLESTONE_CHECK(p > 0 && p < 1, std::to_string(p));
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Horner(kMiddleAbove, r) / Horner(kMiddleBelow, r);
  }
  double r = std::sqrt(-Log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? Horner(kTailAbove, r - 1.6) / Horner(kTailBelow, r - 1.6)
                          : Horner(kFarAbove, r - 5) / Horner(kFarBelow, r - 5);
  return q < 0 ? -x : x;
}

double Power(double base, double exponent) { return Exp(exponent * Log(base)); }

std::pair<double, double> Draws::Uniforms(Stream stream, std::uint64_t entity, std::uint32_t counter) const {
  const PhiloxBlock block = Bits(stream, entity, counter);
  return {OpenUnit(std::uint64_t{block[1]} << 32 | block[0]),
          OpenUnit(std::uint64_t{block[3]} << 32 | block[2])};
}

double Draws::Gamma(double shape, Stream stream, std::uint64_t entity, std::uint32_t counter) const {
  COBBLESTONE_CHECK(shape >= 1, std::to_string(shape));
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;; ++counter) {
    const auto [first, second] = Uniforms(stream, entity, counter);
    const double x = NormalQuantile(first);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (Log(second) < 0.5 * x * x + d - d * v + d * Log(v)) return d * v;
  }
}

double LogNormal(double mu, double sigma, double u) { return Exp(mu + sigma * NormalQuantile(u)); }

double Exponential(double mean, double u) { return -mean * Log(u); }

double Weibull(double shape, double scale, double u) { return scale * Power(-Log(u), 1 / shape); }

}  // namespace cobblestone::fleet

// The exponential function with the same bits on every machine. State code (recent averages) uses this
// function and never libm's, whose last bit depends on the CPU: with and without FMA, glibc gives different
// results.
#pragma once

namespace cobblestone {

// e to the power of x. Computed in double-double arithmetic to about 2^-96, then rounded once: the double
// nearest to the exact value, except for about one argument in 2^40 (tests/unit/base_exp_test.cc).
// Monotone; Exp(0) = Exp(-0) = 1; Exp(inf) = inf; Exp(-inf) = 0; Exp(NaN) is NaN. Above 709.78 infinite,
// below -745.13 zero, between -708.4 and -745.13 a subnormal, also rounded once.
// Requires the default rounding mode and no contraction of products and sums (-ffp-contract=off).
double Exp(double x);

}  // namespace cobblestone

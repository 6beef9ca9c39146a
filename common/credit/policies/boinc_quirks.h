// Surprising behaviour of BOINC's server. Each quirk is a switch with its item of the golden README; false
// selects the behaviour that the text of the rules suggests. All are on: policy `boinc` equals BOINC bit for
// bit, and tests/golden fails with any of them off.
#pragma once

namespace cobblestone::credit::quirks {

// Item 1. A peak speed of 0, below 0 or equal to the scheduler's placeholder means an unknown device.
inline constexpr double kPlaceholderSpeed = 1e9;           // FLOP/s
inline constexpr double kAssumedSpeed = 4.3e9;             // FLOP/s, used instead
inline constexpr double kNoElapsedTime = 1e-6;             // s; below this the CPU time is used
inline constexpr bool kNegativeElapsedUsesCpuTime = true;  // false: a negative elapsed time is used

// Item 3. The host scale uses the version's average even while the version has no scale.
inline constexpr bool kHostScaleWithoutVersionScale = true;  // false: no host scale without a version scale

// Item 4. While min_avg_pfc is 0, an anonymous host with enough samples claims 0.
inline constexpr bool kAnonymousClaimsZero = true;  // false: the workunit's estimate

// Item 7. The averages accept a ratio peak FLOP count / estimate within these limits, both included.
inline constexpr double kLeastRatio = 1e-4;
inline constexpr double kGreatestRatio = 1e4;
inline constexpr bool kNanRatioPasses = true;  // 0/0, from an estimate of 0

// Item 9. The version's recent average counts claims before bound and cap, and claims of run time outliers.
inline constexpr bool kUncappedVersionCredit = true;  // false: at most the bound

// Item 12. A lone normal value counts twice in the mean, after all approximate values.
inline constexpr bool kLoneNormalCountsTwice = true;

// Item 13. The final credit is value x (constant / 86400e9); other credit is (value x constant) / 86400e9.
inline constexpr bool kFinalCreditByFactor = true;

// Item 14. A late result is counted as valid before pricing, any other result after pricing.
inline constexpr bool kLateCountsFirst = true;

// Item 16. All results of one host and version in one pass over a workunit start from the same row; the last
// write wins.
inline constexpr bool kLaterWriteWins = true;

// Item 18. A missing row of an anonymous version is never created.
inline constexpr bool kNoAnonymousRows = true;

// Item 19. A new version takes over the row of another version; the statistics of its first result are lost.
inline constexpr bool kTakeOverLosesFirst = true;

// Item 24. A flush writes only if the stored row equals the remembered row within these tolerances. Otherwise
// the row is read again and the flush repeated.
inline constexpr double kCreditTolerance = 1e-4;  // Cobblestones per day
inline constexpr double kScaleTolerance = 1e-6;
inline constexpr int kFlushTries = 10;

// Item 28. Credit from run time also counts invalid results. A value above twice the bound becomes the bound.
inline constexpr bool kRunTimeCountsInvalid = true;
inline constexpr double kRunTimeBoundFactor = 2;

}  // namespace cobblestone::credit::quirks

// Where BOINC's server does what nobody would ask for. Each quirk is a switch with the item of the golden
// README that found it; false means what the words of the rules would lead one to expect. All are on: policy
// `boinc` is BOINC bit for bit, and tests/golden fails with any of them off.
#pragma once

namespace cobblestone::credit::quirks {

// Item 1. A peak speed that is not positive or is the scheduler's placeholder means an unknown device.
inline constexpr double kPlaceholderSpeed = 1e9;           // FLOP/s
inline constexpr double kAssumedSpeed = 4.3e9;             // FLOP/s, in its place
inline constexpr double kNoElapsedTime = 1e-6;             // s; below it the CPU time is used
inline constexpr bool kNegativeElapsedUsesCpuTime = true;  // false: a negative elapsed time stays

// Item 3. The version's average need not be trusted as a scale before it corrects a host.
inline constexpr bool kHostScaleWithoutVersionScale = true;  // false: host scale only beside a version scale

// Item 4. While min_avg_pfc is 0 an anonymous host with enough samples claims 0.
inline constexpr bool kAnonymousClaimsZero = true;  // false: the workunit's estimate

// Item 7. Limits of the ratio peak FLOP count / estimate for the averages, both included.
inline constexpr double kLeastRatio = 1e-4;
inline constexpr double kGreatestRatio = 1e4;
inline constexpr bool kNanRatioPasses = true;  // 0/0, from an estimate of 0

// Item 9. The version's recent average takes claims before bound and cap, of run time outliers as well.
inline constexpr bool kUncappedVersionCredit = true;  // false: at most the bound

// Item 12. A lone normal value is averaged with itself and with the approximate ones before it.
inline constexpr bool kLoneNormalCountsTwice = true;

// Item 13. The final credit is value x (constant / 86400e9), everything else (value x constant) / 86400e9.
inline constexpr bool kFinalCreditByFactor = true;

// Item 14. A late result is counted as valid before it is priced, any other after.
inline constexpr bool kLateCountsFirst = true;

// Item 16. Results of one host and version in one look at a workunit start from the same row; the later write
// wins.
inline constexpr bool kLaterWriteWins = true;

// Item 18. A missing row of an anonymous version is never made.
inline constexpr bool kNoAnonymousRows = true;

// Item 19. What the first result with a new version adds to the row that it takes over is lost.
inline constexpr bool kTakeOverLosesFirst = true;

// Item 24. A flush is conditional on the row being as remembered, within these; else the row is read again.
inline constexpr double kCreditTolerance = 1e-4;  // Cobblestones per day
inline constexpr double kScaleTolerance = 1e-6;
inline constexpr int kFlushTries = 10;

// Item 28. Credit from run time counts invalid results too, and a value above twice the bound becomes the
// bound.
inline constexpr bool kRunTimeCountsInvalid = true;
inline constexpr double kRunTimeBoundFactor = 2;

}  // namespace cobblestone::credit::quirks

// The body of a trickle-up message, as applications write it and BOINC's scheduler stores it: sibling XML
// elements without a root. Public senders write:
//
//   climate models, OpenIFS  <wu>, <result>, <ph>, <ts>, <cp>, <vr>, <data>: workunit, the model's name of the
//                            result, phase, timestep since the start, CPU seconds, version, diagnostics
//   vboxwrapper, wrapper     <cpu_time>: in fact seconds run since the start
//   other VM wrappers        <run_time>: seconds since the last message
//   prime searches           <trickle_up> around <progress>, <cputime>, <runtime>: since the start
//   every client, before it  <result_name>, <time>: the result, and when the message was written, UNIX s
//
// Empty elements count as absent: models send <ph></ph>. Unknown elements are kept. Refused: invalid XML, a
// document type declaration or own entities, text between elements, a known element twice, an invalid number,
// or more than the limits below. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace cobblestone::boinc {

inline constexpr std::size_t kLargestTrickle = 256 << 10;  // bytes
inline constexpr std::size_t kMaxTrickleElements = 1000;
inline constexpr std::size_t kDeepestTrickleElement = 16;
inline constexpr std::size_t kLongestTrickleName = 254;  // of a result or a variety: BOINC's column

// An element without child elements, or an attribute.
struct TrickleElement {
  // With the enclosing elements: "device/temp"; for an attribute "device@id".
  std::string name;
  std::string text;  // trimmed
  std::uint64_t line = 0;

  friend bool operator==(const TrickleElement&, const TrickleElement&) = default;
};

// Absent or empty: not in the body. Seconds, steps and times are finite and not negative.
struct TrickleBody {
  std::string variety;                     // <variety>; the scheduler removes it
  std::string result_name;                 // <result_name>: from the client, so BOINC's name
  std::optional<std::uint64_t> result_id;  // <result_id>, <resultid>
  std::string model_result;                // <result>: the model's name of its result; not BOINC's name
  std::string workunit;                    // <wu>
  std::optional<double> client_time;       // <time>, UNIX s by the client's clock
  std::optional<std::uint64_t> phase;      // <ph>
  std::optional<double> timestep;          // <ts>
  std::optional<double> cpu_time;          // <cp>, <cpu_time>, <cputime>
  std::optional<double> elapsed_time;      // <elapsed_time>
  std::optional<double> run_time;          // <run_time>, <runtime>: since the start or since the last message
  std::optional<double> fraction_done;     // <fraction_done>
  std::string version;                     // <vr>
  std::string data;                        // <data>
  std::vector<TrickleElement> others;      // in order
};

// InvalidArgument: `name` (of the message), the line in the body, the problem, and what to do.
[[nodiscard]] Result<TrickleBody> ParseTrickleBody(std::string_view xml, const std::string& name);

// A finite number, not negative, with only blanks around it.
[[nodiscard]] std::optional<double> ParseTrickleNumber(std::string_view text);

}  // namespace cobblestone::boinc

// The body of a trickle-up message, as applications write it and BOINC's scheduler stores it: XML elements
// side by side, without a root. Seen in public senders:
//
//   climate models, OpenIFS  <wu>, <result>, <ph>, <ts>, <cp>, <vr>, <data>: workunit, the model's name of the
//                            result, phase, timestep since the start, CPU seconds, version, diagnostics
//   vboxwrapper, wrapper     <cpu_time>: in truth seconds run since the start
//   other VM wrappers        <run_time>: seconds since the last message
//   prime searches           <trickle_up> around <progress>, <cputime>, <runtime>: since the start
//   every client, before it  <result_name>, <time>: the result, and when the message was written, UNIX s
//
// Empty elements are told as absent: models send <ph></ph>. Elements that are not known are kept. Refused: what
// is no XML, a document type declaration or entities of its own, text between elements, a known element twice,
// a number that is none, more than the limits below.
// Pure.
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
inline constexpr std::size_t kMostTrickleElements = 1000;
inline constexpr std::size_t kDeepestTrickleElement = 16;
inline constexpr std::size_t kLongestTrickleName = 254;  // of a result or a variety: BOINC's column

// An element without others inside, or an attribute.
struct TrickleElement {
  std::string name;  // with the elements around it: "device/temp"; an attribute's: "device@id"
  std::string text;  // without blanks at its ends
  std::uint64_t line = 0;

  friend bool operator==(const TrickleElement&, const TrickleElement&) = default;
};

// Absent and empty: not there. Seconds, steps and times are finite and not below 0.
struct TrickleBody {
  std::string variety;                     // <variety>; the scheduler takes it out
  std::string result_name;                 // <result_name>: the client's, so BOINC's name
  std::optional<std::uint64_t> result_id;  // <result_id>, <resultid>
  std::string model_result;                // <result>: what the model calls its result; not BOINC's name
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
  std::vector<TrickleElement> others;      // in their order
};

// InvalidArgument: `name` (whose body it is), the line in it, what is wrong and what to do.
[[nodiscard]] Result<TrickleBody> ParseTrickleBody(std::string_view xml, const std::string& name);

// A finite number, not below 0, and nothing but blanks around it.
[[nodiscard]] std::optional<double> ParseTrickleNumber(std::string_view text);

}  // namespace cobblestone::boinc

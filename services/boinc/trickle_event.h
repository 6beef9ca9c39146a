// A stored trickle message -> the event Trickle (schemas/events.proto), by what the project says of the variety:
// which element is which field. Of its own accord nothing is guessed: one sender's run time is since the start,
// another's since the last message, and a "progress" may be of 1 or of 100.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"
#include "services/boinc/trickle_rows.h"

namespace cobblestone::boinc {

// What an element of a body is. Where several elements of a message would become one field it is refused.
enum class TrickleField : std::uint8_t {
  kNothing,
  kElapsedTime,       // s since the start
  kCpuTime,           // s since the start
  kRuntimeIncrement,  // s since the last message
  kFractionDone,      // of 1
  kPercentDone,       // of 100; becomes fraction_done
  kSteps,             // since the model's start
};

// The names of the event's fields, and "nothing", "percent_done".
std::vector<std::string_view> TrickleFieldNames();
// None for an unknown one.
std::optional<TrickleField> TrickleFieldByName(std::string_view name);

// One variety. Where `elements` does not name them: ts is steps; cp, cpu_time and cputime are cpu_time;
// elapsed_time and fraction_done are what they say; run_time and runtime must be named, or are refused; all
// others pay nothing. Names that mean the same in bodies (trickle_xml.h) are one element: the first of them that
// `elements` names counts.
struct TrickleFormat {
  AppId app;                                                  // 0: the result's
  std::map<std::string, TrickleField, std::less<>> elements;  // by name, with its path: "device/progress"
};

// What an event keeps of the texts that pay nothing (wire::Trickle::others), bytes.
inline constexpr std::size_t kMostKeptText = 16 << 10;

struct TrickleEvent {
  wire::EventHead head;   // id: the row's; time: the row's create_time; the project is the caller's
  wire::Trickle trickle;  // result 0: result_name alone says which
};

inline constexpr int kBodyBits = 20;

// sequence: <time>, the client's whole seconds when the message was written, and behind it kBodyBits of a hash of the body
// without its blanks; without <time> the row's id. A client that repeats a message for want of an answer repeats both, while the
// repeat gets a row of its own. Nothing else in any form tells a message: to the stock client it is a file that is named by
// its result and that second, so another one of that second takes its place, unless it was just being sent or the clock was set
// back. Then the body tells them apart; two that say the same in one second are one.
// InvalidArgument, naming `source`, row and what is wrong: a broken body, no result, another variety in the body
// than in the row, a number that the format does not explain.
Result<TrickleEvent> TrickleOf(const TrickleMessageRow& row, const TrickleFormat& format,
                               const std::string& source);

}  // namespace cobblestone::boinc

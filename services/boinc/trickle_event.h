// A stored trickle message -> the event Trickle (schemas/events.proto), by the project's format of the variety,
// which maps elements to fields. Nothing is guessed: the run time of one sender counts since the start, that of
// another since the last message, and a "progress" may be a fraction of 1 or of 100. Pure.
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

// Meaning of an element of a body. A message in which several elements map to one field is refused.
enum class TrickleField : std::uint8_t {
  kNothing,
  kElapsedTime,       // s since the start
  kCpuTime,           // s since the start
  kRuntimeIncrement,  // s since the last message
  kFractionDone,      // of 1
  kPercentDone,       // of 100; becomes fraction_done
  kSteps,             // since the model's start
};

// Names of the event's fields, and "nothing", "percent_done".
std::vector<std::string_view> TrickleFieldNames();
// None: the name is unknown.
std::optional<TrickleField> TrickleFieldByName(std::string_view name);

// Format of one variety. Defaults for elements that `elements` does not name: ts is steps; cp, cpu_time and
// cputime are cpu_time; elapsed_time and fraction_done are the fields of that name; a message with run_time or
// runtime is refused unless `elements` names it; all others pay nothing. Names with the same meaning in bodies
// (trickle_xml.h) are one element: the first of them in `elements` counts.
struct TrickleFormat {
  AppId app;                                                  // 0: app of the result
  std::map<std::string, TrickleField, std::less<>> elements;  // by name, with path: "device/progress"
};

// Maximum size of the texts without payment that an event keeps (wire::Trickle::others), bytes.
inline constexpr std::size_t kMaxKeptText = 16 << 10;

struct TrickleEvent {
  // id: that of the row; time: the row's create_time; the caller sets the project.
  wire::EventHead head;
  // result 0: identified by result_name only.
  wire::Trickle trickle;
};

inline constexpr int kBodyBits = 20;

// sequence: <time>, the whole second of the client's clock at which the message was written, followed by
// kBodyBits of a hash of the body without blanks; without <time> the row's id. A client that repeats a message
// without an answer repeats both parts, while the repeat has a row of its own. No other value identifies a
// message: the stock client names a message's file by result and second, so that another message of the same
// second replaces the file, unless the file was just being sent or the clock was set back. In these cases the
// hash of the body distinguishes the messages; equal messages of one second are one message. InvalidArgument,
// with `source`, row and problem: a malformed body, no result, another variety in the body than in the row, a
// number that the format does not explain.
Result<TrickleEvent> TrickleOf(const TrickleMessageRow& row, const TrickleFormat& format,
                               const std::string& source);

}  // namespace cobblestone::boinc

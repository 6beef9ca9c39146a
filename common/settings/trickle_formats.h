// What the elements of a project's trickle messages are, by variety (examples/trickles.yaml is an example):
//
//   varieties:
//     orig:                # a variety, as senders write it
//       app: 1             # whose messages they are; left out: the app of the result that a message names
//       elements:          # what an element is, where the reader's own words (services/boinc) do not say it right
//         runtime: elapsed_time
//     phone: {}            # nothing but the reader's own words
//   ignore: [status]       # varieties that are no measure of work
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace cobblestone::settings {

struct TrickleVariety {
  AppId app;
  std::map<std::string, std::string> elements;  // element, with its path: "device/progress" -> measure
};

struct TrickleFormats {
  std::map<std::string, TrickleVariety, std::less<>> varieties;
  std::set<std::string, std::less<>> ignored;  // none of `varieties`
};

// `measures`: what an element may be. `file_name` is for messages only. kInvalidArgument: one line per error, each as
// "file:line:column: what was found and what is allowed".
Result<TrickleFormats> ParseTrickleFormats(std::string_view text, std::string_view file_name,
                                           const std::set<std::string>& measures);

// As above; kNotFound when there is no such file.
Result<TrickleFormats> LoadTrickleFormats(const std::string& path, const std::set<std::string>& measures);

}  // namespace cobblestone::settings

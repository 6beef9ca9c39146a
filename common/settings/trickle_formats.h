// The meaning of the elements of a project's trickle messages, by variety (examples/trickles.yaml is an
// example):
//
//   varieties:
//     orig:                # a variety, as senders write it
//       app: 1             # app of these messages; default: the app of the result that a message names
//       elements:          # meaning of elements for which the reader's defaults (services/boinc) are wrong
//         runtime: elapsed_time
//     phone: {}            # only the reader's defaults
//   ignore: [status]       # varieties that do not measure work
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

// `measures`: the permitted meanings of an element. `file_name` is for messages only. kInvalidArgument: one
// line per error, each as "file:line:column: what was found and what is allowed".
Result<TrickleFormats> ParseTrickleFormats(std::string_view text, std::string_view file_name,
                                           const std::set<std::string>& measures);

// As above; kNotFound when there is no such file.
Result<TrickleFormats> LoadTrickleFormats(const std::string& path, const std::set<std::string>& measures);

}  // namespace cobblestone::settings

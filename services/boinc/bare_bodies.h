// Files with the body of one trickle message and nothing else, as a project's own trickle handler may write
// them. Host, time and variety come from the caller's options or from the names of the files.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/boinc/trickle_table.h"

namespace cobblestone::boinc {

struct BareBodyOptions {
  // Values for files without them in the name.
  HostId host;
  // UNIX s; absent: the file's time of last modification.
  std::optional<double> received;
  std::optional<std::string> variety;  // absent: the body's <variety>
  // Pattern of file names: {host}, {received} (UNIX s), {variety} and {id} are fields, * matches anything,
  // other characters match themselves. Empty: names contain no fields.
  std::string file_name;
};

class BareBodies {
 public:
  BareBodies() = default;
  // InvalidArgument: file_name is not a valid pattern.
  static Result<BareBodies> Of(BareBodyOptions options);

  // True if any option for such files is set.
  [[nodiscard]] bool given() const;
  // Arrival time of the message, UNIX s; none if unknown.
  [[nodiscard]] std::optional<double> ReceivedOf(const std::string& path) const;
  // Fills in all fields except the body. If the name contains no id, the id is the arrival time
  // in microseconds. row->problem names a field that is unknown. InvalidArgument: neither
  // options nor names contain a host.
  Status Fill(const std::string& path, TrickleMessageRow* row) const;

 private:
  struct Name {
    std::string host, received, variety, id;  // empty: not in the name
  };
  // None: the name does not match the pattern.
  [[nodiscard]] std::optional<Name> NameOf(const std::string& path) const;

  BareBodyOptions options_;
  std::regex name_;
  std::vector<std::string Name::*> fields_;  // by group of name_
};

}  // namespace cobblestone::boinc

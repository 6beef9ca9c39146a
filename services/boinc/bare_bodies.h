// Files that hold the body of one trickle message and nothing else, as a project's own trickle handler may write them: whose
// they are, from when and of what variety is said by who hands them over, or by their names.
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
  // What holds of each file whose name does not say it.
  HostId host;
  std::optional<double> received;      // UNIX s; absent: when the file was last written
  std::optional<std::string> variety;  // absent: the body's <variety>
  // What names look like: {host}, {received} (UNIX s), {variety} and {id}, * for anything, all else is as it says. Empty: they
  // say nothing.
  std::string file_name;
};

class BareBodies {
 public:
  BareBodies() = default;
  // InvalidArgument: the form of names is none.
  static Result<BareBodies> Of(BareBodyOptions options);

  // True where anything was said of such files.
  [[nodiscard]] bool given() const;
  // When the message came, UNIX s; nothing where nobody knows.
  [[nodiscard]] std::optional<double> ReceivedOf(const std::string& path) const;
  // Fills in all but the body. Where the name tells no id it is the microsecond in which the message came. row->problem says
  // what cannot be told. InvalidArgument: nothing tells a host of any file.
  Status Fill(const std::string& path, TrickleMessageRow* row) const;

 private:
  struct Name {
    std::string host, received, variety, id;  // empty: it does not say
  };
  // Nothing where it does not look as it must.
  [[nodiscard]] std::optional<Name> NameOf(const std::string& path) const;

  BareBodyOptions options_;
  std::regex name_;
  std::vector<std::string Name::*> fields_;  // by the groups of name_
};

}  // namespace cobblestone::boinc

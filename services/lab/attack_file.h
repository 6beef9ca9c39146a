// Files of attacks: YAML, one attack each. docs/lab.md describes the format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "services/fleet/attacks.h"

namespace cobblestone::lab {

struct NamedAttack {
  std::string id;
  std::string name;
  double share = 0.01;         // attackers / honest hosts
  std::uint32_t versions = 1;  // CPU versions of the app, in the twin too
  bool trickles = false;       // jobs send trickles, in the twin too
  bool reports = false;        // an account manager reports all machines, in the twin too
  fleet::Attack attack;
};

// InvalidArgument: `file:line:column: key: what is wrong; what is allowed`, one line for each error.
Result<NamedAttack> ParseAttack(const std::string& file_name, std::string_view text);

// The attacks of files and of all *.yaml files in directories, directories in order of file name. NotFound: a path does
// not exist. InvalidArgument: see ParseAttack; or a directory without attacks, or two attacks with one id.
Result<std::vector<NamedAttack>> ReadAttacks(const std::vector<std::string>& paths);

}  // namespace cobblestone::lab

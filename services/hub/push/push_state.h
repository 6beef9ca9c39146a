// What the sender remembers of one project between its rounds: a JSON file that is replaced as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/base/status.h"

namespace cobblestone::hub {

struct PushState {
  std::uint64_t edition = 0;   // the last number that was given to an edition
  std::uint64_t accepted = 0;  // the edition that the indexes describe; 0: none
  double accepted_time = 0;    // UNIX s, this machine's clock: when that edition was read from the state
  double last_time = 0;        // UNIX s: the time of the last edition's events, which never go back
  std::map<std::string, std::uint64_t> facts;  // hash of the last fact of each kind that the hub accepted
  // While an edition is on its way: its file and its new indexes are in the work directory.
  bool sending = false;
  std::uint32_t attempt = 0;  // number of the source under which the file is sent, from 0
  double made_time = 0;       // becomes accepted_time
  std::map<std::string, std::uint64_t> next_facts;  // become facts
};

// An empty state if there is no file. kCorrupted: the file is damaged; the message names it.
Result<PushState> LoadPushState(const std::string& path);
Status SavePushState(const std::string& path, const PushState& state);

}  // namespace cobblestone::hub

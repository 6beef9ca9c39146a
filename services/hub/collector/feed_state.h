// What the collector remembers of one project between its rounds: a JSON file that is replaced as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "services/hub/collector/edition_maker.h"
#include "services/hub/feeds/fetch_schedule.h"

namespace cobblestone::hub {

struct FeedState {
  std::uint64_t edition = 0;  // the last number that was given to an edition
  // The events of that edition are in the work directory, and may not all have been sent.
  bool sending = false;
  bool sending_accepted = false;  // the edition is accepted: its indexes replace the old ones once it is sent
  std::array<KindMemory, kRecordKinds.size()> memory{};
  std::array<KindMemory, kRecordKinds.size()> next_memory{};  // while sending
  FetchHistory history{};
  std::string held_reason{};  // of the last edition; empty: it was accepted
  double held_since = 0;      // UNIX s
  double failing_since = 0;  // UNIX s: the first of the fetches in a row that failed; 0: the last one did not
  // While a file is being sent: the number behind the refused events that the hub had before.
  std::optional<std::uint64_t> refused_from{};
  bool repeat =
      false;  // the hub has refused the last edition: send the project's files again though they are the same
  // Of the facts about the project: the file that they are in, when it was begun, its bytes that count, the id of the last
  // fact, and the hash of the last one of each kind.
  std::string facts_file{};
  double facts_since = 0;  // UNIX s
  std::uint64_t facts_bytes = 0;
  std::uint64_t last_fact = 0;
  std::map<std::string, std::uint64_t> last_facts{};
};

// An empty state if there is no file. kCorrupted: the file is damaged; the message names it.
Result<FeedState> LoadFeedState(const std::string& path);
Status SaveFeedState(const std::string& path, const FeedState& state);

}  // namespace cobblestone::hub

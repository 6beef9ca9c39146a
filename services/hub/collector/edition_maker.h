// From the fetched files of a project to the events of one edition (docs/design/federation.md).
//
// Pass one reads every record, finds those that differ from the edition before by their hash, and judges each file
// (feeds/acceptance.h). If all files are accepted, pass two writes the events of the changed accounts. Nothing is sent
// here: the result is a file of events that `ingest` sends exactly once, however often it is interrupted.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/stream/hash128.h"
#include "common/wire/events/feeds.h"
#include "services/hub/feeds/acceptance.h"
#include "services/hub/feeds/statistics_reader.h"
#include "services/hub/feeds/tables_file.h"

namespace cobblestone::hub {

inline constexpr std::array kRecordKinds = {RecordKind::kUser, RecordKind::kHost, RecordKind::kTeam};

// What the hub remembers of a project's files of one kind.
struct KindMemory {
  std::optional<AcceptedFile> accepted{};
  std::optional<HeldFetch> held{};
  std::optional<stream::Hash128> released{};  // contents that an operator has released
};

struct EditionRequest {
  ProjectId project;
  // Greater than that of any earlier edition: the time of the fetch in milliseconds, so that it is greater even if
  // everything else is lost.
  std::uint64_t edition = 0;
  double fetched = 0;  // UNIX s
  std::optional<TablesFile> tables_before{};
  std::optional<TablesFile> tables_after{};
  // Paths of the files to read in this order, by kind; empty: the project has no such file. At least one kind has files.
  std::array<std::vector<std::string>, kRecordKinds.size()> files{};
  std::array<KindMemory, kRecordKinds.size()> memory{};
  std::string indexes{};  // directory with the indexes of the last edition
  std::string work{};     // existing directory for the events and the new indexes
  AcceptanceLimits limits{};
  // Called now and then with the bytes read so far; may be empty.
  std::function<void(std::uint64_t bytes)> progress{};
};

struct MadeEdition {
  bool accepted = false;
  std::string reason{};     // why it is held; of an accepted edition: what an operator released
  std::string next_step{};  // of an edition that is held: what an operator does (feeds/next_step.h)
  bool whole = false;
  // Held for reasons that a second fetch of the same contents may confirm (Confirmable), and for no others.
  bool confirmable = false;
  // By kind: the reader refused the file, so its copy may be a damaged one.
  std::array<bool, kRecordKinds.size()> refused{};
  std::vector<wire::FeedSum> sums{};
  // For the memory of the next request. Of an accepted edition: its files. Of a held one: as before, and the contents that
  // are held; a file of another kind that would have been accepted has not taken effect.
  std::array<KindMemory, kRecordKinds.size()> memory{};
  std::uint64_t events = 0;
};

// Writes `work`/events.pb (delimited protobuf) and `work`/KIND.index. An edition that is held has one event. Errors are
// those of the disk; a bad file is no error, it is held.
Result<MadeEdition> MakeEdition(const EditionRequest& request);

// "user.index"; "events.pb".
std::string IndexName(RecordKind kind);
inline constexpr const char* kEventsName = "events.pb";

}  // namespace cobblestone::hub

// From a snapshot to the events from which another hub continues: its projects, one whole edition of each with all accounts,
// and decisions that keep the accounts of each person together (docs/design/snapshot.md, "Another operator continues").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/hub/snapshot/manifest.h"
#include "services/view/state.h"

namespace cobblestone::hub {

struct ContinuedProject {
  std::string key;
  std::string name;
  std::string url;
  ProjectId number;           // of the new hub
  bool configured = false;    // `number` is that of the configuration
  std::uint64_t edition = 0;  // in which its accounts are sent; 0: the snapshot has none
};

// A project of the new hub's configuration.
struct ConfiguredProject {
  ProjectId number;
  std::string name;
  std::string url;
};

// A number for each project of the snapshot, in its order: that of the configured project with the same key, and for others
// the smallest that nobody has.
std::vector<ContinuedProject> NumberProjects(const Manifest& manifest,
                                             const std::vector<ConfiguredProject>& configured);

// kInvalidArgument: the hub has an edition of a project that is not of this snapshot, so it is not empty.
Status CheckEmptyHub(view::State& state, const std::vector<ContinuedProject>& projects);

struct ContinuationFigures {
  std::uint64_t events = 0;
  std::uint64_t accounts = 0;
  std::uint64_t joined = 0;  // decisions that join the accounts of a person
  std::uint64_t cut = 0;     // decisions that keep an account from an id of another person
};

// Writes `file` (delimited protobuf), which must not exist; the same bytes for the same snapshot and numbers. The snapshot
// has been verified. `scratch`: a directory for temporary files. kInvalidArgument: a record is malformed.
Result<ContinuationFigures> WriteContinuation(const std::string& snapshot, const Manifest& manifest,
                                              const std::vector<ContinuedProject>& projects,
                                              const std::string& file, const std::string& scratch);

}  // namespace cobblestone::hub

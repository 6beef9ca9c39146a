// The statistics files of a hub: persons, teams by name, and hosts by their cross-project id, added up over all projects, in
// the form of BOINC's statistics files (docs/design/snapshot.md, "Combined export").
//
// Published like an export of a project: the directory has one complete set of files at any time.
#pragma once

#include <string>

#include "common/base/status.h"
#include "services/hub/publish/hub_accounts.h"
#include "services/hub/publish/hub_reader.h"

namespace cobblestone::hub {

struct CombinedJob {
  std::string directory;  // user.gz, team.gz, host.gz, tables.xml
  std::string scratch;    // for temporary files
};

struct CombinedFigures {
  std::uint64_t users = 0;
  std::uint64_t teams = 0;
  std::uint64_t hosts = 0;
};

// On an error nothing is published. Errors: of HubReader, and as exports::Publication.
Result<CombinedFigures> WriteCombined(const HubReader& hub, const HubAccounts& accounts,
                                      const CombinedJob& job);

}  // namespace cobblestone::hub

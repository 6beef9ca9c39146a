// Writes the snapshot of a day from a hub's state (docs/design/snapshot.md).
#pragma once

#include <optional>
#include <string>

#include "common/base/status.h"
#include "services/hub/publish/hub_accounts.h"
#include "services/hub/publish/hub_reader.h"
#include "services/hub/snapshot/manifest.h"
#include "services/hub/snapshot/signature.h"

namespace cobblestone::hub {

struct SnapshotJob {
  std::string directory;  // of all snapshots; the new one is DIRECTORY/DATE
  std::string hub;        // URL or name of the operator
  std::string consent;
  // Why this hub's key continues the chain of another key; needed only if the last snapshot has another key.
  std::string continues;
};

// "2026-11-27", UTC. `time`: UNIX s.
std::string DateOf(double time);

// The snapshot of that date exists.
Result<bool> HasSnapshot(const SnapshotJob& job, const std::string& date);

// Continues the chain of the newest snapshot in the directory. On an error nothing is published. kInvalidArgument: the date
// has a snapshot or lies before the newest one; `continues` is missing. kCorrupted: the newest one is damaged.
Result<Previous> WriteSnapshot(const HubReader& hub, const HubAccounts& accounts, const SnapshotJob& job,
                               const SigningKey& key);

}  // namespace cobblestone::hub

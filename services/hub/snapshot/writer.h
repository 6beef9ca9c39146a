// Writes a snapshot: an immutable directory. The same records, manifest head and key give the same bytes on every machine.
//
// The files are written into DIRECTORY.partial, synced, and renamed: DIRECTORY exists complete or not at all. A
// DIRECTORY.partial that a crash has left is deleted.
// Memory: one line and the manifest. Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "services/hub/snapshot/manifest.h"
#include "services/hub/snapshot/records.h"
#include "services/hub/snapshot/signature.h"

namespace cobblestone::hub {

class SnapshotWriter {
 public:
  // `head`: everything but key, projects. kInvalidArgument: DIRECTORY exists, or its parent does not. kFull, kFatal: it
  // cannot be written.
  static Result<SnapshotWriter> Begin(const std::string& directory, Manifest head);
  // Deletes a snapshot that was not published.
  ~SnapshotWriter();
  SnapshotWriter(SnapshotWriter&&) noexcept;
  SnapshotWriter& operator=(SnapshotWriter&&) noexcept;

  // The next project, in the order of keys. `project.parts` is ignored.
  Status AddProject(Project project);
  // The next part of the project, in the order of kinds. A part may be empty.
  Status AddPart(PartKind kind);
  // The next record of the part, by id. kInvalidArgument: wrong order or kind, or a malformed record; the snapshot
  // cannot be published then. kFull, kFatal: it cannot be written.
  Status Add(const UserRecord& record);
  Status Add(const HostRecord& record);
  Status Add(const TeamRecord& record);

  // Signs and publishes. Returns the manifest before the next snapshot (Manifest::previous). Call it once.
  Result<Previous> Publish(const SigningKey& key);

 private:
  struct State;
  explicit SnapshotWriter(std::unique_ptr<State> state);
  template <class Record>
  Status AddLine(PartKind kind, const Record& record);

  std::unique_ptr<State> state_;
};

}  // namespace cobblestone::hub

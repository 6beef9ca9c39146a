// A complete export, from a source to a published directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/manifest.h"
#include "services/export/settings.h"
#include "services/export/source.h"
#include "services/export/spec.h"

namespace cobblestone::exports {

struct ExportJob {
  Settings settings;
  std::int64_t now = 0;     // UNIX s
  std::string out;          // empty: the spec's final_output_dir
  std::string archive;      // empty: the spec's archive_dir; if that is empty, too: beside `out`
  bool delete_old = false;  // deletes the previous export instead of renaming it
  int threads = 2;
  // A full export followed by its incremental exports, in order: the new export then contains
  // only changes since the last one. Empty: a full export. The files of these exports are first
  // checked against their checksums.
  std::vector<std::string> incremental_from;
  // Control totals of the source; RunExport adds the totals of the exported accounts.
  std::optional<LedgerTotals> ledger;
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  std::function<void(const std::string&)> warn;
};

struct ExportOutcome {
  Manifest manifest;
  std::string directory;
  std::string old_directory;  // new place of the previous export; empty: there was none, or it was deleted
};

// On an error nothing has been published, and no files are left.
Result<ExportOutcome> RunExport(Source& source, const Spec& spec, const ExportJob& job);

struct ReadBackOutcome {
  std::vector<OutputFigures> outputs;    // figures of the last manifest
  std::vector<std::string> differences;  // empty: the records equal the manifest
};

// Reads a full export and its incremental exports. Verifies the checksum of every file, and the totals of every
// output against the last manifest.
Result<ReadBackOutcome> ReadBack(const std::vector<std::string>& directories,
                                 const std::function<void(const std::string& what)>& progress);

}  // namespace cobblestone::exports

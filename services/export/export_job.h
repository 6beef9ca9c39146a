// A whole export: from a source to a published directory.
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

namespace cobblestone::statistics {

struct ExportJob {
  Settings settings;
  std::int64_t now = 0;     // UNIX s
  std::string out;          // empty: the spec's final_output_dir
  std::string archive;      // empty: the spec's archive_dir; empty as well: beside `out`
  bool delete_old = false;  // in place of giving what was there another name
  int threads = 2;
  // A full export and the incremental ones since, in their order: only what has changed since the last is written. Empty: a
  // full export. Their files are checked against their sums first.
  std::vector<std::string> incremental_from;
  std::optional<LedgerTotals> ledger;  // control totals of the source, but for what is exported
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  std::function<void(const std::string&)> warn;
};

struct ExportOutcome {
  Manifest manifest;
  std::string directory;
  std::string old_directory;  // where what was there has gone; empty: there was nothing, or it was deleted
};

// On an error nothing has been published and nothing is left behind.
Result<ExportOutcome> RunExport(Source& source, const Spec& spec, const ExportJob& job);

struct ReadBackOutcome {
  std::vector<OutputFigures> outputs;    // as the last manifest has them
  std::vector<std::string> differences;  // empty: what was read comes to the same
};

// Reads a full export and what follows it: every file has its sum, and every output comes to what the last manifest says.
Result<ReadBackOutcome> ReadBack(const std::vector<std::string>& directories,
                                 const std::function<void(const std::string& what)>& progress);

}  // namespace cobblestone::statistics

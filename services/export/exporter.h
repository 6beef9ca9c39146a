// Writes an export: the outputs of the spec, from the rows of the source, into one directory. Rules:
// tests/golden/export/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "services/export/files/manifest.h"
#include "services/export/files/output_set.h"
#include "services/export/settings.h"
#include "services/export/source.h"
#include "services/export/spec.h"

namespace cobblestone::exports {

struct ExportOptions {
  Settings settings;
  std::int64_t now = 0;   // UNIX s: update_time, and the time stored in archives
  std::string directory;  // exists and is empty
  // Total number of threads; the written bytes do not depend on it.
  int threads = 2;
  // For an incremental export: the records of the previous export (OutputPlace::known), and its identity.
  std::function<Result<RecordSet>(const std::string& output)> known;
  std::optional<Base> base;
  // Control totals of the source; WriteExport adds the totals of the exported accounts.
  std::optional<LedgerTotals> ledger;
  // Rows processed, and their expected number.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  // Receives problems that do not stop the export, such as an owner that does not exist.
  std::function<void(const std::string&)> warn;
};

// Writes all files, manifest.json last. On an error the directory is incomplete.
//
// Memory: 16 bytes per exported row of a table sorted by credit, and 48 bytes per record if `known` is given.
Result<Manifest> WriteExport(Source& source, const Spec& spec, const ExportOptions& options);

}  // namespace cobblestone::exports

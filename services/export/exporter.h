// An export: what the spec asks for, of what the source has, into one directory. Rules: tests/golden/export/README.md.
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

namespace cobblestone::statistics {

struct ExportOptions {
  Settings settings;
  std::int64_t now = 0;   // UNIX s: update_time, and what archives tell
  std::string directory;  // is there and empty
  int threads = 2;        // in all; the bytes that are written do not depend on it
  // Of an incremental export: what the one before had (OutputPlace::known), and which one that was.
  std::function<Result<RecordSet>(const std::string& output)> known;
  std::optional<Base> base;
  // Control totals of the source, but for what is exported.
  std::optional<LedgerTotals> ledger;
  // Rows that have been looked at, and of how many.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  // What an operator should know and that stops nothing: an owner that is not there.
  std::function<void(const std::string&)> warn;
};

// Writes all files, manifest.json last. On an error the directory has some of them.
//
// Memory: 16 bytes per row that goes out of a table sorted by credit, 48 more per record where `known` is given.
Result<Manifest> WriteExport(Source& source, const Spec& spec, const ExportOptions& options);

}  // namespace cobblestone::statistics

// manifest.json of an export: its files, their checksums, and the totals of all records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/output_file.h"
#include "services/export/files/record_set.h"
#include "services/export/ledger_totals.h"

namespace cobblestone::exports {

// One output of the spec (or a file that every export has): its records, in any number of files.
struct OutputFigures {
  // "user.gz", or "user_N.gz" if numbered; the same in each export of one spec.
  std::string name;
  std::string record;  // tag of its records: "user"
  // Of all its records, even if only changed records were written.
  RecordTotals totals;
  // Records that were written; in a full export all records.
  std::uint64_t changed = 0;
  std::uint64_t removed = 0;  // number of ids in `removed_file`
  std::string removed_file;   // empty: no record was removed
  std::vector<std::string> files;
};

// The export on which an incremental export is based.
struct Base {
  std::string directory;        // name without the parent directory
  std::string manifest_sha256;  // of its manifest.json
  std::int64_t time = 0;
};

struct Manifest {
  std::int64_t time = 0;  // UNIX s: update_time
  std::string source;
  std::optional<Base> base;            // none: a full export
  std::optional<LedgerTotals> ledger;  // none: the source has no ledger; LoadManifest does not read it
  std::vector<OutputFigures> outputs;
  std::vector<FileFigures> files;  // all but manifest.json itself
};

inline constexpr const char* kManifestName = "manifest.json";

std::string ManifestText(const Manifest& manifest);

struct LoadedManifest {
  Manifest manifest;
  std::string sha256;  // of the file
};
// Manifest of a directory. NotFound: no manifest. Corrupted: not a manifest that ManifestText wrote.
Result<LoadedManifest> LoadManifest(const std::string& directory);

}  // namespace cobblestone::exports

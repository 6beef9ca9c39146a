// What lies beside the files of an export, as manifest.json: what they are, their sums, and what all records come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/output_file.h"
#include "services/export/files/record_set.h"
#include "services/export/ledger_totals.h"

namespace cobblestone::statistics {

// One output of the spec (or a file that every export has): the records that it stands for, in any number of files.
struct OutputFigures {
  std::string name;     // "user.gz", "user_N.gz" where it is numbered: the same in each export of one spec
  std::string record;   // tag of its records: "user"
  RecordTotals totals;  // of all its records, also where only what has changed was written
  std::uint64_t changed = 0;  // records that were written; in a full export all
  std::uint64_t removed = 0;  // numbers in the file of those that are gone
  std::string removed_file;   // empty: nothing is gone
  std::vector<std::string> files;
};

// An export that an incremental one goes on from.
struct Base {
  std::string directory;        // its name, without where it lay
  std::string manifest_sha256;  // of its manifest.json
  std::int64_t time = 0;
};

struct Manifest {
  std::int64_t time = 0;  // UNIX s: update_time
  std::string source;
  std::optional<Base> base;            // none: a full export
  std::optional<LedgerTotals> ledger;  // none: the source has none; not read back
  std::vector<OutputFigures> outputs;
  std::vector<FileFigures> files;  // all but manifest.json itself
};

inline constexpr const char* kManifestName = "manifest.json";

std::string ManifestText(const Manifest& manifest);

struct LoadedManifest {
  Manifest manifest;
  std::string sha256;  // of the file
};
// Of the directory. NotFound where there is none, Corrupted where it is not one that was written here.
Result<LoadedManifest> LoadManifest(const std::string& directory);

}  // namespace cobblestone::statistics

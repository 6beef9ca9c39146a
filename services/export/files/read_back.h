// Reads a chain of exports: a full export and its incremental exports, each based on the previous
// one. An incremental export uses it to find the published records; a reader uses it to prove
// that no record is missing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/manifest.h"
#include "services/export/files/record_set.h"

namespace cobblestone::exports {

class ExportChain {
 public:
  // A full export, then incremental ones in order. Corrupted: one is not based on the previous one, or the
  // first is not a full export. NotFound: a directory has no export.
  static Result<ExportChain> Open(const std::vector<std::string>& directories);

  [[nodiscard]] const Manifest& last() const { return links_.back().manifest; }
  // Identity of the last export, for an export that is based on it.
  [[nodiscard]] Base AsBase() const;

  // Verifies size and checksum of every file against the manifests. Corrupted names the
  // first file that differs.
  [[nodiscard]] Status CheckFiles(const std::function<void(const std::string& file)>& progress) const;
  // Records of an output after the last export, by id; none if the output does not exist. Memory: 48 bytes per
  // record.
  [[nodiscard]] Result<RecordSet> Records(const std::string& output) const;
  // Totals of these records, for comparison with the last manifest.
  [[nodiscard]] Result<RecordTotals> Totals(const std::string& output) const;

 private:
  struct Link {
    std::string directory;
    Manifest manifest;
    std::string sha256;
  };
  struct Record;

  [[nodiscard]] Result<std::vector<Record>> Replay(const std::string& output) const;

  std::vector<Link> links_;
};

}  // namespace cobblestone::exports

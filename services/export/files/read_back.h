// Exports read back: a full one, and what incremental ones say has changed since, each resting on the one before. By this an
// incremental export knows what was published, and a reader proves that nothing is missing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/manifest.h"
#include "services/export/files/record_set.h"

namespace cobblestone::statistics {

class ExportChain {
 public:
  // A full export, then incremental ones in their order. Corrupted where one does not rest on the one before it, or the first
  // is no full one; NotFound where there is no export.
  static Result<ExportChain> Open(const std::vector<std::string>& directories);

  [[nodiscard]] const Manifest& last() const { return links_.back().manifest; }
  // What an export that goes on from here says of it.
  [[nodiscard]] Base AsBase() const;

  // Every file of every export has the size and the sum that its manifest says. Corrupted names the first that has not.
  [[nodiscard]] Status CheckFiles(const std::function<void(const std::string& file)>& progress) const;
  // The records of an output after the last export, by number; none where it has no such output. Memory: 48 bytes each.
  [[nodiscard]] Result<RecordSet> Records(const std::string& output) const;
  // The same, added up. To be compared with what the last manifest says.
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

}  // namespace cobblestone::statistics

// The outputs of one enumeration: each record goes to all of them, into one file or into numbered files. If the
// records of an earlier export are known, only changes are written.
//
// Numbers: all numbered outputs of an enumeration share one counter, which increases by one per
// record and output, as upstream (tests/golden/export/README.md, 'Files and names'): with two
// outputs, each has every other number.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/export/files/manifest.h"
#include "services/export/files/output_file.h"
#include "services/export/files/record_set.h"
#include "services/export/spec.h"
#include "services/export/workers.h"

namespace cobblestone::exports {

struct OutputPlace {
  std::string directory;
  std::int64_t now = 0;  // UNIX s
  Workers* workers = nullptr;
  // Records of an output in the previous export; empty function: a full export. Called once per output.
  std::function<Result<RecordSet>(const std::string& output)> known;
};

class OutputSet {
 public:
  // `record`: tag of the records. `head`, `tail`: of each file. Errors of the spec (two outputs with one file)
  // are returned by Put or Finish.
  OutputSet(const OutputPlace& place, const Enumeration& enumeration, std::string record, std::string head,
            std::string tail);
  ~OutputSet();

  // Call it first: creates the files that exist even without records.
  Status Begin();
  // Which texts of a record the outputs need.
  [[nodiscard]] bool WantsPlain() const;
  [[nodiscard]] bool WantsDetail() const;
  // `plain`, `detailed`: the record for outputs without and with <detail/>; a text that no
  // output needs may be empty.
  Status Put(const RecordKey& key, std::string_view plain, std::string_view detailed, std::uint32_t copies);
  // Adds the written files and figures to the manifest.
  Status Finish(Manifest* manifest);

 private:
  struct Lane;

  Status Write(Lane& lane, std::string_view record);
  Status Close(Lane& lane, Manifest* manifest);
  Status WriteRemoved(Lane& lane);

  OutputPlace place_;
  std::string filename_;
  std::string record_;
  std::string head_;
  std::string tail_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::uint64_t counter_ = 0;
  std::vector<FileFigures> files_;
};

}  // namespace cobblestone::exports

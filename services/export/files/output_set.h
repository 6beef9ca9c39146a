// The outputs of one enumeration: each record goes to all of them, into one file or numbered ones. With what an earlier
// export had, only what has changed since is written.
//
// Numbers: all numbered outputs of an enumeration share one counter, which goes up by one per record and output, as upstream
// has it (tests/golden/export/README.md, 'Files and names'): with two, each gets every other number.
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

namespace cobblestone::statistics {

struct OutputPlace {
  std::string directory;
  std::int64_t now = 0;  // UNIX s
  Workers* workers = nullptr;
  // The records that an output had in the export before; empty: a full export. Asked once per output.
  std::function<Result<RecordSet>(const std::string& output)> known;
};

class OutputSet {
 public:
  // `record`: the tag of its records. `head`, `tail`: of each file. Spec errors (two outputs of one file) come from Put or
  // Finish.
  OutputSet(const OutputPlace& place, const Enumeration& enumeration, std::string record, std::string head,
            std::string tail);
  ~OutputSet();

  // To be called first: makes the files that are there without records, too.
  Status Begin();
  // Which texts of a record are asked for.
  [[nodiscard]] bool WantsPlain() const;
  [[nodiscard]] bool WantsDetail() const;
  // `plain`, `detailed`: the record for outputs without and with <detail/>; one that is not wanted may be empty.
  Status Put(const RecordKey& key, std::string_view plain, std::string_view detailed, std::uint32_t copies);
  // Adds what was written to the manifest.
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

}  // namespace cobblestone::statistics

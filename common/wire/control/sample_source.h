// Where a batch of samples comes from, and how far its source has come: the fields of SampleBatch beside the samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"

namespace cobblestone::wire {

struct SampleSource {
  ProjectId project;
  std::uint32_t partition = 0;    // of the claims stage
  std::uint64_t passed_mark = 0;  // everything before this mark was processed there; 0: no mark was passed

  friend bool operator==(const SampleSource&, const SampleSource&) = default;
};

// Appends the source to a batch that EncodeSampleBatch or SampleBatchWriter made, or to nothing.
void AppendSampleSource(std::uint32_t partition, std::uint64_t passed_mark, std::string* out);

// False where the bytes are no SampleBatch as far as fields go; samples are passed over.
[[nodiscard]] bool DecodeSampleSource(std::string_view bytes, SampleSource* source);

}  // namespace cobblestone::wire

// The origin of a batch of samples and the progress of its source: the fields of SampleBatch other than the
// samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"

namespace cobblestone::wire {

struct SampleSource {
  ProjectId project;
  std::uint32_t partition = 0;  // of the claims stage
  // Every record before this watermark was processed there; 0: none passed.
  std::uint64_t passed_watermark = 0;

  friend bool operator==(const SampleSource&, const SampleSource&) = default;
};

// Appends the source to an encoded batch (EncodeSampleBatch or SampleBatchWriter), or to an empty string.
void AppendSampleSource(std::uint32_t partition, std::uint64_t passed_watermark, std::string* out);

// False if the bytes are not a SampleBatch; samples are skipped without a check.
[[nodiscard]] bool DecodeSampleSource(std::string_view bytes, SampleSource* source);

}  // namespace cobblestone::wire

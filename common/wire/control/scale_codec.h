// Samples for the coordinator and the epochs that it publishes (schemas/internal.proto, SampleBatch, Epoch),
// by hand: there is a sample for each priced result, and a table is relayed to every partition.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::wire {

// Builds a batch sample by sample, so that a stage need not keep them as values until its commit.
class SampleBatchWriter {
 public:
  // The project is written first; it cannot change.
  explicit SampleBatchWriter(ProjectId project);

  void Add(const credit::Sample& sample);
  [[nodiscard]] std::size_t count() const { return count_; }
  // A whole SampleBatch at any time.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // As just made.
  void Clear();

 private:
  std::size_t head_size_ = 0;
  std::size_t count_ = 0;
  std::string bytes_;
};

// Appends to `out`.
void EncodeSampleBatch(ProjectId project, std::span<const credit::Sample> samples, std::string* out);

// Appends the samples to `samples`, which may hold others already. False where the bytes are no SampleBatch;
// *samples may then have grown.
[[nodiscard]] bool DecodeSampleBatch(std::string_view bytes, ProjectId* project,
                                     std::vector<credit::Sample>* samples);

// Versions and apps in ascending order of id. Appends to `out`.
void EncodeEpoch(ProjectId project, const credit::ScaleTable& table, std::string* out);
// False where the bytes are no Epoch.
[[nodiscard]] bool DecodeEpoch(std::string_view bytes, ProjectId* project, credit::ScaleTable* table);

}  // namespace cobblestone::wire

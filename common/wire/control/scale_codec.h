// Samples for the coordinator and the epochs that it publishes (schemas/internal.proto, SampleBatch, Epoch).
// Hand-written, because every priced result gives a sample and a table is relayed to every partition.
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

// Builds a batch sample by sample, so that a stage need not store the samples until its commit.
class SampleBatchWriter {
 public:
  // The project is written first and cannot change.
  explicit SampleBatchWriter(ProjectId project);

  void Add(const credit::Sample& sample);
  [[nodiscard]] std::size_t count() const { return count_; }
  // A complete SampleBatch at any time.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Returns to the state after construction.
  void Clear();

 private:
  std::size_t head_size_ = 0;
  std::size_t count_ = 0;
  std::string bytes_;
};

// Appends to `out`.
void EncodeSampleBatch(ProjectId project, std::span<const credit::Sample> samples, std::string* out);

// Appends to `samples`. False if the bytes are not a SampleBatch; *samples may have grown even then.
[[nodiscard]] bool DecodeSampleBatch(std::string_view bytes, ProjectId* project,
                                     std::vector<credit::Sample>* samples);

// Versions and apps in ascending order of id. Appends to `out`.
void EncodeEpoch(ProjectId project, const credit::ScaleTable& table, std::string* out);
// False if the bytes are not an Epoch.
[[nodiscard]] bool DecodeEpoch(std::string_view bytes, ProjectId* project, credit::ScaleTable* table);

}  // namespace cobblestone::wire

// The bytes of a file as it was fetched, decompressed piece by piece: gzip (one member or several), zstd or plain,
// detected from the contents, because servers and proxies change compression without changing names.
//
// Owner: one thread at a time. Memory: 256 KiB and the state of the decompressor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "services/hub/feeds/file_problem.h"

namespace cobblestone::hub {

struct InputLimits {
  // Uncompressed. The largest files of today's projects have 5 GB.
  std::uint64_t largest = std::uint64_t{64} << 30;
  // Uncompressed bytes per compressed byte, once the output exceeds `ratio_from`. Statistics files have 5 to 8; gzip
  // can reach 1,032.
  std::uint64_t largest_ratio = 200;
  std::uint64_t ratio_from = std::uint64_t{16} << 20;
};

class FeedInput {
 public:
  // kNotFound: the file cannot be opened.
  static Result<std::unique_ptr<FeedInput>> OpenFile(const std::string& path, const InputLimits& limits);
  // `bytes` must outlive the input.
  static std::unique_ptr<FeedInput> OverBytes(std::string_view bytes, const InputLimits& limits);
  virtual ~FeedInput() = default;
  FeedInput(const FeedInput&) = delete;
  FeedInput& operator=(const FeedInput&) = delete;

  // Writes at most `most` > 0 bytes to `out`. 0: the end, or a problem. Bytes before a problem are returned first.
  virtual std::size_t Read(char* out, std::size_t most) = 0;

  // kNone, or the reason why Read() ended: kEmpty, kForeignArchive, kDamagedCompression, kTruncated, kTooLarge,
  // kUnreadable.
  [[nodiscard]] virtual FileProblem problem() const = 0;

 protected:
  FeedInput() = default;
};

}  // namespace cobblestone::hub

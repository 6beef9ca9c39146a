#include "services/hub/feeds/feed_input.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace cobblestone::hub {
namespace {

constexpr std::size_t kCompressedBlock = 256u << 10;

// Compressed bytes, from a file or from memory.
class RawBytes {
 public:
  explicit RawBytes(std::string_view bytes) : rest_(bytes) {}
  explicit RawBytes(int file) : file_(file), block_(kCompressedBlock) {}
  RawBytes(const RawBytes&) = delete;
  RawBytes& operator=(const RawBytes&) = delete;
  RawBytes(RawBytes&& other) noexcept
      : file_(std::exchange(other.file_, -1)), block_(std::move(other.block_)), rest_(other.rest_) {}
  RawBytes& operator=(RawBytes&&) = delete;
  ~RawBytes() {
    if (file_ >= 0) ::close(file_);
  }

  // The bytes that are not consumed yet, at least one; empty at the end. Valid until the next call.
  std::string_view Peek() {
    if (!rest_.empty() || file_ < 0) return rest_;
    ssize_t got = 0;
    do {
      got = ::read(file_, block_.data(), block_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) failed_ = true;
    rest_ = {block_.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
    return rest_;
  }
  void Consume(std::size_t count) {
    rest_.remove_prefix(count);
    consumed_ += count;
  }
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  int file_ = -1;
  std::vector<char> block_{};
  std::string_view rest_{};
  std::uint64_t consumed_ = 0;
  bool failed_ = false;
};

// Read() of the three codings differ in Decode() alone.
class DecodedInput : public FeedInput {
 public:
  DecodedInput(RawBytes raw, const InputLimits& limits) : raw_(std::move(raw)), limits_(limits) {}

  std::size_t Read(char* out, std::size_t most) final {
    if (problem_ != FileProblem::kNone) return 0;
    const std::size_t got = Decode(out, most);
    given_ += got;
    if (raw_.failed()) problem_ = FileProblem::kUnreadable;
    if (given_ > limits_.largest ||
        (given_ > limits_.ratio_from && given_ / limits_.largest_ratio > raw_.consumed()))
      problem_ = FileProblem::kTooLarge;
    return got;
  }
  [[nodiscard]] FileProblem problem() const final { return problem_; }

 protected:
  virtual std::size_t Decode(char* out, std::size_t most) = 0;

  RawBytes raw_;
  FileProblem problem_ = FileProblem::kNone;

 private:
  InputLimits limits_;
  std::uint64_t given_ = 0;
};

class PlainInput final : public DecodedInput {
 public:
  PlainInput(RawBytes raw, const InputLimits& limits, FileProblem problem = FileProblem::kNone)
      : DecodedInput(std::move(raw), limits) {
    problem_ = problem;
  }

 protected:
  std::size_t Decode(char* out, std::size_t most) override {
    const std::string_view bytes = raw_.Peek().substr(0, most);
    std::copy(bytes.begin(), bytes.end(), out);
    raw_.Consume(bytes.size());
    return bytes.size();
  }
};

class GzipInput final : public DecodedInput {
 public:
  using DecodedInput::DecodedInput;

 protected:
  std::size_t Decode(char* out, std::size_t most) override {
    state_.next_out = reinterpret_cast<std::uint8_t*>(out);
    state_.avail_out = static_cast<std::uint32_t>(std::min<std::size_t>(most, 1u << 30));
    const std::uint32_t room = state_.avail_out;
    while (state_.avail_out == room && problem_ == FileProblem::kNone) {
      const std::string_view bytes = raw_.Peek();
      if (part_ == Part::kBetween && !BeginMember(bytes)) break;
      Advance();
      // The state holds decoded bytes of its own, so only a step without any tells that the file ends too early.
      if (bytes.empty() && part_ != Part::kBetween && state_.avail_out == room &&
          problem_ == FileProblem::kNone)
        problem_ = FileProblem::kTruncated;
    }
    return room - state_.avail_out;
  }

 private:
  enum class Part { kBetween, kHeader, kBody };

  // A member behind another one, or the zeros with which some archives are padded. False: the end.
  bool BeginMember(std::string_view bytes) {
    while (members_ > 0 && !bytes.empty() && bytes[0] == '\0') {
      raw_.Consume(std::min(bytes.find_first_not_of('\0'), bytes.size()));
      bytes = raw_.Peek();
    }
    if (bytes.empty()) return false;
    std::uint8_t* const out = state_.next_out;
    const std::uint32_t room = state_.avail_out;
    ::isal_inflate_init(&state_);
    state_.next_out = out;
    state_.avail_out = room;
    // isal_inflate() can read headers too, but refuses one with a checksum that continues in the next block.
    ::isal_gzip_header_init(&header_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    start_.clear();
    part_ = Part::kHeader;
    ++members_;
    return true;
  }

  void Advance() {
    const std::string_view bytes = raw_.Peek();
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(bytes.data()));
    state_.avail_in = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), 1u << 30));
    const std::uint32_t given = state_.avail_in;
    const int result =
        part_ == Part::kHeader ? ::isal_read_gzip_header(&state_, &header_) : ::isal_inflate(&state_);
    // For damaged bytes the library may count one byte more than it was given.
    const bool damaged = result < 0 || state_.avail_in > given;
    const std::size_t used = damaged ? 0 : given - state_.avail_in;
    if (part_ == Part::kHeader) start_.append(bytes.substr(0, std::min(used, kStartSize - start_.size())));
    raw_.Consume(used);
    if (damaged || !StartIsGzip()) {
      problem_ = FileProblem::kDamagedCompression;
    } else if (part_ == Part::kHeader) {
      if (result == ISAL_DECOMP_OK) part_ = Part::kBody;
    } else if (state_.block_state == ISAL_BLOCK_FINISH) {
      part_ = Part::kBetween;
    }
  }

  // isal_read_gzip_header() waits for ten bytes before it looks at the first, so fewer bytes of rubbish behind a member would look
  // like a header that is cut; and it does not refuse the reserved flags, as RFC 1952 asks.
  [[nodiscard]] bool StartIsGzip() const {
    if (start_.size() >= 2 && !start_.starts_with("\x1f\x8b")) return false;
    return start_.size() < kStartSize || (start_[2] == 8 && (start_[3] & 0xe0) == 0);
  }

  static constexpr std::size_t kStartSize = 4;  // magic number, method, flags

  inflate_state state_{};
  isal_gzip_header header_{};
  std::string start_{};  // the first bytes of the member
  Part part_ = Part::kBetween;
  int members_ = 0;
};

class ZstdInput final : public DecodedInput {
 public:
  ZstdInput(RawBytes raw, const InputLimits& limits)
      : DecodedInput(std::move(raw), limits), stream_(::ZSTD_createDStream()) {}
  ~ZstdInput() override { ::ZSTD_freeDStream(stream_); }

 protected:
  std::size_t Decode(char* out, std::size_t most) override {
    ZSTD_outBuffer to{out, most, 0};
    while (to.pos == 0) {
      const std::string_view bytes = raw_.Peek();
      if (bytes.empty() && !inside_) break;
      ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
      const std::size_t result = ::ZSTD_decompressStream(stream_, &to, &from);
      raw_.Consume(from.pos);
      if (::ZSTD_isError(result) != 0) {
        problem_ = FileProblem::kDamagedCompression;
        break;
      }
      inside_ = result != 0;
      if (bytes.empty() && to.pos == 0) {
        problem_ = FileProblem::kTruncated;
        break;
      }
    }
    return to.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool inside_ = false;  // within a frame
};

std::unique_ptr<FeedInput> Detect(RawBytes raw, const InputLimits& limits) {
  const std::string_view start = raw.Peek();
  if (raw.failed()) return std::make_unique<PlainInput>(std::move(raw), limits, FileProblem::kUnreadable);
  if (start.empty()) return std::make_unique<PlainInput>(std::move(raw), limits, FileProblem::kEmpty);
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipInput>(std::move(raw), limits);
  if (start.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdInput>(std::move(raw), limits);
  for (const std::string_view archive : {"PK\x03\x04", "PK\x05\x06", "BZh",
                                         "\xfd"
                                         "7zXZ",
                                         "7z\xbc\xaf"})
    if (start.starts_with(archive))
      return std::make_unique<PlainInput>(std::move(raw), limits, FileProblem::kForeignArchive);
  return std::make_unique<PlainInput>(std::move(raw), limits);
}

}  // namespace

Result<std::unique_ptr<FeedInput>> FeedInput::OpenFile(const std::string& path, const InputLimits& limits) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Status::NotFound("cannot open " + path + ": " + std::strerror(errno));
  return Detect(RawBytes(file), limits);
}

std::unique_ptr<FeedInput> FeedInput::OverBytes(std::string_view bytes, const InputLimits& limits) {
  return Detect(RawBytes(bytes), limits);
}

}  // namespace cobblestone::hub

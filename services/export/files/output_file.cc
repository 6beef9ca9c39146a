#include "services/export/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "common/base/check.h"

namespace cobblestone::exports {
namespace {

constexpr std::size_t kBlock = 1U << 20U;
constexpr std::size_t kDeflateWindow = 32U << 10U;  // longest back reference of deflate
constexpr std::size_t kBlocksUnderWay = 4;          // enough for two threads
constexpr std::size_t kPlainBuffer = 256U << 10U;
// No name, no time, operating system Unix: the same header as in BOINC's files.
constexpr std::string_view kGzipHeader("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);

void AppendLittleEndian(std::uint32_t value, std::string* out) {
  for (int i = 0; i < 4; ++i) *out += static_cast<char>(value >> (8 * i) & 0xFFU);
}

// Compresses one part of a raw deflate stream; each part but the last ends at a byte boundary.
void Deflate(const std::string& text, const std::string& before, bool last, std::string* out) {
  z_stream stream{};
  COBBLESTONE_CHECK_EQ(
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  if (!before.empty()) {
    COBBLESTONE_CHECK_EQ(deflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(before.data()),
                                              static_cast<uInt>(before.size())),
                         Z_OK);
  }
  // deflateBound is for Z_FINISH; a sync flush adds a few bytes.
  out->resize(deflateBound(&stream, text.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT: zlib only reads it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out->data());
  stream.avail_out = static_cast<uInt>(out->size());
  COBBLESTONE_CHECK_EQ(deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH), last ? Z_STREAM_END : Z_OK);
  COBBLESTONE_CHECK_EQ(stream.avail_in, 0U);
  out->resize(out->size() - stream.avail_out);
  deflateEnd(&stream);
}

}  // namespace

struct OutputFile::Block {
  std::string text;
  std::string before;
  bool last = false;
  std::string compressed;
  unsigned long crc = 0;
};

OutputFile::OutputFile(std::string directory, std::string name, Compression compression, std::int64_t now,
                       Workers& workers)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      // The entry of an archive is first written as a file, under a name that no output can have.
      path_(directory_ + "/" + (compression == Compression::kZip ? "." : "") + name_ +
            std::string(EndingOf(compression))),
      compression_(compression),
      now_(now),
      workers_(workers),
      crc_(crc32(0, nullptr, 0)) {
  figures_.name = name_ + std::string(EndingOf(compression));
}

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& directory, const std::string& name,
                                                       Compression compression, std::int64_t now,
                                                       Workers& workers) {
  std::unique_ptr<OutputFile> file(new OutputFile(directory, name, compression, now, workers));
  file->descriptor_ = ::open(file->path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file->descriptor_ < 0 && errno == EEXIST)
    return Status::InvalidArgument("two outputs of the spec would both write " + file->path_ +
                                   "; rename one");
  if (file->descriptor_ < 0)
    return Status::Unwritten(errno, file->path_ + ": cannot create: " + std::strerror(errno));
  // For publication: readable regardless of the umask.
  if (::fchmod(file->descriptor_, 0644) != 0)
    return Status::Unwritten(errno, file->path_ + ": cannot make the file readable: " + std::strerror(errno));
  if (compression == Compression::kGzip) {
    if (Status status = file->Write(kGzipHeader); !status.ok()) return status;
  }
  return file;
}

OutputFile::~OutputFile() {
  // Jobs refer to blocks, not to this object; remaining jobs finish by themselves.
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status OutputFile::Append(std::string_view text) {
  figures_.content_bytes += text.size();
  buffer_ += text;
  if (compression_ != Compression::kGzip) {
    if (buffer_.size() < kPlainBuffer) return Status::Ok();
    Status status = Write(buffer_);
    buffer_.clear();
    return status;
  }
  if (buffer_.size() < kBlock) return Status::Ok();
  StartBlock(false);
  return DrainBlocks(kBlocksUnderWay);
}

void OutputFile::StartBlock(bool last) {
  const auto block = std::make_shared<Block>();
  block->text = std::move(buffer_);
  buffer_.clear();
  if (!last) buffer_.reserve(kBlock + kBlock / 16);
  block->before = std::move(tail_);
  block->last = last;
  tail_ = block->text.substr(block->text.size() - std::min(block->text.size(), kDeflateWindow));
  auto job = workers_.Start([block] {
    block->crc =
        crc32_z(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(block->text.data()), block->text.size());
    Deflate(block->text, block->before, block->last, &block->compressed);
  });
  blocks_.emplace_back(block, std::move(job));
}

Status OutputFile::DrainBlocks(std::size_t left) {
  while (blocks_.size() > left) {
    const auto [block, job] = blocks_.front();
    blocks_.pop_front();
    workers_.Wait(job);
    crc_ = crc32_combine(crc_, block->crc, static_cast<z_off_t>(block->text.size()));
    if (Status status = Write(block->compressed); !status.ok()) return status;
  }
  return Status::Ok();
}

Status OutputFile::Write(std::string_view bytes) {
  sum_.Add(bytes);
  figures_.bytes += bytes.size();
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::Unwritten(errno, path_ + ": write error: " + std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Result<FileFigures> OutputFile::Finish() {
  if (compression_ == Compression::kGzip) {
    StartBlock(true);
    if (Status status = DrainBlocks(0); !status.ok()) return status;
    std::string trailer;
    AppendLittleEndian(static_cast<std::uint32_t>(crc_), &trailer);
    AppendLittleEndian(static_cast<std::uint32_t>(figures_.content_bytes), &trailer);
    if (Status status = Write(trailer); !status.ok()) return status;
  } else if (Status status = Write(buffer_); !status.ok()) {
    return status;
  }
  buffer_.clear();
  if (::close(std::exchange(descriptor_, -1)) != 0)
    return Status::Unwritten(errno, path_ + ": write error: " + std::strerror(errno));
  if (compression_ == Compression::kZip) return FinishZip();
  figures_.sha256 = sum_.Finish();
  return figures_;
}

Result<FileFigures> OutputFile::FinishZip() {
  // libzip reads the entry when the archive is closed, so the plain file exists until then.
  const std::string archive_path = directory_ + "/" + figures_.name;
  const auto failed = [&](const std::string& why) {
    return Status::Unwritten(errno, archive_path + ": write error: " + why);
  };
  int code = 0;
  zip_t* archive = zip_open(archive_path.c_str(), ZIP_CREATE | ZIP_EXCL, &code);
  if (archive == nullptr && code == ZIP_ER_EXISTS)
    return Status::InvalidArgument("two outputs of the spec would both write " + archive_path +
                                   "; rename one");
  if (archive == nullptr) return failed("libzip error " + std::to_string(code));
  zip_source_t* source = zip_source_file(archive, path_.c_str(), 0, -1);
  const zip_int64_t entry =
      source == nullptr ? -1 : zip_file_add(archive, name_.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (entry < 0 && source != nullptr) zip_source_free(source);
  const bool made =
      entry >= 0 &&
      zip_file_set_mtime(archive, static_cast<zip_uint64_t>(entry), static_cast<time_t>(now_), 0) == 0 &&
      zip_close(archive) == 0;
  if (!made) {
    const std::string why = zip_strerror(archive);
    zip_discard(archive);
    return failed(why);
  }
  if (::chmod(archive_path.c_str(), 0644) != 0) return failed(std::strerror(errno));
  if (::unlink(path_.c_str()) != 0) return failed(std::strerror(errno));
  auto digest = DigestOf(archive_path);
  if (!digest.ok()) return digest.status();
  figures_.bytes = digest->bytes;
  figures_.sha256 = digest->sha256;
  return figures_;
}

}  // namespace cobblestone::exports

#include "services/traffic/federation_text.h"

#include <zlib.h>

#include <cerrno>
#include <utility>

namespace cobblestone::traffic {

namespace {

constexpr std::size_t kTextBlock = 256u << 10;  // longer than any text that is written at once

}  // namespace

void TextFile::CloseFile::operator()(gzFile_s* file) const { ::gzclose(file); }

Result<TextFile> TextFile::Create(const std::string& path, bool compress) {
  TextFile made;
  made.path_ = path;
  // The fastest level, for gigabytes; T: without compression.
  made.file_.reset(::gzopen(path.c_str(), compress ? "wb1e" : "wbTe"));
  if (made.file_ == nullptr)
    return Status::Unwritten(errno, "cannot write " + path + ": " + std::strerror(errno));
  ::gzbuffer(made.file_.get(), kTextBlock);
  made.block_.resize(kTextBlock);
  return made;
}

TextFile& TextFile::Millionths(std::uint64_t number) {
  constexpr std::uint64_t kMillion = 1'000'000;
  *this << number / kMillion;
  char decimals[7] = {'.'};
  auto rest = static_cast<std::uint32_t>(number % kMillion);
  for (int i = 6; i >= 1; --i, rest /= 10) decimals[i] = static_cast<char>('0' + rest % 10);
  return *this << std::string_view(decimals, sizeof decimals);
}

TextFile& TextFile::Id(std::uint64_t high, std::uint64_t low) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[32];
  for (int i = 0; i < 16; ++i) {
    text[i] = kDigits[high >> (60 - 4 * i) & 15];
    text[16 + i] = kDigits[low >> (60 - 4 * i) & 15];
  }
  return *this << std::string_view(text, sizeof text);
}

void TextFile::Flush() {
  errno = 0;
  const bool written =
      ::gzwrite(file_.get(), block_.data(), static_cast<unsigned>(used_)) == static_cast<int>(used_);
  if (!written && failed_ == 0) failed_ = errno != 0 ? errno : EIO;
  written_ += used_;
  used_ = 0;
}

Status TextFile::Close() {
  if (used_ > 0) Flush();
  errno = 0;
  if (::gzclose(file_.release()) != Z_OK && failed_ == 0) failed_ = errno != 0 ? errno : EIO;
  if (failed_ != 0)
    return Status::Unwritten(failed_, "cannot write " + path_ + ": " + std::strerror(failed_));
  return Status::Ok();
}

}  // namespace cobblestone::traffic

#include "services/export/files/record_file.h"

#include <zip.h>
#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace cobblestone::exports {
namespace {

constexpr std::size_t kReadSize = 256U << 10U;
constexpr std::size_t kLongestLine = 1U << 24U;  // far longer than any column's text

// zlib also reads uncompressed files.
class GzipContent final : public ContentReader {
 public:
  GzipContent(std::string path, gzFile file) : ContentReader(std::move(path)), file_(file) {
    gzbuffer(file_, kReadSize);
  }
  ~GzipContent() override { gzclose(file_); }

 protected:
  Result<std::size_t> Read(char* buffer, std::size_t size) override {
    const int got = gzread(file_, buffer, static_cast<unsigned>(size));
    int code = Z_OK;
    const char* why = gzerror(file_, &code);
    // A truncated stream is reported only at its end.
    if (got < 0 || code == Z_BUF_ERROR)
      return Status::Corrupted(path_ + ": cannot be decompressed further: " + why);
    return static_cast<std::size_t>(got);
  }

 private:
  gzFile file_;
};

class ZipContent final : public ContentReader {
 public:
  ZipContent(std::string path, zip_t* archive, zip_file_t* entry)
      : ContentReader(std::move(path)), archive_(archive), entry_(entry) {}
  ~ZipContent() override {
    zip_fclose(entry_);
    zip_discard(archive_);
  }

 protected:
  Result<std::size_t> Read(char* buffer, std::size_t size) override {
    const zip_int64_t got = zip_fread(entry_, buffer, size);
    if (got < 0)
      return Status::Corrupted(path_ + ": cannot be decompressed further: " + zip_file_strerror(entry_));
    return static_cast<std::size_t>(got);
  }

 private:
  zip_t* archive_;
  zip_file_t* entry_;
};

std::string_view Trimmed(std::string_view line) {
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

// Parses <tag>N</tag> at the beginning of the text, and removes it from the text.
std::optional<std::int64_t> TakeNumber(std::string_view* text, const std::string& tag) {
  const std::string open = "<" + tag + ">";
  const std::string close = "</" + tag + ">";
  if (!text->starts_with(open)) return std::nullopt;
  const char* const begin = text->data() + open.size();
  const char* const end = text->data() + text->size();
  std::uint64_t number = 0;  // ids are printed unsigned, except in the files by app
  std::int64_t negative = 0;
  auto parsed = std::from_chars(begin, end, number);
  if (parsed.ec != std::errc()) {
    parsed = std::from_chars(begin, end, negative);
    number = static_cast<std::uint64_t>(negative);
  }
  if (parsed.ec != std::errc()) return std::nullopt;
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (!rest.starts_with(close)) return std::nullopt;
  *text = rest.substr(close.size());
  return static_cast<std::int64_t>(number);
}

// The structure of a file: an optional declaration, a root, and the lines between its tags.
class Lines {
 public:
  Lines(ContentReader& content, const std::string& path) : content_(content), path_(path) {}

  // False at the end.
  Result<bool> Next() {
    auto line = content_.NextLine();
    if (!line.ok()) return line.status();
    line_ = *line;
    ++number_;
    return !line_.empty();
  }
  // Reads up to the first line of the contents.
  Status Begin() {
    auto more = Next();
    if (more.ok() && *more && line_.starts_with("<?xml ")) more = Next();
    if (!more.ok()) return more.status();
    const std::string_view root = Trimmed(line_);
    if (root.size() < 3 || root[0] != '<' || root.back() != '>') return Bad("expected the root element");
    tail_ = "</" + std::string(root.substr(1));
    more = Next();
    return more.ok() ? Status::Ok() : more.status();
  }
  [[nodiscard]] bool AtTail() const { return Trimmed(line_) == tail_; }
  Status End() {
    const auto more = Next();
    if (!more.ok()) return more.status();
    return *more ? Bad("extra text after the end of the root element") : Status::Ok();
  }
  [[nodiscard]] Status Bad(const std::string& what) const {
    return Status::Corrupted(path_ + ", line " + std::to_string(number_) + ": " + what + "; found '" +
                             std::string(Trimmed(line_).substr(0, 60)) + "'");
  }
  [[nodiscard]] std::string_view line() const { return line_; }

 private:
  ContentReader& content_;
  const std::string& path_;
  std::string_view line_;
  std::string tail_;
  std::uint64_t number_ = 0;
};

Result<RecordKey> KeyOf(std::string_view record, const std::string& tag, const Lines& lines) {
  const bool badge = tag.starts_with("badge_");
  std::string_view rest = record.substr(record.find('\n') + 1);
  const auto take = [&](const std::string& name) {
    rest = rest.substr(std::min(rest.find_first_not_of(" \n"), rest.size()));
    return TakeNumber(&rest, name);
  };
  const auto first = take(badge ? tag.substr(6) + "_id" : "id");
  const auto second = badge && first ? take("badge_id") : std::optional<std::int64_t>(0);
  if (!first || !second) return lines.Bad("expected the number at the start of a record");
  return RecordKey{.first = *first, .second = *second};
}

}  // namespace

Result<std::unique_ptr<ContentReader>> ContentReader::Open(const std::string& path) {
  if (path.ends_with(".zip")) {
    int code = 0;
    zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code);
    if (archive == nullptr) {
      if (code == ZIP_ER_NOENT) return Status::NotFound(path + ": no such file");
      return Status::Corrupted(path + ": not a zip archive (libzip error " + std::to_string(code) + ")");
    }
    zip_file_t* entry = zip_fopen_index(archive, 0, 0);
    if (entry == nullptr) {
      zip_discard(archive);
      return Status::Corrupted(path + ": the archive has no readable entry");
    }
    return std::unique_ptr<ContentReader>(new ZipContent(path, archive, entry));
  }
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  return std::unique_ptr<ContentReader>(new GzipContent(path, file));
}

Result<std::string_view> ContentReader::NextLine() {
  for (std::size_t searched = at_;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos || (ended_ && at_ < buffer_.size())) {
      const std::size_t behind = end == std::string::npos ? buffer_.size() : end + 1;
      const std::string_view line = std::string_view(buffer_).substr(at_, behind - at_);
      at_ = behind;
      return line;
    }
    if (ended_) return std::string_view();
    buffer_.erase(0, at_);
    at_ = 0;
    searched = buffer_.size();
    if (searched > kLongestLine) return Status::Corrupted(path_ + ": a line is too long for an export");
    buffer_.resize(searched + kReadSize);
    const auto got = Read(buffer_.data() + searched, kReadSize);
    buffer_.resize(searched + (got.ok() ? *got : 0));
    if (!got.ok()) return got.status();
    ended_ = *got == 0;
  }
}

Status ReadRecords(const std::string& path, const std::string& tag,
                   const std::function<Status(const RecordKey&, std::string_view record)>& take) {
  auto content = ContentReader::Open(path);
  if (!content.ok()) return content.status();
  Lines lines(**content, path);
  Status status = lines.Begin();
  if (!status.ok()) return status;
  const std::string indent = tag.starts_with("badge_") ? " " : "";
  const std::string open = indent + "<" + tag + ">\n";
  const std::string close = indent + "</" + tag + ">\n";
  std::string record;
  while (!lines.AtTail()) {
    if (lines.line() != open)
      return lines.Bad("expected a record <" + tag + "> or the end of the root element");
    record.clear();
    for (;;) {
      record += lines.line();
      if (lines.line() == close) break;
      const auto more = lines.Next();
      if (!more.ok()) return more.status();
      if (!*more || record.size() > kLongestLine)
        return lines.Bad("expected the end of a record <" + tag + ">");
    }
    const auto key = KeyOf(record, tag, lines);
    if (!key.ok()) return key.status();
    if (status = take(*key, record); !status.ok()) return status;
    if (const auto more = lines.Next(); !more.ok()) return more.status();
  }
  return lines.End();
}

Status ReadRemoved(const std::string& path, const std::function<Status(const RecordKey&)>& take) {
  auto content = ContentReader::Open(path);
  if (!content.ok()) return content.status();
  Lines lines(**content, path);
  Status status = lines.Begin();
  if (!status.ok()) return status;
  while (!lines.AtTail()) {
    std::string_view line = Trimmed(lines.line());
    const auto first = TakeNumber(&line, "id");
    const auto second = line.empty() ? std::optional<std::int64_t>(0) : TakeNumber(&line, "badge_id");
    if (!first || !second || !line.empty()) return lines.Bad("expected the number of a record");
    if (status = take({.first = *first, .second = *second}); !status.ok()) return status;
    if (const auto more = lines.Next(); !more.ok()) return more.status();
  }
  return lines.End();
}

}  // namespace cobblestone::exports

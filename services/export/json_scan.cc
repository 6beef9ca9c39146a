#include "services/export/json_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace cobblestone::exports {
namespace {

// Adjacent rows are read with one call; a single row costs a page, not a window.
constexpr std::uint64_t kScanWindow = 256U << 10U;
constexpr std::uint64_t kLoneRead = 4096;

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Reads the file byte by byte, and keeps the bytes of the current piece.
class Scanner {
 public:
  Scanner(RandomFile& file, const std::function<Status(const JsonPiece&)>& take) : file_(file), take_(take) {}

  Status Scan() {
    if (!Expect('{')) return Bad("expected an object {...} with one array of rows for each table");
    for (bool first = true;; first = false) {
      const std::optional<char> next = NextVisible();
      if (next == '}') break;
      if (!first && (next != ',' || (NextVisible(), current_ != '"')))
        return Bad("expected ',' and a section, or '}'");
      if (first && next != '"') return Bad("expected the name of a section");
      if (Status status = Section(); !status.ok()) return status;
    }
    if (NextVisible()) return Bad("extra text after the end of the file's object");
    return Status::Ok();
  }

 private:
  Status Section() {
    if (!Keep([&] { return String(); })) return Bad("the name of a section is truncated");
    section_ = kept_.substr(1, kept_.size() - 2);
    if (!Expect(':')) return Bad("expected ':' after the name of a section");
    if (!NextVisible()) return Bad("the file is truncated before the value of '" + section_ + "'");
    if (current_ != '[') return Piece(false);
    NextVisible();
    if (current_ == ']') return Status::Ok();
    for (;;) {
      if (current_ != '{') return Bad("expected a row {...} of '" + section_ + "'");
      if (Status status = Piece(true); !status.ok()) return status;
      NextVisible();
      if (current_ == ']') return Status::Ok();
      if (current_ != ',') return Bad("expected ',' or ']' after a row of '" + section_ + "'");
      NextVisible();
    }
  }

  // The value that begins at the current byte.
  Status Piece(bool is_row) {
    const std::uint64_t offset = at_ - 1;
    if (!Keep([&] { return Value(); }))
      return Bad(kept_.size() > kLargestRow ? "a row of '" + section_ + "' is larger than 64 MiB"
                                            : "the file is truncated in '" + section_ + "'");
    return take_({.section = section_, .is_row = is_row, .offset = offset, .text = kept_});
  }

  template <class Read>
  bool Keep(Read read) {
    kept_.assign(1, *current_);
    keeping_ = true;
    const bool whole = read();
    keeping_ = false;
    return whole;
  }

  // Reads to the end of the value that begins at the current byte.
  bool Value() {
    std::uint64_t depth = 0;
    for (;;) {
      if (current_ == '"' && !String()) return false;
      if (current_ == '{' || current_ == '[') ++depth;
      if (current_ == '}' || current_ == ']') --depth;
      // A number, true, false or null ends before a byte that cannot belong to it; at depth
      // 0 it is a section's value.
      if (depth == 0 && (current_ == '"' || current_ == '}' || current_ == ']' || EndsBare())) return true;
      if (depth > 0)
        SkipUntil([](char c) { return c == '"' || c == '{' || c == '}' || c == '[' || c == ']'; });
      if (kept_.size() > kLargestRow || !Next()) return false;
    }
  }
  bool EndsBare() {
    const std::optional<char> ahead = Peek();
    return !ahead || *ahead == ',' || *ahead == '}' || *ahead == ']' || IsSpace(*ahead);
  }
  // Reads to the closing quote; the current byte is the opening quote.
  bool String() {
    const auto ends = [](char c) { return c == '"' || c == '\\'; };
    for (SkipUntil(ends); Next() && kept_.size() <= kLargestRow; SkipUntil(ends)) {
      if (current_ == '\\') {
        if (!Next()) return false;
      } else if (current_ == '"') {
        return true;
      }
    }
    return false;
  }
  // Takes a run of plain bytes in memory at once: nearly every byte of a large file.
  template <class IsWanted>
  void SkipUntil(IsWanted is_wanted) {
    if (!Fill()) return;
    const std::string_view ahead = window_.substr(at_ - window_start_);
    const auto end = std::find_if(ahead.begin(), ahead.end(), is_wanted);
    kept_.append(ahead.begin(), end);
    at_ += static_cast<std::uint64_t>(end - ahead.begin());
  }

  bool Expect(char wanted) { return NextVisible() == wanted; }
  std::optional<char> NextVisible() {
    while (Next() && IsSpace(*current_)) {
    }
    return current_;
  }
  bool Fill() {
    if (at_ < window_end_) return true;
    if (at_ >= file_.size() || !read_.ok()) return false;
    auto window = file_.Read(at_, std::min(kScanWindow, file_.size() - at_));
    if (!window.ok()) {
      read_ = window.status();
      return false;
    }
    window_ = *window;
    window_start_ = at_;
    window_end_ = at_ + window_.size();
    return true;
  }
  std::optional<char> Peek() { return Fill() ? std::optional(window_[at_ - window_start_]) : std::nullopt; }
  bool Next() {
    if (!Fill()) {
      current_.reset();
      return false;
    }
    current_ = window_[at_++ - window_start_];
    if (keeping_) kept_ += *current_;
    return true;
  }

  Status Bad(const std::string& what) {
    if (!read_.ok()) return read_;
    return Status::InvalidArgument(file_.path() + ", line " +
                                   std::to_string(file_.LineOf(at_ > 0 ? at_ - 1 : 0)) + ": " + what);
  }

  RandomFile& file_;
  const std::function<Status(const JsonPiece&)>& take_;
  std::string_view window_;
  std::uint64_t window_start_ = 0;
  std::uint64_t window_end_ = 0;
  std::uint64_t at_ = 0;  // offset after the current byte
  std::optional<char> current_;
  bool keeping_ = false;
  std::string kept_;
  std::string section_;
  Status read_;
};

}  // namespace

Result<RandomFile> RandomFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(descriptor);
    return Status::InvalidArgument(
        path + ": not a regular file, but rows are read in random order; decompress the file first");
  }
  return RandomFile(path, descriptor, static_cast<std::uint64_t>(about.st_size));
}

RandomFile::RandomFile(RandomFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      start_(other.start_),
      window_(std::move(other.window_)) {}

RandomFile::~RandomFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string_view> RandomFile::Read(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t window_end = start_ + window_.size();
  if (offset < start_ || offset + length > window_end) {
    const bool goes_on = offset >= start_ && offset <= window_end;
    const std::uint64_t wanted =
        std::min(std::max(length, goes_on ? kScanWindow : kLoneRead), size_ > offset ? size_ - offset : 0);
    window_.resize(wanted);
    start_ = offset;
    std::uint64_t got = 0;
    while (got < wanted) {
      const ssize_t n =
          ::pread(descriptor_, window_.data() + got, wanted - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      got += static_cast<std::uint64_t>(n);
    }
    window_.resize(got);
    if (got < length)
      return Status::Fatal(path_ + ": read error at byte " + std::to_string(offset + got) +
                           "; check that no other process changes the file");
  }
  return std::string_view(window_).substr(offset - start_, length);
}

std::uint64_t RandomFile::LineOf(std::uint64_t offset) {
  std::uint64_t line = 1;
  for (std::uint64_t at = 0; at < std::min(offset, size_);) {
    const auto text = Read(at, std::min(kScanWindow, std::min(offset, size_) - at));
    if (!text.ok() || text->empty()) break;  // best effort: the line is for messages only
    line += static_cast<std::uint64_t>(std::count(text->begin(), text->end(), '\n'));
    at += text->size();
  }
  return line;
}

Status ScanJson(RandomFile& file, const std::function<Status(const JsonPiece&)>& take) {
  return Scanner(file, take).Scan();
}

}  // namespace cobblestone::exports

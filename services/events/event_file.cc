#include "services/events/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/wire/events/event_codec.h"
#include "common/wire/json/json_lines.h"

namespace cobblestone::events {
namespace event_file {

constexpr std::size_t kChunk = 256u << 10;

// A file descriptor that is closed with the object, unless it is standard input or output.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);  // callers that need the result of closing use Close()
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  bool Close() {
    const int fd = std::exchange(fd_, -1);
    return fd <= STDERR_FILENO || ::close(fd) == 0;
  }

 private:
  int fd_;
};

struct ZstdFree {
  void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  void operator()(ZSTD_CStream* stream) const { ZSTD_freeCStream(stream); }
};

// The uncompressed bytes of a file as a sliding window: Fill() extends data(), and Consume() shortens it.
// Consecutive members of gzip and frames of zstd form one stream, as in the tools of these formats.
class Input {
 public:
  Input(std::string path, int fd, std::uint64_t total) : path_(std::move(path)), file_(fd), total_(total) {}
  ~Input() {
    if (inflating_) inflateEnd(&inflate_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] std::string_view data() const {
    return std::string_view(window_).substr(begin_, end_ - begin_);
  }
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] std::uint64_t read() const { return read_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  void Consume(std::size_t count) { begin_ += count; }

  [[nodiscard]] bool compressed() const { return coding_ == Coding::kGzip || coding_ == Coding::kZstd; }
  // The file is followed from now on, also if its current end was reached.
  void Follow(std::function<AtEnd(bool at_end)> follow) {
    follow_ = std::move(follow);
    at_end_ = false;
  }
  // A followed file ended before its last line did.
  [[nodiscard]] bool stopped() const { return stopped_; }

  // Appends more data, unless the end was reached. Invalidates views of data(). After an error, returns it again.
  Status Fill() {
    if (at_end_ || !failed_.ok()) return failed_;
    if (begin_ > 0) {
      std::memmove(window_.data(), window_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    // Doubles the size each time, so that a long line is moved at most once on average.
    if (window_.size() - end_ < kChunk) window_.resize(std::max(window_.size() * 2, end_ + kChunk));
    const std::size_t before = end_;
    while (end_ == before && !at_end_ && failed_.ok()) failed_ = Step();
    return failed_;
  }
  // Until data() has at least `count` bytes, or the end was reached.
  Status FillTo(std::size_t count) {
    while (data().size() < count && !at_end_)
      if (Status s = Fill(); !s.ok()) return s;
    return Status::Ok();
  }

 private:
  enum class Coding { kUnknown, kPlain, kGzip, kZstd };

  Status Step() {
    switch (coding_) {
      case Coding::kUnknown: return FindCoding();
      case Coding::kPlain: return StepPlain();
      case Coding::kGzip: return StepGzip();
      case Coding::kZstd: return StepZstd();
    }
    return Status::Ok();
  }

  // Reads bytes from the file into `to`; 0 at the end of the file.
  Status ReadSome(char* to, std::size_t room, std::size_t* got) {
    for (;;) {
      const ssize_t n = ::read(file_.get(), to, room);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::Fatal(path_ + ": read error: " + std::strerror(errno));
      *got = static_cast<std::size_t>(n);
      read_ += *got;
      return Status::Ok();
    }
  }

  Status FetchPacked() {
    if (packed_.empty()) packed_.resize(kChunk);
    packed_end_ -= packed_begin_;
    std::memmove(packed_.data(), packed_.data() + packed_begin_, packed_end_);
    packed_begin_ = 0;
    std::size_t got = 0;
    if (Status s = ReadSome(packed_.data() + packed_end_, packed_.size() - packed_end_, &got); !s.ok())
      return s;
    packed_end_ += got;
    file_ended_ = got == 0;
    return Status::Ok();
  }

  [[nodiscard]] bool PackedStartsWith(std::string_view magic) const {
    return std::string_view(packed_).substr(packed_begin_, packed_end_ - packed_begin_).starts_with(magic);
  }
  [[nodiscard]] bool IsGzip() const { return PackedStartsWith("\x1f\x8b"); }
  [[nodiscard]] bool IsZstd() const {
    if (PackedStartsWith("\x28\xb5\x2f\xfd")) return true;
    // Skippable frames, which parallel compressors write first.
    return packed_end_ - packed_begin_ >= 4 && (packed_[packed_begin_] & 0xf0) == 0x50 &&
           std::memcmp(packed_.data() + packed_begin_ + 1, "\x2a\x4d\x18", 3) == 0;
  }

  Status FindCoding() {
    while (packed_end_ < 4 && !file_ended_) {
      if (Status s = FetchPacked(); !s.ok()) return s;
    }
    if (IsGzip()) {
      coding_ = Coding::kGzip;
      return Status::Ok();
    }
    if (IsZstd()) {
      coding_ = Coding::kZstd;
      zstd_.reset(ZSTD_createDStream());
      return Status::Ok();
    }
    coding_ = Coding::kPlain;
    const std::size_t count = packed_end_ - packed_begin_;
    if (window_.size() - end_ < count) window_.resize(end_ + count);
    std::memcpy(window_.data() + end_, packed_.data() + packed_begin_, count);
    end_ += count;
    packed_begin_ = packed_end_;
    at_end_ = file_ended_;
    return Status::Ok();
  }

  Status StepPlain() {
    std::size_t got = 0;
    if (Status s = ReadSome(window_.data() + end_, window_.size() - end_, &got); !s.ok()) return s;
    end_ += got;
    const AtEnd next = follow_ ? follow_(got == 0) : got == 0 ? AtEnd::kComplete : AtEnd::kReadOn;
    stopped_ = next == AtEnd::kStop;
    at_end_ = stopped_ || (got == 0 && next == AtEnd::kComplete);
    return Status::Ok();
  }

  // Between members or frames: checks whether another one follows. Sets at_end_ at the end of the file.
  Status BetweenFrames(bool (Input::*is_one)() const, const char* name) {
    while (packed_end_ - packed_begin_ < 4 && !file_ended_) {
      if (Status s = FetchPacked(); !s.ok()) return s;
    }
    if (packed_begin_ == packed_end_) {
      at_end_ = true;
      return Status::Ok();
    }
    if ((this->*is_one)()) return Status::Ok();
    return Status::InvalidArgument(path_ + ": byte " + std::to_string(At()) + ": extra bytes after the " +
                                   name + " data; check that only one process wrote the file");
  }

  Status StepGzip() {
    if (!inflating_) {
      if (Status s = BetweenFrames(&Input::IsGzip, "gzip"); !s.ok() || at_end_) return s;
      inflate_ = z_stream{};
      if (inflateInit2(&inflate_, 15 + 16) != Z_OK)
        return Status::Fatal("out of memory while decompressing " + path_);
      inflating_ = true;
    }
    if (packed_begin_ == packed_end_) {
      if (Status s = FetchPacked(); !s.ok()) return s;
      if (file_ended_) return CutOff("gzip");
    }
    inflate_.next_in = reinterpret_cast<Bytef*>(packed_.data() + packed_begin_);
    inflate_.avail_in = static_cast<uInt>(packed_end_ - packed_begin_);
    inflate_.next_out = reinterpret_cast<Bytef*>(window_.data() + end_);
    inflate_.avail_out = static_cast<uInt>(window_.size() - end_);
    const int code = inflate(&inflate_, Z_NO_FLUSH);
    packed_begin_ = packed_end_ - inflate_.avail_in;
    end_ = window_.size() - inflate_.avail_out;
    if (code == Z_STREAM_END) {
      inflateEnd(&inflate_);
      inflating_ = false;
      return Status::Ok();
    }
    if (code == Z_OK || code == Z_BUF_ERROR) return Status::Ok();
    return Damaged("gzip", inflate_.msg != nullptr ? inflate_.msg : "error " + std::to_string(code));
  }

  Status StepZstd() {
    if (!in_frame_) {
      if (Status s = BetweenFrames(&Input::IsZstd, "zstd"); !s.ok() || at_end_) return s;
      in_frame_ = true;
    }
    if (packed_begin_ == packed_end_) {
      if (Status s = FetchPacked(); !s.ok()) return s;
      if (file_ended_) return CutOff("zstd");
    }
    ZSTD_inBuffer in{packed_.data() + packed_begin_, packed_end_ - packed_begin_, 0};
    ZSTD_outBuffer out{window_.data() + end_, window_.size() - end_, 0};
    std::size_t left = ZSTD_decompressStream(zstd_.get(), &out, &in);
    // The decompressor may hold back bytes for lack of output space, and the file may have no more input that
    // would flush them.
    while (!ZSTD_isError(left) && left != 0 && in.pos == in.size && out.pos == out.size) {
      end_ += out.pos;
      window_.resize(window_.size() + kChunk);
      out = {window_.data() + end_, window_.size() - end_, 0};
      left = ZSTD_decompressStream(zstd_.get(), &out, &in);
    }
    if (ZSTD_isError(left)) {
      return Damaged("zstd", ZSTD_getErrorName(left));
    }
    packed_begin_ += in.pos;
    end_ += out.pos;
    in_frame_ = left != 0;
    return Status::Ok();
  }

  // Offset of the next packed byte.
  [[nodiscard]] std::uint64_t At() const { return read_ - (packed_end_ - packed_begin_); }

  [[nodiscard]] Status CutOff(const char* name) const {
    return Status::InvalidArgument(
        path_ + ": byte " + std::to_string(At()) + ": the " + name +
        " data is truncated, or the file is still being written; ingest the complete file under the same "
        "source name: events that are already ingested count once");
  }
  [[nodiscard]] Status Damaged(const char* name, const std::string& why) const {
    return Status::InvalidArgument(path_ + ": around byte " + std::to_string(At()) + ": the " + name +
                                   " data is damaged: " + why);
  }

  std::string path_;
  Descriptor file_;
  std::uint64_t total_;
  std::function<AtEnd(bool at_end)> follow_;
  bool stopped_ = false;
  std::uint64_t read_ = 0;
  Coding coding_ = Coding::kUnknown;
  bool at_end_ = false;
  Status failed_;
  std::string window_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string packed_;
  std::size_t packed_begin_ = 0;
  std::size_t packed_end_ = 0;
  bool file_ended_ = false;
  z_stream inflate_{};
  bool inflating_ = false;
  std::unique_ptr<ZSTD_DStream, ZstdFree> zstd_;
  bool in_frame_ = false;
};

}  // namespace event_file

using event_file::Input;

std::string_view EventFormatName(EventFormat format) {
  switch (format) {
    case EventFormat::kGolden: return "golden";
    case EventFormat::kJsonLines: return "JSON Lines";
    case EventFormat::kDelimited: return "delimited protobuf";
    case EventFormat::kRows: return "rows";
    case EventFormat::kTrickles: return "trickle messages";
  }
  return "unknown";
}

// ---- Reading -------------------------------------------------------------------------------------------

EventFile::EventFile(std::string path, EventFileOptions options, std::unique_ptr<Input> input)
    : path_(path),
      input_(std::move(input)),
      splitter_(LineForm::kLines, "file"),
      decoder_(LineForm::kLines),
      golden_({.project = options.project, .source = std::move(path)}) {}

EventFile::~EventFile() = default;

std::uint64_t EventFile::bytes_read() const { return input_->read(); }
std::uint64_t EventFile::bytes_total() const { return input_->total(); }

Result<std::unique_ptr<EventFile>> EventFile::Open(const std::string& path, const EventFileOptions& options) {
  int fd = STDIN_FILENO;
  std::string name = "standard input";
  if (path != "-") {
    name = path;
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Status::NotFound(path + ": cannot open for reading: " + std::strerror(errno));
  }
  struct stat about {};
  const bool regular = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  if (path != "-" && S_ISDIR(about.st_mode)) {
    ::close(fd);
    return Status::InvalidArgument(path + ": is a directory; use a file of events");
  }
  auto input = std::make_unique<Input>(name, fd, regular ? static_cast<std::uint64_t>(about.st_size) : 0);
  std::unique_ptr<EventFile> file(new EventFile(name, options, std::move(input)));
  if (Status s = file->Detect(); !s.ok()) return s;
  if (options.follow) {
    if (file->input_->compressed())
      return Status::InvalidArgument(name + ": a compressed file does not grow and cannot be followed");
    file->input_->Follow(options.follow);
  }
  return file;
}

// An error of the input behind the first line is left for Next(), which first returns the events before it.
Status EventFile::Detect() {
  Status filled = input_->FillTo(kForeignStartBytes);
  if (filled.ok() && MayBeTar(input_->data())) filled = input_->FillTo(kTarStartBytes);
  if (!filled.ok() && input_->data().empty()) return filled;
  if (const Foreign foreign = ForeignStart(input_->data())) return NotEvents(foreign);
  if (LooksDelimited(input_->data())) {
    const bool whole = input_->at_end() || (input_->total() > 0 && input_->read() == input_->total());
    if (const Foreign foreign = ForeignRecords(input_->data(), whole)) return NotEvents(foreign);
    format_ = EventFormat::kDelimited;
    splitter_ = LineSplitter(LineForm::kRecords, "file");
    decoder_ = LineDecoder(LineForm::kRecords);
    return Status::Ok();
  }
  input_->Consume(ByteOrderMarkBytes(input_->data()));
  std::size_t next = 0;
  auto first = LookAtLine(&next);
  if (!first.ok()) return first.status();
  format_ = boinc::IsGoldenFormat(*first) ? EventFormat::kGolden : EventFormat::kJsonLines;
  if (!NeedsSecondLine(*first)) return Status::Ok();
  const std::string kept(*first);
  const auto second = LookAtLine(&next);
  if (!second.ok()) return Status::Ok();
  const Foreign foreign = ForeignLines(kept, *second);
  return foreign ? NotEvents(foreign) : Status::Ok();
}

Status EventFile::NotEvents(const Foreign& foreign) const {
  return Status::InvalidArgument(path_ + ": " + foreign.Text("the file"));
}

Result<std::string_view> EventFile::LookAtLine(std::size_t* next) {
  std::size_t looked = *next;
  for (;;) {
    const std::string_view data = input_->data();
    const std::size_t end = data.find('\n', looked);
    if (end == std::string_view::npos && !input_->at_end() && data.size() - *next <= kMaxEventBytes) {
      looked = data.size();
      if (Status s = input_->Fill(); !s.ok()) return s;
      continue;
    }
    const std::string_view line = data.substr(*next, end == std::string_view::npos ? end : end - *next);
    *next = end == std::string_view::npos ? data.size() : end + 1;
    // Blank lines stay in memory to be counted, so only a limited number of bytes is examined.
    if (!IsBlank(line) || end == std::string_view::npos || end >= kMaxEventBytes) return line;
    looked = *next;
  }
}

Result<bool> EventFile::Next(EventItem* item) {
  item->envelope = {};
  item->raw = {};
  item->problem.clear();
  item->barrier = false;
  switch (format_) {
    case EventFormat::kGolden: return NextGolden(item);
    case EventFormat::kJsonLines:
    case EventFormat::kDelimited: return NextEvent(item);
    case EventFormat::kRows:
    case EventFormat::kTrickles: break;  // not formats of these files
  }
  return false;
}

Status EventFile::ForEach(const std::function<Status(const EventItem&)>& take) {
  EventItem item;
  for (;;) {
    const auto more = Next(&item);
    if (!more.ok()) return more.status();
    if (!*more) return Status::Ok();
    if (Status s = take(item); !s.ok()) return s;
  }
}

Result<bool> EventFile::NextLine() {
  for (;;) {
    const AtEnd after = !input_->at_end()   ? AtEnd::kReadOn
                        : input_->stopped() ? AtEnd::kStop
                                            : AtEnd::kComplete;
    std::size_t consumed = 0;
    const auto found = splitter_.Next(input_->data(), after, &consumed);
    if (!found.ok()) return Status::InvalidArgument(path_ + ": " + found.status().message());
    input_->Consume(consumed);
    if (*found != LineSplitter::Found::kNeedsMore) return *found == LineSplitter::Found::kLine;
    if (Status s = input_->Fill(); !s.ok()) return s;
  }
}

Result<bool> EventFile::NextEvent(EventItem* item) {
  do {
    const auto more = NextLine();
    if (!more.ok() || !*more) return more;
    item->envelope = decoder_.Decode(splitter_.raw(), splitter_.too_long(), &item->problem);
  } while (item->envelope.empty() && !item->bad());  // a blank line
  item->raw = splitter_.raw();
  item->line = splitter_.number();
  return true;
}

// Keeps the members that a line with a problem named first: the reader does not announce them again.
void EventFile::KeepAnnouncements() {
  std::erase_if(items_, [](const boinc::GoldenItem& one) {
    const auto kind = wire::PeekKind(one.envelope);
    return kind != wire::EventKind::kHost && kind != wire::EventKind::kUser;
  });
}

Result<bool> EventFile::NextGolden(EventItem* item) {
  while (next_item_ == items_.size()) {
    item->raw = raw_;
    if (!golden_problem_.empty()) {
      item->line = splitter_.number();
      item->problem = std::exchange(golden_problem_, {});
      return true;
    }
    items_.clear();
    next_item_ = 0;
    const auto more = NextLine();
    if (!more.ok()) return more;
    if (!*more) {
      if (golden_.ended()) return false;
      return Status::InvalidArgument(
          path_ + ": ends after " + std::to_string(splitter_.number() + 1) +
          " lines without a line `end`: the file is incomplete, or is still being written");
    }
    const std::string_view line = splitter_.raw();
    if (line.empty()) {
      // The golden reader counts lines itself.
      if (Status s = golden_.ReadLine({}, &items_); !s.ok()) return s;
      continue;
    }
    raw_.assign(line);
    const bool too_long = splitter_.too_long();
    if (Status s = golden_.ReadLine(too_long ? std::string_view("{") : line, &items_); !s.ok()) {
      golden_problem_ = too_long ? LineTooLong() : s.message();
      KeepAnnouncements();
    }
  }
  const boinc::GoldenItem& next = items_[next_item_++];
  item->envelope = next.envelope;
  item->raw = raw_;
  item->line = next.line;
  item->barrier = next.barrier;
  return true;
}

// ---- Writing -------------------------------------------------------------------------------------------

class EventWriter::Output {
 public:
  enum class Coding { kPlain, kGzip, kZstd };

  Output(std::string path, int fd, Coding coding) : path_(std::move(path)), file_(fd), coding_(coding) {
    if (coding_ == Coding::kZstd) {
      zstd_.reset(ZSTD_createCStream());
      ZSTD_initCStream(zstd_.get(), ZSTD_CLEVEL_DEFAULT);
    }
    // No name and no time in the header: the same events give the same bytes.
    if (coding_ == Coding::kGzip) {
      deflating_ =
          deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    buffer_.reserve(2 * event_file::kChunk);
  }
  ~Output() {
    if (deflating_) deflateEnd(&deflate_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::string& buffer() { return buffer_; }
  Status MaybeFlush() { return buffer_.size() < event_file::kChunk ? Status::Ok() : Flush(false); }

  Status Close() {
    if (Status s = Flush(true); !s.ok()) return s;
    return file_.Close() ? Status::Ok() : Failed();
  }

 private:
  Status Flush(bool last) {
    Status status;
    switch (coding_) {
      case Coding::kPlain: status = WriteAll(buffer_); break;
      case Coding::kGzip: status = Deflate(last); break;
      case Coding::kZstd: status = Compress(last); break;
    }
    buffer_.clear();
    return status;
  }

  Status Deflate(bool last) {
    if (!deflating_) return Status::Fatal("out of memory while compressing " + path_);
    deflate_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    deflate_.avail_in = static_cast<uInt>(buffer_.size());
    packed_.resize(event_file::kChunk);
    do {
      deflate_.next_out = reinterpret_cast<Bytef*>(packed_.data());
      deflate_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&deflate_, last ? Z_FINISH : Z_NO_FLUSH);
      const std::size_t made = packed_.size() - deflate_.avail_out;
      if (Status s = WriteAll(std::string_view(packed_).substr(0, made)); !s.ok()) return s;
    } while (deflate_.avail_out == 0);
    return Status::Ok();
  }

  Status Compress(bool last) {
    ZSTD_inBuffer in{buffer_.data(), buffer_.size(), 0};
    packed_.resize(event_file::kChunk);
    for (bool done = false; !done;) {
      ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(zstd_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left))
        return Status::Fatal("packing " + path_ + " failed: " + ZSTD_getErrorName(left));
      if (Status s = WriteAll(std::string_view(packed_).substr(0, out.pos)); !s.ok()) return s;
      done = last ? left == 0 : in.pos == in.size;
    }
    return Status::Ok();
  }

  Status WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed();
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return Status::Ok();
  }

  [[nodiscard]] Status Failed() const {
    return Status::Unwritten(errno,
                             "writing " + path_ + " failed: " + std::strerror(errno) +
                                 (errno == ENOSPC ? "; free disk space or write to another disk" : ""));
  }

  std::string path_;
  event_file::Descriptor file_;
  Coding coding_;
  std::string buffer_;
  std::string packed_;
  z_stream deflate_{};
  bool deflating_ = false;
  std::unique_ptr<ZSTD_CStream, event_file::ZstdFree> zstd_;
};

EventWriter::EventWriter(EventFormat format, std::unique_ptr<Output> output)
    : format_(format), output_(std::move(output)) {}
EventWriter::~EventWriter() = default;

Result<std::unique_ptr<EventWriter>> EventWriter::Open(const std::string& path) {
  std::string_view name = path;
  auto coding = Output::Coding::kPlain;
  const auto drop = [&name](std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    return true;
  };
  EventFormat format = EventFormat::kJsonLines;
  int fd = STDOUT_FILENO;
  if (path != "-") {
    if (drop(".gz")) {
      coding = Output::Coding::kGzip;
    } else if (drop(".zst")) {
      coding = Output::Coding::kZstd;
    }
    if (drop(".pb") || drop(".delimited")) {
      format = EventFormat::kDelimited;
    } else if (!drop(".jsonl") && !drop(".json")) {
      return Status::InvalidArgument(
          path +
          ": unknown file name extension; use .jsonl or .pb, optionally followed by .gz or .zst "
          "for compression");
    }
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return Status::InvalidArgument(path + ": cannot open for writing: " + std::strerror(errno));
  }
  auto output = std::make_unique<Output>(path == "-" ? "standard output" : path, fd, coding);
  return std::unique_ptr<EventWriter>(new EventWriter(format, std::move(output)));
}

Status EventWriter::Write(std::string_view envelope) {
  std::string& to = output_->buffer();
  if (format_ == EventFormat::kDelimited) {
    std::uint64_t length = envelope.size();
    for (; length >= 0x80; length >>= 7) to.push_back(static_cast<char>(length | 0x80));
    to.push_back(static_cast<char>(length));
    to.append(envelope);
    return output_->MaybeFlush();
  }
  if (auto json = wire::EnvelopeToJson(envelope); json.ok()) {
    to.append(*json);
  } else {
    line_.assign(envelope);
    for (char& c : line_) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    to.append(line_);
  }
  to.push_back('\n');
  return output_->MaybeFlush();
}

Status EventWriter::Close() { return output_->Close(); }

}  // namespace cobblestone::events

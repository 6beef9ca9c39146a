#include "services/hub/feeds/statistics_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "services/hub/feeds/byte_scan.h"
#include "services/hub/feeds/document.h"
#include "services/hub/feeds/elements.h"

namespace cobblestone::hub {
namespace {

constexpr std::size_t kReadBlock = 256u << 10;
constexpr std::size_t kShortRest = 32u << 10;
constexpr std::size_t kLongestTag = 64;
constexpr std::size_t kStartBytes = 1024;
constexpr std::size_t kMostRefusals = 20;
constexpr std::uint64_t kSampledFirst = 1000;
constexpr std::uint64_t kSampledThen = 64;
constexpr std::uint64_t kLargestId = std::numeric_limits<std::int64_t>::max();  // of any column of a database

struct KindTags {
  std::string_view name;
  std::string_view root;
  std::string_view root_end;
  std::string_view open;
  std::string_view close;
};

const KindTags& TagsOf(RecordKind kind) {
  static constexpr std::array<KindTags, 3> kTags = {{
      {"user", "<users", "</users>", "<user>", "</user>"},
      {"host", "<hosts", "</hosts>", "<host>", "</host>"},
      {"team", "<teams", "</teams>", "<team>", "</team>"},
  }};
  return kTags[static_cast<std::size_t>(kind)];
}

// The members of a team are inside its record, behind its own elements.
constexpr std::string_view kMember = "<user>";

std::uint64_t CountLines(std::string_view text) { return CountByte(text, '\n'); }

// The place of the first `tag` with only blanks before it in its line; npos: none. The beginning of `text` counts as
// the beginning of a line if `at_line_start`.
std::size_t FindTagLine(std::string_view text, std::string_view tag, bool at_line_start) {
  std::size_t from = 0;
  while (true) {
    const void* const found = ::memmem(text.data() + from, text.size() - from, tag.data(), tag.size());
    if (found == nullptr) return std::string_view::npos;
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    std::size_t blank = at;
    while (blank > 0 && (text[blank - 1] == ' ' || text[blank - 1] == '\t')) --blank;
    if (blank == 0 ? at_line_start : text[blank - 1] == '\n') return at;
    from = at + tag.size();
  }
}

// The first line is a number in hexadecimal.
bool BeginsWithChunkHeader(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF");
  return end != std::string_view::npos && end > 0 && end <= 16 && (text[end] == '\r' || text[end] == '\n');
}

// Finds the end of a record: the first line that begins with its closing tag, with the tag of a member, or with another
// opening tag, which means that the record is cut. Resumes where it stopped when more bytes have been read.
class RecordLines {
 public:
  RecordLines(std::string_view open, std::string_view close, std::string_view member)
      : open_(open),
        close_(close),
        member_(member),
        after_bracket_{EachByte('/'), EachByte(open[1]), EachByte(member[1])} {}

  // `text` begins behind the opening tag. False: no such line yet.
  bool Find(std::string_view text) {
    std::size_t at = next_;
    if (at == 0 && text.size() >= kLongestTag) {
      if (text[0] == '<' && IsAt(text, 0)) return true;
      at = 1;
    }
    const std::array<ByteVector, 3> after_bracket = after_bracket_;  // in registers
    for (; at + kStep + kLongestTag <= text.size(); at += kStep) {
      const char* const from = text.data() + at;
      if (AnyByte(TagsBegin(from, after_bracket) | TagsBegin(from + kVectorBytes, after_bracket)))
        for (std::size_t byte = 0; byte < kStep; ++byte)
          if (text[at + byte] == '<' && IsAt(text, at + byte)) return true;
    }
    // From here on a tag may not be read in whole.
    next_ = at;
    for (; at < text.size(); ++at)
      if (text[at] == '<' && IsAt(text, at)) return true;
    return false;
  }

  [[nodiscard]] bool found() const { return at_open_ || at_close_ || at_member_; }
  [[nodiscard]] bool at_open() const { return at_open_; }
  [[nodiscard]] bool at_close() const { return at_close_; }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  static constexpr std::size_t kStep = 2 * kVectorBytes;

  // Not 0 in the bytes from `at` on in which a tag may begin: `<` behind a blank and before the second character of one
  // of the tags. Most lines are elements with other names. Bytes of UTF-8 count as blanks here, which costs time and
  // nothing else.
  static ByteVector TagsBegin(const char* at, const std::array<ByteVector, 3>& after_bracket) {
    const ByteVector next = LoadVector(at + 1);
    return (LoadVector(at) == '<') & (LoadVector(at - 1) <= ' ') &
           ((next == after_bracket[0]) | (next == after_bracket[1]) | (next == after_bracket[2]));
  }
  bool IsAt(std::string_view text, std::size_t at) {
    std::size_t blank = at;
    while (blank > 0 && (text[blank - 1] == ' ' || text[blank - 1] == '\t')) --blank;
    if (blank > 0 && text[blank - 1] != '\n') return false;
    const std::string_view line = text.substr(at, kLongestTag);
    at_ = at;
    at_close_ = line.starts_with(close_);
    at_open_ = line.starts_with(open_);
    at_member_ = line.starts_with(member_) && !at_close_;
    return found();
  }

  std::string_view open_;
  std::string_view close_;
  std::string_view member_;
  std::array<ByteVector, 3> after_bracket_;
  std::size_t next_ = 0;
  std::size_t at_ = 0;
  bool at_open_ = false;
  bool at_close_ = false;
  bool at_member_ = false;
};

// The two elements that each record needs. As everywhere, the first of two equal elements counts, and a tag in the
// value of another element is text. An absent element has no data().
struct RecordHead {
  explicit RecordHead(std::string_view text) {
    ElementScan scan(text);
    while ((id.data() == nullptr || total_credit.data() == nullptr) && scan.Next()) {
      if (id.data() == nullptr && SameShort(scan.tag(), "id")) id = scan.value();
      if (total_credit.data() == nullptr && SameShort(scan.tag(), "total_credit"))
        total_credit = scan.value();
    }
    broken = ProblemOfScan(scan);
  }

  std::string_view id{};
  std::string_view total_credit{};
  FieldProblem broken{};  // why the elements behind cannot be read
};

}  // namespace

std::string_view LastingElement(RecordKind kind) {
  return kind == RecordKind::kUser ? "create_time" : "userid";
}

std::string_view RecordKindName(RecordKind kind) { return TagsOf(kind).name; }

FileSummary& FileSummary::operator+=(const FileSummary& next) {
  records += next.records;
  repeated += next.repeated;
  total_credit += next.total_credit;
  if (next.largest_credit > largest_credit) {
    largest_credit = next.largest_credit;
    largest_id = next.largest_id;
  }
  decimals = std::max(decimals, next.decimals);
  const std::array<std::uint64_t, 4> both = {contents.low, contents.high, next.contents.low,
                                             next.contents.high};
  contents = stream::HashBytes({reinterpret_cast<const char*>(both.data()), sizeof both});
  bytes += next.bytes;
  return *this;
}

Result<std::unique_ptr<StatisticsReader>> StatisticsReader::OpenFile(RecordKind kind, const std::string& path,
                                                                     const std::string& name,
                                                                     const ReaderLimits& limits) {
  auto input = FeedInput::OpenFile(path, limits.input);
  if (!input.ok()) return input.status();
  return std::unique_ptr<StatisticsReader>(new StatisticsReader(kind, name, std::move(*input), limits));
}

std::unique_ptr<StatisticsReader> StatisticsReader::OverBytes(RecordKind kind, std::string_view bytes,
                                                              const std::string& name,
                                                              const ReaderLimits& limits) {
  return std::unique_ptr<StatisticsReader>(
      new StatisticsReader(kind, name, FeedInput::OverBytes(bytes, limits.input), limits));
}

StatisticsReader::StatisticsReader(RecordKind kind, std::string name, std::unique_ptr<FeedInput> input,
                                   const ReaderLimits& limits)
    : kind_(kind),
      name_(std::move(name)),
      limits_(limits),
      input_(std::move(input)),
      buffer_(limits.longest_record + 6 * kReadBlock),
      contents_(std::make_unique<stream::Hasher>()) {
  summary_.kind = kind;
}

// ---- Bytes ------------------------------------------------------------------------------------------------

bool StatisticsReader::Fill() {
  // A short rest moves at once, so that the same few pages are used again and stay in the processor's cache.
  if (begin_ > 0 && (end_ - begin_ <= kShortRest || buffer_.size() - end_ < kReadBlock)) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) return false;
  const std::size_t got = input_->Read(buffer_.data() + end_, std::min(buffer_.size() - end_, kReadBlock));
  end_ += got;
  summary_.bytes += got;
  return got > 0;
}

std::string_view StatisticsReader::Look(std::size_t count) {
  while (Unread().size() < count && Fill()) {
  }
  return Unread();
}

void StatisticsReader::Consume(std::size_t count) {
  line_ += CountLines(Unread().substr(0, count));
  begin_ += count;
}

void StatisticsReader::SkipBlanks() {
  while (true) {
    const std::string_view bytes = Look(1);
    std::size_t blanks = 0;
    while (blanks < bytes.size() && IsBlank(bytes[blanks])) ++blanks;
    Consume(blanks);
    if (blanks < bytes.size() || bytes.empty()) return;
  }
}

void StatisticsReader::SkipToLine(std::string_view tag, std::string_view other) {
  Consume(std::min<std::size_t>(Look(1).size(), 1));
  bool at_line_start = false;
  while (true) {
    const std::string_view bytes = Unread();
    const std::size_t at =
        std::min(FindTagLine(bytes, tag, at_line_start), FindTagLine(bytes, other, at_line_start));
    if (at != std::string_view::npos) return Consume(at);
    // A tag may be cut by the end of what is read; its blanks, if they are more, are not worth keeping.
    if (bytes.size() > 2 * kLongestTag) {
      const std::size_t keep_from = std::max(bytes.rfind('\n') + 1, bytes.size() - kLongestTag);
      at_line_start = keep_from > 0 && bytes[keep_from - 1] == '\n';
      Consume(keep_from);
    }
    if (!Fill()) return Consume(Unread().size());
  }
}

// ---- The document -----------------------------------------------------------------------------------------

bool StatisticsReader::Next(StatisticsRecord* record) {
  if (finished_) return false;
  if (!started_) {
    started_ = true;
    if (!ReadStart()) return Finish();
  }
  ConsumeRecord();
  while (problems_ < limits_.most_problems) {
    if (in_members_) SkipMembers();
    SkipBlanks();
    const std::string_view bytes = Look(kLongestTag);
    if (bytes.empty()) return Finish();
    if (bytes.starts_with(TagsOf(kind_).root_end)) {
      ReadEnd();
      return Finish();
    }
    if (!bytes.starts_with(TagsOf(kind_).open)) {
      SkipBytesBetween(std::string(bytes.substr(0, kLongestTag)));
    } else if (ReadRecord(record)) {
      return true;
    }
  }
  return Finish();
}

bool StatisticsReader::ReadStart() {
  std::string_view bytes = Look(kStartBytes);
  if (bytes.empty()) {
    if (input_->problem() == FileProblem::kNone) Refuse(FileProblem::kEmpty, 0, "");
    return false;
  }
  if (IsWebPage(bytes)) {
    Refuse(FileProblem::kHtml, 0, Printable(bytes));
    return false;
  }
  if (bytes.starts_with("\xef\xbb\xbf")) Consume(3);
  SkipBlanks();
  while ((bytes = Look(kStartBytes)).starts_with("<?") || bytes.starts_with("<!")) {
    const std::size_t end = bytes.find('>');
    if (end == std::string_view::npos || FindChunkHeader(bytes.substr(0, end)) != std::string_view::npos)
      break;
    Consume(end + 1);
    SkipBlanks();
  }
  const std::string_view root = TagsOf(kind_).root;
  const std::size_t end = bytes.find('>');
  if (!bytes.starts_with(root) || end == std::string_view::npos ||
      (bytes[root.size()] != '>' && bytes[root.size()] != ' ')) {
    if (input_->problem() == FileProblem::kNone || bytes.size() > kLongestTag)
      Refuse(BeginsWithChunkHeader(bytes) ||
                     FindChunkHeader(bytes.substr(0, kLongestTag)) != std::string_view::npos
                 ? FileProblem::kChunkHeader
                 : FileProblem::kNotStatistics,
             line_, Printable(bytes));
    return false;
  }
  Consume(end + 1);
  return true;
}

void StatisticsReader::ReadEnd() {
  Consume(TagsOf(kind_).root_end.size());
  closed_ = true;
  SkipBlanks();
  if (!Unread().empty()) RefuseBytes(Look(kLongestTag).substr(0, kLongestTag), line_);
}

bool StatisticsReader::Finish() {
  finished_ = true;
  // A compressed file tells at its end, by its checksum, that its bytes are damaged: then that is why the records are.
  const auto damages = [](FileProblem problem) {
    return problem == FileProblem::kDamagedCompression || problem == FileProblem::kTruncated;
  };
  FileProblem problem = input_->problem();
  if (problem == FileProblem::kNone && problems_ > 0) {
    begin_ = end_ = 0;
    while (Fill()) begin_ = end_;
    if (damages(input_->problem())) problem = input_->problem();
  }
  if (damages(problem)) refusals_.clear();
  if (problem != FileProblem::kNone) {
    Refuse(problem, summary_.bytes == 0 ? 0 : line_, "");
  } else if (!closed_ && problems_ == 0) {
    Refuse(FileProblem::kTruncated, line_, std::string("no ") + std::string(TagsOf(kind_).root_end));
  }
  if (shifted_hosts_ > 0 && shifted_hosts_ * 10 >= sampled_hosts_) {
    Refuse(FileProblem::kShiftedNumbers, first_shifted_line_,
           std::to_string(shifted_hosts_) + " of " + std::to_string(sampled_hosts_) + " hosts examined");
  }
  contents_->Scalar(summary_.bytes);
  summary_.contents = contents_->Digest();
  return false;
}

// ---- Records ----------------------------------------------------------------------------------------------

bool StatisticsReader::ReadRecord(StatisticsRecord* record) {
  if (!FindEnd(record)) return false;
  if (!ReadHead(record)) {
    ConsumeRecord();
    return false;
  }
  Count(record);
  return true;
}

bool StatisticsReader::FindEnd(StatisticsRecord* record) {
  const KindTags& tags = TagsOf(kind_);
  const bool team = kind_ == RecordKind::kTeam;
  record->line = line_;
  RecordLines lines(tags.open, tags.close, team ? kMember : tags.close);
  std::string_view text = Unread().substr(tags.open.size());
  while (!lines.Find(text) && text.size() <= limits_.longest_record && Fill())
    text = Unread().substr(tags.open.size());
  if (lines.at_open()) {
    RefuseCut(text.substr(0, lines.at()));
    Consume(tags.open.size() + lines.at());
    return false;
  }
  if (!lines.found() && text.size() <= limits_.longest_record) {
    // The file ends inside the record: Finish() says so. Each tag of a record begins a line, also for other readers.
    if (FindChunkHeader(text) != std::string_view::npos) {
      RefuseCut(text);
    } else if (text.find(tags.close) != std::string_view::npos && input_->problem() == FileProblem::kNone) {
      Refuse(FileProblem::kRecordCut, line_, std::string(tags.close) + " is not at the beginning of a line");
    }
    Consume(Unread().size());
    return false;
  }
  if (!lines.found() || lines.at() > limits_.longest_record) {
    Refuse(FileProblem::kRecordTooLong, line_,
           "more than " + std::to_string(limits_.longest_record) + " bytes");
    SkipToLine(tags.open, tags.root_end);
    return false;
  }
  record->text = text.substr(0, lines.at());
  in_members_ = !lines.at_close();
  pending_ = tags.open.size() + lines.at() + (in_members_ ? 0 : tags.close.size());
  pending_lines_ = CountLines(record->text);
  return true;
}

void StatisticsReader::RefuseCut(std::string_view text) {
  const std::size_t chunk = FindChunkHeader(text);
  if (chunk == std::string_view::npos) {
    Refuse(FileProblem::kRecordCut, line_, Printable(text.substr(std::min<std::size_t>(text.size(), 1))));
  } else {
    Refuse(FileProblem::kChunkHeader, line_ + CountLines(text.substr(0, chunk)),
           Printable(text.substr(chunk < 20 ? 0 : chunk - 20)));
  }
}

void StatisticsReader::ConsumeRecord() {
  begin_ += std::exchange(pending_, 0);
  line_ += std::exchange(pending_lines_, 0);
}

bool StatisticsReader::ReadHead(StatisticsRecord* record) {
  const std::string_view text = record->text;
  const auto refuse = [&](FileProblem problem, std::size_t at, std::string detail) {
    Refuse(problem, record->line + CountLines(text.substr(0, at)), std::move(detail));
    return false;
  };
  if (std::memchr(text.data(), '\r', text.size()) != nullptr) {
    const std::size_t chunk = FindChunkHeader(text);
    if (chunk != std::string_view::npos)
      return refuse(FileProblem::kChunkHeader, chunk,
                    Printable(text.substr(chunk < 20 ? 0 : chunk - 20, 60)));
  }
  const auto place = [&](std::string_view value) {
    return static_cast<std::size_t>(value.data() - text.data());
  };
  const RecordHead head(text);
  if (!head.broken.ok())
    return refuse(head.broken.problem, place(head.broken.text), Printable(head.broken.text));
  if (head.id.data() == nullptr) return refuse(FileProblem::kMissingElement, 0, "id");
  FileProblem problem = ParseWhole(head.id, &record->id);
  if (problem == FileProblem::kNone && (record->id == 0 || record->id > kLargestId))
    problem = FileProblem::kOutOfRange;
  if (problem != FileProblem::kNone) return refuse(problem, place(head.id), "id: " + Printable(head.id));
  if (head.total_credit.data() == nullptr)
    return refuse(FileProblem::kMissingElement, 0, "total_credit of " + std::to_string(record->id));
  problem = ParseCredit(head.total_credit, Sign::kNotNegative, &record->total_credit);
  if (problem != FileProblem::kNone)
    return refuse(problem, place(head.total_credit), "total_credit: " + Printable(head.total_credit));
  record->hash = stream::HashBytes(text);
  contents_->Scalar(record->hash.low);
  contents_->Scalar(record->hash.high);
  record->repeated = !ids_->Insert(record->id);
  if (record->repeated && record->id == last_id_ && record->hash != last_hash_)
    return refuse(FileProblem::kTwoContents, 0, "id " + std::to_string(record->id));
  return true;
}

void StatisticsReader::Count(StatisticsRecord* record) {
  last_id_ = record->id;
  last_hash_ = record->hash;
  if (record->repeated) {
    ++summary_.repeated;
    return;
  }
  ++summary_.records;
  summary_.total_credit += record->total_credit.micro;
  summary_.decimals = std::max(summary_.decimals, record->total_credit.decimals);
  if (record->total_credit.micro > summary_.largest_credit) {
    summary_.largest_credit = record->total_credit.micro;
    summary_.largest_id = record->id;
  }
  if (kind_ == RecordKind::kHost) SampleHost(*record);
}

void StatisticsReader::SampleHost(const StatisticsRecord& record) {
  if (summary_.records > kSampledFirst && summary_.records % kSampledThen != 0) return;
  ++sampled_hosts_;
  if (!ShiftedHost(record.text)) return;
  if (shifted_hosts_++ == 0) first_shifted_line_ = record.line;
}

void StatisticsReader::SkipMembers() {
  const KindTags& tags = TagsOf(kind_);
  in_members_ = false;
  const std::uint64_t line = line_;
  SkipToLine(tags.close, tags.open);
  if (Look(kLongestTag).starts_with(tags.close)) return Consume(tags.close.size());
  // Behind the last member of a whole file is the end of its team.
  if (!Unread().empty()) Refuse(FileProblem::kRecordCut, line, "a team does not end behind its members");
}

bool StatisticsReader::Judge(const StatisticsRecord& record, const FieldProblem& found) {
  if (found.ok()) return true;
  const bool inside = found.text.data() != nullptr && found.text.data() >= record.text.data() &&
                      found.text.data() <= record.text.data() + record.text.size();
  const std::size_t before = inside ? static_cast<std::size_t>(found.text.data() - record.text.data()) : 0;
  Refuse(found.problem, record.line + CountLines(record.text.substr(0, before)),
         Printable(found.field, 40) + " of " + std::to_string(record.id) +
             (inside ? ": " + Printable(found.text) : ""));
  return false;
}

bool StatisticsReader::ReadUser(const StatisticsRecord& record, UserFields* user) {
  COBBLESTONE_CHECK(kind_ == RecordKind::kUser, "a user is read from another kind of file");
  if (!Judge(record, ReadUserFields(record.text, user))) return false;
  texts_.NoteEscaped(user->name);
  texts_.NoteEscaped(user->country);
  return true;
}

bool StatisticsReader::ReadHost(const StatisticsRecord& record, HostFields* host, HostPart part) {
  COBBLESTONE_CHECK(kind_ == RecordKind::kHost, "a host is read from another kind of file");
  return Judge(record, ReadHostFields(record.text, host, part));
}

bool StatisticsReader::ReadTeam(const StatisticsRecord& record, TeamFields* team) {
  COBBLESTONE_CHECK(kind_ == RecordKind::kTeam, "a team is read from another kind of file");
  if (!Judge(record, ReadTeamFields(record.text, team))) return false;
  texts_.NoteEscaped(team->name);
  texts_.NoteEscaped(team->country);
  return true;
}

// ---- Refusals ---------------------------------------------------------------------------------------------

void StatisticsReader::Refuse(FileProblem problem, std::uint64_t line, std::string detail) {
  ++problems_;
  if (refusals_.size() < kMostRefusals)
    refusals_.push_back({.problem = problem, .file = name_, .line = line, .detail = std::move(detail)});
}

void StatisticsReader::SkipBytesBetween(const std::string& begin) {
  const std::uint64_t line = line_;
  SkipToLine(TagsOf(kind_).open, TagsOf(kind_).root_end);
  // So few bytes with nothing behind them are a tag that the end of the file cuts: Finish() says so.
  if (begin.size() == kLongestTag || !Unread().empty() || FindChunkHeader(begin) != std::string_view::npos)
    RefuseBytes(begin, line);
}

void StatisticsReader::RefuseBytes(std::string_view bytes, std::uint64_t line) {
  const bool chunk =
      BeginsWithChunkHeader(bytes) || FindChunkHeader(bytes.substr(0, kLongestTag)) != std::string_view::npos;
  Refuse(chunk ? FileProblem::kChunkHeader : FileProblem::kBytesBetween, line, Printable(bytes));
}

}  // namespace cobblestone::hub

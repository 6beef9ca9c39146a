#include "services/boinc/trickle_rows.h"

#include <expat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include "services/boinc/client_message.h"
#include "services/boinc/line_file.h"
#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {
namespace {

constexpr std::string_view kOpeningTag = "<msg_from_host";
constexpr std::string_view kClosingTag = "</msg_from_host>";

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// True if the last backslash escapes the line end.
bool GoesOn(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t backslashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return backslashes % 2 == 1;
}

// The columns of a row; NULL is absent.
std::vector<std::optional<std::string>> Columns(std::string_view row) {
  std::vector<std::optional<std::string>> columns(1, std::string());
  std::size_t begin = 0;  // of the column
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row[k] == '\t') {
      columns.emplace_back(std::string());
      begin = k + 1;
    } else if (row[k] == '\\' && k + 1 < row.size()) {
      ++k;
      const bool whole = k == begin + 1 && (k + 1 == row.size() || row[k + 1] == '\t');
      if (row[k] == 'N' && whole) {
        columns.back().reset();
      } else {
        *columns.back() += MysqlUnescaped(row[k]);
      }
    } else {
      *columns.back() += row[k];
    }
  }
  return columns;
}

bool IsWhole(std::string_view text, std::uint64_t* value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), *value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

using Attributes = std::vector<std::pair<std::string, std::string>>;

// The attributes of a tag, or the parser's error.
Result<Attributes> AttributesOf(std::string_view tag) {
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser(XML_ParserCreate("UTF-8"));
  Attributes attributes;
  XML_SetUserData(parser.get(), &attributes);
  XML_SetStartElementHandler(parser.get(), [](void* self, const char*, const char** pairs) {
    for (; *pairs != nullptr; pairs += 2) static_cast<Attributes*>(self)->emplace_back(pairs[0], pairs[1]);
  });
  const std::string element = std::string(tag) + std::string(kClosingTag);
  if (XML_Parse(parser.get(), element.data(), static_cast<int>(element.size()), 1) != XML_STATUS_OK)
    return Status::InvalidArgument(XML_ErrorString(XML_GetErrorCode(parser.get())));
  return attributes;
}

// Lines that may precede the messages, or the body in a file with a body alone.
bool IsPassedOver(std::string_view text) {
  return text.empty() || (text.starts_with("<?xml ") && text.ends_with("?>")) ||
         (text.starts_with("<!--") && text.ends_with("-->"));
}

}  // namespace

Status TrickleRowReader::Error(std::uint64_t line, const std::string& what) const {
  return Status::InvalidArgument(source_ + ", line " + std::to_string(line) + ": " + what);
}

void TrickleRowReader::Detect(std::string_view line) {
  const std::string_view text = WithoutBlanks(line);
  if (IsPassedOver(text)) return;
  form_ = text.starts_with(kOpeningTag) ? Form::kBodies
          : text.starts_with('<')       ? Form::kBare
          : IsTrickleDump(text)         ? Form::kDump
                                        : Form::kTable;
  if (form_ != Form::kBare) bare_.clear();
}

Status TrickleRowReader::ReadLine(std::string_view line, std::vector<TrickleMessageRow>* rows) {
  rows->clear();
  ++line_;
  if (form_ == Form::kUnknown) Detect(line);
  switch (form_) {
    case Form::kTable: return ReadTableLine(line, rows);
    case Form::kBodies: return ReadBodyLine(line, rows);
    case Form::kDump: {
      Status read = dump_.ReadLine(line, line_, rows);
      dumped_ += rows->size();
      return read;
    }
    case Form::kUnknown:
    case Form::kBare: break;
  }
  return ReadBareLine(line);
}

Status TrickleRowReader::Finish(std::vector<TrickleMessageRow>* rows) {
  rows->clear();
  if (open_)
    return Error(open_->line, "the message that starts here has no end: " + std::string(kClosingTag) +
                                  " is missing; the file may be truncated");
  if (!pending_.empty())
    return Error(begin_, "the row that starts here has no end; the file may be truncated");
  if (form_ == Form::kDump) return dump_.Finish();
  if (bare()) {
    TrickleMessageRow& row = rows->emplace_back();
    row.line = 1;
    row.xml = std::move(bare_);
  }
  return Status::Ok();
}

Status TrickleRowReader::ReadBareLine(std::string_view line) {
  if (bare_.size() + line.size() + 1 > kLargestTrickleRow)
    return Error(1, "a message of more than " + std::to_string(kLargestTrickleRow) + " bytes is too long");
  if (line_ > 1) bare_ += '\n';
  bare_ += line;
  return Status::Ok();
}

Status TrickleRowReader::ReadTableLine(std::string_view line, std::vector<TrickleMessageRow>* rows) {
  if (pending_.empty()) {
    begin_ = line_;
    if (WithoutBlanks(line).empty()) return Status::Ok();
  } else {
    pending_ += '\n';
  }
  if (pending_.size() + line.size() > kLargestTrickleRow)
    return Error(begin_, "a row of more than " + std::to_string(kLargestTrickleRow) +
                             " bytes is too long for a message");
  pending_ += line;
  if (GoesOn(line)) return Status::Ok();

  const std::vector<std::optional<std::string>> columns = Columns(pending_);
  pending_.clear();
  if (columns_.empty()) {
    std::uint64_t number = 0;
    if (!columns.front() || !IsWhole(*columns.front(), &number)) return ReadHeader(columns);
    columns_ = StockTrickleColumns();
  }
  if (columns.size() != columns_.size())
    return Error(begin_, "a row of " + std::to_string(columns.size()) + " columns; the row must have " +
                             std::to_string(columns_.size()) + ", separated by tabs");
  TrickleMessageRow message;
  message.line = begin_;
  message.before = begin_ - 1;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (const Status set = SetTrickleColumn(columns_[k], columns[k], &message); !set.ok())
      return Error(begin_, set.message());
  }
  rows->push_back(std::move(message));
  return Status::Ok();
}

Status TrickleRowReader::ReadHeader(const std::vector<std::optional<std::string>>& names) {
  std::vector<std::string> texts;
  for (const auto& name : names) texts.push_back(name.value_or(""));
  if (IsClientMessage(texts.front()))
    return Error(begin_, "a message of the database client, not a row; " + std::string(kClientMessageRemedy));
  auto columns = TrickleColumnsNamed(texts);
  if (!columns.ok())
    return Error(begin_,
                 columns.status().message() +
                     "; the file must be the table msg_from_host with tab-separated columns, a dump of this "
                     "table, or messages within " +
                     std::string(kOpeningTag) + " ...>");
  columns_ = std::move(*columns);
  return Status::Ok();
}

Status TrickleRowReader::ReadBodyLine(std::string_view line, std::vector<TrickleMessageRow>* rows) {
  if (!open_) {
    const std::string_view text = WithoutBlanks(line);
    return IsPassedOver(text) ? Status::Ok() : ReadOpeningTag(text);
  }
  const std::size_t end = line.find(kClosingTag);
  if (end != std::string_view::npos && !WithoutBlanks(line.substr(end + kClosingTag.size())).empty())
    return Error(line_, "no text may follow " + std::string(kClosingTag) + " in the same line");
  const std::string_view text = line.substr(0, end);
  if (open_->xml.size() + text.size() + 1 > kLargestTrickleRow)
    return Error(open_->line,
                 "a message of more than " + std::to_string(kLargestTrickleRow) + " bytes is too long");
  open_->xml += text;
  if (end == std::string_view::npos) {
    open_->xml += '\n';
    return Status::Ok();
  }
  rows->push_back(std::move(*open_));
  open_.reset();
  return Status::Ok();
}

Status TrickleRowReader::ReadOpeningTag(std::string_view line) {
  const std::string form =
      std::string(kOpeningTag) + R"( id="7" create_time="1700000000" hostid="5" variety="orig">)";
  if (!line.starts_with(kOpeningTag) || !line.ends_with('>') || line.find('>') != line.size() - 1)
    return Error(line_, "a message must start with a line like " + form);
  const Result<Attributes> attributes = AttributesOf(line);
  if (!attributes.ok())
    return Error(line_, attributes.status().message() + "; a message starts with " + form);
  TrickleMessageRow message;
  message.line = line_;
  message.before = line_ - 1;
  for (const auto& [name, value] : *attributes) {
    const TrickleColumn column = TrickleColumnOf(name);
    if (column == TrickleColumn::kOther || column == TrickleColumn::kXml)
      return Error(line_, "unknown attribute " + name + "; a message starts with " + form);
    if (const Status set = SetTrickleColumn(column, value, &message); !set.ok())
      return Error(line_, set.message());
  }
  for (const std::string_view needed : kTrickleColumns) {
    const bool there = std::any_of(attributes->begin(), attributes->end(),
                                   [&](const auto& attribute) { return attribute.first == needed; });
    if (!there && TrickleColumnOf(needed) != TrickleColumn::kXml)
      return Error(line_,
                   "the attribute " + std::string(needed) + " is missing; a message starts with " + form);
  }
  open_ = std::move(message);
  return Status::Ok();
}

namespace {

using TakeMessage = std::function<Status(const TrickleFilePlace&, const TrickleMessageRow&)>;

// `place`: the place before the file on entry, after the file on return.
Status ReadFile(TrickleFilePlace* place, const BareBodies& bare, const TakeMessage& take) {
  auto file = LineFile::Open(place->file);
  if (!file.ok()) return file.status();
  TrickleRowReader reader(place->file);
  const std::uint64_t bytes_before = place->bytes_read;
  std::string line;
  std::vector<TrickleMessageRow> rows;
  for (bool more = true; more;) {
    if (Status read = file->Next(&line, &more); !read.ok()) return read;
    place->bytes_read = bytes_before + file->bytes_read();
    const Status read = more ? reader.ReadLine(line, &rows) : reader.Finish(&rows);
    for (TrickleMessageRow& row : rows) {
      if (reader.bare()) {
        if (Status filled = bare.Fill(place->file, &row); !filled.ok()) return filled;
      }
      if (Status taken = take(*place, row); !taken.ok()) return taken;
    }
    if (!read.ok()) return read;
  }
  place->counted_before += reader.counted();
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::string>> TrickleFilesOf(const std::string& folder, const BareBodies& bare) {
  std::error_code error;
  std::vector<std::pair<double, std::string>> files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string path = it->path().string();
    files.emplace_back(bare.given() ? bare.ReceivedOf(path).value_or(0) : 0, path);
  }
  if (error) return Status::Fatal(folder + ": cannot list the directory: " + error.message());
  std::sort(files.begin(), files.end());
  std::vector<std::string> paths;
  for (auto& [received, path] : files) paths.push_back(std::move(path));
  return paths;
}

Status ReadTrickleMessages(const std::string& path, const BareBodies& bare, const TakeMessage& take) {
  std::error_code error;
  TrickleFilePlace place;
  place.file = path;
  if (!std::filesystem::is_directory(path, error)) return ReadFile(&place, bare, take);
  const auto files = TrickleFilesOf(path, bare);
  if (!files.ok()) return files.status();
  for (const std::string& file : *files) {
    place.file = file;
    if (Status read = ReadFile(&place, bare, take); !read.ok()) return read;
  }
  return Status::Ok();
}

}  // namespace cobblestone::boinc

#include "services/boinc/trickle_rows.h"

#include <expat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include "services/boinc/line_file.h"
#include "services/boinc/trickle_xml.h"

namespace cobblestone::boinc {
namespace {

constexpr std::string_view kOpeningTag = "<msg_from_host";
constexpr std::string_view kClosingTag = "</msg_from_host>";
// By Column.
constexpr std::array<std::string_view, 5> kColumns = {"id", "create_time", "hostid", "variety", "xml"};

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// True where the last backslash escapes the end of the line.
bool GoesOn(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t backslashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return backslashes % 2 == 1;
}

char Unescaped(char c) {
  switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'b': return '\b';
    case '0': return '\0';
    case 'Z': return '\x1a';
    default: return c;
  }
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
        *columns.back() += Unescaped(row[k]);
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

// The attributes of a tag, or what the parser says is wrong with it.
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

}  // namespace

Status TrickleRowReader::Error(std::uint64_t line, const std::string& what) const {
  return Status::InvalidArgument(source_ + ", line " + std::to_string(line) + ": " + what);
}

Status TrickleRowReader::ReadLine(std::string_view line, std::optional<TrickleMessageRow>* row) {
  row->reset();
  ++line_;
  if (form_ == Form::kUnknown) {
    const std::string_view text = Trimmed(line);
    if (text.empty()) return Status::Ok();
    form_ = text.starts_with('<') ? Form::kBodies : Form::kTable;
  }
  return form_ == Form::kTable ? ReadTableLine(line, row) : ReadBodyLine(line, row);
}

Status TrickleRowReader::Finish() const {
  if (open_)
    return Error(open_->line, "the message that begins here does not end: " + std::string(kClosingTag) +
                                  " is missing; was the file cut off?");
  if (!pending_.empty()) return Error(begin_, "the row that begins here does not end; was the file cut off?");
  return Status::Ok();
}

Status TrickleRowReader::ReadTableLine(std::string_view line, std::optional<TrickleMessageRow>* row) {
  if (pending_.empty()) {
    begin_ = line_;
    if (Trimmed(line).empty()) return Status::Ok();
  } else {
    pending_ += '\n';
  }
  if (pending_.size() + line.size() > kLargestTrickleRow)
    return Error(begin_, "a row of more than " + std::to_string(kLargestTrickleRow) + " bytes is no message");
  pending_ += line;
  if (GoesOn(line)) return Status::Ok();

  const std::vector<std::optional<std::string>> columns = Columns(pending_);
  pending_.clear();
  if (columns_.empty()) {
    std::uint64_t number = 0;
    if (!columns.front() || !IsWhole(*columns.front(), &number)) return ReadHeader(columns);
    columns_ = {kId, kCreateTime, kHostId, kVariety, kOther, kXml};
  }
  if (columns.size() != columns_.size())
    return Error(begin_, "a row of " + std::to_string(columns.size()) + " columns; it must have " +
                             std::to_string(columns_.size()) + ", separated by tabs");
  TrickleMessageRow message;
  message.line = begin_;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (const Status set = SetColumn(columns_[k], columns[k], &message); !set.ok()) return set;
  }
  *row = std::move(message);
  return Status::Ok();
}

Status TrickleRowReader::ReadHeader(const std::vector<std::optional<std::string>>& names) {
  for (const auto& name : names) {
    const auto found = std::find(kColumns.begin(), kColumns.end(), name.value_or(""));
    columns_.push_back(static_cast<Column>(found - kColumns.begin()));
  }
  for (std::size_t k = 0; k < kColumns.size(); ++k) {
    const auto times = std::count(columns_.begin(), columns_.end(), static_cast<Column>(k));
    if (times != 1) {
      return Error(begin_,
                   "the column " + std::string(kColumns[k]) +
                       (times == 0 ? " is missing" : " is there twice") +
                       "; this must be the table msg_from_host, with its columns separated by tabs, or "
                       "messages within " +
                       std::string(kOpeningTag) + " ...>");
    }
  }
  return Status::Ok();
}

Status TrickleRowReader::SetColumn(Column column, const std::optional<std::string>& value,
                                   TrickleMessageRow* row) const {
  if (column == kOther) return Status::Ok();
  const std::string name(kColumns[column]);
  if (!value && column != kXml) return Error(row->line, name + " is NULL");
  const std::string text = value.value_or("");
  std::uint64_t whole = 0;
  switch (column) {
    case kId:
    case kHostId:
      if (!IsWhole(text, &whole) || whole == 0)
        return Error(row->line, name + " is '" + text + "'; it must be a whole number above 0");
      (column == kId ? row->id : row->host.value) = whole;
      break;
    case kCreateTime: {
      const auto seconds = ParseTrickleNumber(text);
      if (!seconds || *seconds == 0)
        return Error(row->line, name + " is '" + text + "'; it must be a time in seconds of the UNIX clock");
      row->create_time = *seconds;
      break;
    }
    case kVariety:
      if (text.size() > kLongestTrickleName)
        return Error(row->line, name + " is longer than " + std::to_string(kLongestTrickleName) + " bytes");
      row->variety = text;
      break;
    case kXml: row->xml = text; break;
    case kOther: break;
  }
  return Status::Ok();
}

Status TrickleRowReader::ReadBodyLine(std::string_view line, std::optional<TrickleMessageRow>* row) {
  if (!open_) {
    const std::string_view text = Trimmed(line);
    const bool passed_over = text.empty() || (text.starts_with("<?xml ") && text.ends_with("?>")) ||
                             (text.starts_with("<!--") && text.ends_with("-->"));
    return passed_over ? Status::Ok() : ReadOpeningTag(text);
  }
  const std::size_t end = line.find(kClosingTag);
  if (end != std::string_view::npos && !Trimmed(line.substr(end + kClosingTag.size())).empty())
    return Error(line_, "nothing may follow " + std::string(kClosingTag) + " in its line");
  const std::string_view text = line.substr(0, end);
  if (open_->xml.size() + text.size() + 1 > kLargestTrickleRow)
    return Error(open_->line,
                 "a message of more than " + std::to_string(kLargestTrickleRow) + " bytes is none");
  open_->xml += text;
  if (end == std::string_view::npos) {
    open_->xml += '\n';
    return Status::Ok();
  }
  *row = std::move(*open_);
  open_.reset();
  return Status::Ok();
}

Status TrickleRowReader::ReadOpeningTag(std::string_view line) {
  const std::string form =
      std::string(kOpeningTag) + R"( id="7" create_time="1700000000" hostid="5" variety="orig">)";
  if (!line.starts_with(kOpeningTag) || !line.ends_with('>') || line.find('>') != line.size() - 1)
    return Error(line_, "a message must begin with a line like " + form);
  const Result<Attributes> attributes = AttributesOf(line);
  if (!attributes.ok())
    return Error(line_, attributes.status().message() + "; a message begins like " + form);
  TrickleMessageRow message;
  message.line = line_;
  std::array<bool, kColumns.size()> there{};
  for (const auto& [name, value] : *attributes) {
    const auto found = std::find(kColumns.begin(), kColumns.end(), name);
    const auto column = static_cast<Column>(found - kColumns.begin());
    if (column == kOther || column == kXml)
      return Error(line_, "there is no attribute " + name + "; a message begins like " + form);
    there[column] = true;
    if (const Status set = SetColumn(column, value, &message); !set.ok()) return set;
  }
  for (const Column column : {kId, kCreateTime, kHostId, kVariety}) {
    if (!there[column])
      return Error(line_, "the attribute " + std::string(kColumns[column]) +
                              " is missing; a message begins like " + form);
  }
  open_ = std::move(message);
  return Status::Ok();
}

namespace {

using TakeMessage = std::function<Status(const TrickleFilePlace&, const TrickleMessageRow&)>;

// `place`: of the file's first line; afterwards behind its last.
Status ReadFile(TrickleFilePlace* place, const TakeMessage& take) {
  auto file = LineFile::Open(place->file);
  if (!file.ok()) return file.status();
  TrickleRowReader reader(place->file);
  const std::uint64_t bytes_before = place->bytes_read;
  std::uint64_t lines = 0;
  std::string line;
  std::optional<TrickleMessageRow> row;
  for (bool more = true;; ++lines) {
    if (Status read = file->Next(&line, &more); !read.ok()) return read;
    place->bytes_read = bytes_before + file->bytes_read();
    if (!more) break;
    if (Status read = reader.ReadLine(line, &row); !read.ok()) return read;
    if (!row) continue;
    if (Status taken = take(*place, *row); !taken.ok()) return taken;
  }
  place->lines_before += lines;
  return reader.Finish();
}

}  // namespace

Result<std::vector<std::string>> TrickleFilesOf(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path().string());
  }
  if (error) return Status::Fatal(folder + ": the folder cannot be listed: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

Status ReadTrickleMessages(const std::string& path, const TakeMessage& take) {
  std::error_code error;
  TrickleFilePlace place;
  place.file = path;
  if (!std::filesystem::is_directory(path, error)) return ReadFile(&place, take);
  const auto files = TrickleFilesOf(path);
  if (!files.ok()) return files.status();
  for (const std::string& file : *files) {
    place.file = file;
    if (Status read = ReadFile(&place, take); !read.ok()) return read;
  }
  return Status::Ok();
}

}  // namespace cobblestone::boinc

#include "services/hub/snapshot/records.h"

#include <algorithm>
#include <charconv>

#include "services/hub/snapshot/canonical_text.h"

namespace cobblestone::hub {
namespace {

class LineWriter {
 public:
  void operator()(const char* name, std::uint64_t value) {
    Name(name);
    line_ += std::to_string(value);
  }
  void operator()(const char* name, Micro value) {
    Name(name);
    line_ += '"' + MicroText(value) + '"';
  }
  void operator()(const char* name, const std::string& value) {
    Name(name);
    AppendQuoted(value, &line_);
    if (problem_.empty() && !IsUtf8(value)) problem_ = std::string(name) + " is not UTF-8";
  }
  Result<std::string> Finish() {
    line_ += '}';
    if (problem_.empty() && line_.size() > kLongestLine) problem_ = "the line is longer than 65,536 bytes";
    if (!problem_.empty()) return Status::InvalidArgument("a record cannot be written: " + problem_);
    return std::move(line_);
  }

 private:
  void Name(const char* name) {
    line_ += line_.empty() ? "{\"" : ",\"";
    line_ += name;
    line_ += "\":";
  }

  std::string line_;
  std::string problem_;
};

class LineReader {
 public:
  explicit LineReader(std::string_view line) : reader_(line) {}

  void operator()(const char* name, std::uint64_t& value) {
    Name(name);
    value = reader_.Number();
  }
  void operator()(const char* name, Micro& value) {
    Name(name);
    const std::string text = reader_.Quoted();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) reader_.Expect("a number");
  }
  void operator()(const char* name, std::string& value) {
    Name(name);
    value = reader_.Quoted();
  }
  bool Finish() {
    reader_.Expect("}");
    return reader_.done();
  }

 private:
  void Name(const char* name) {
    reader_.Expect(first_ ? "{\"" : ",\"");
    first_ = false;
    reader_.Expect(name);
    reader_.Expect("\":");
  }

  CanonicalReader reader_;
  bool first_ = true;
};

bool IsCpid(std::string_view text) {
  return text.empty() || (text.size() == 32 && FromHex(text).size() == 16);
}

std::string_view CpidOf(const UserRecord& record) { return record.cpid; }
std::string_view CpidOf(const HostRecord& record) { return record.host_cpid; }
std::string_view CpidOf(const TeamRecord& /*record*/) { return ""; }

template <class Record>
Result<std::string> Render(const Record& record) {
  if (record.id == 0) return Status::InvalidArgument("a record cannot be written: its id is 0");
  if (!IsCpid(CpidOf(record)))
    return Status::InvalidArgument("record " + std::to_string(record.id) +
                                   " has a malformed cross-project id");
  LineWriter writer;
  Record::Fields(record, writer);
  return writer.Finish();
}

// A line is canonical if its values give the same line.
template <class Record>
Result<Record> Parse(std::string_view line) {
  if (line.size() > kLongestLine) return Status::InvalidArgument("the line is longer than 65,536 bytes");
  Record record;
  LineReader reader(line);
  Record::Fields(record, reader);
  if (reader.Finish()) {
    const auto again = Render(record);
    if (again.ok() && *again == line) return record;
  }
  return Status::InvalidArgument("not the canonical form of a record");
}

template <class Record>
Result<RecordHead> HeadOf(const Result<Record>& record) {
  if (!record.ok()) return record.status();
  return RecordHead{.id = record->id, .total = record->total};
}

}  // namespace

std::string MicroText(MicroSum value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const auto digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string_view NameOf(PartKind kind) {
  switch (kind) {
    case PartKind::kUsers: return "users";
    case PartKind::kHosts: return "hosts";
    case PartKind::kTeams: return "teams";
  }
  return "";
}

Result<std::string> LineOf(const UserRecord& record) { return Render(record); }
Result<std::string> LineOf(const HostRecord& record) { return Render(record); }
Result<std::string> LineOf(const TeamRecord& record) { return Render(record); }

Result<UserRecord> ParseUser(std::string_view line) { return Parse<UserRecord>(line); }
Result<HostRecord> ParseHost(std::string_view line) { return Parse<HostRecord>(line); }
Result<TeamRecord> ParseTeam(std::string_view line) { return Parse<TeamRecord>(line); }

Result<RecordHead> ParseRecord(PartKind kind, std::string_view line) {
  switch (kind) {
    case PartKind::kUsers: return HeadOf(ParseUser(line));
    case PartKind::kHosts: return HeadOf(ParseHost(line));
    case PartKind::kTeams: break;
  }
  return HeadOf(ParseTeam(line));
}

}  // namespace cobblestone::hub

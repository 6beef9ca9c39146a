#include "services/export/spec.h"

#include <expat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace cobblestone::exports {
namespace {

constexpr std::array<std::pair<std::string_view, Table>, 5> kTables = {
    {{"user", Table::kUser},
     {"team", Table::kTeam},
     {"host", Table::kHost},
     {"user_deleted", Table::kUserDeleted},
     {"host_deleted", Table::kHostDeleted}}};
constexpr std::array<std::pair<std::string_view, Sort>, 3> kSorts = {
    {{"id", Sort::kId}, {"total_credit", Sort::kTotalCredit}, {"expavg_credit", Sort::kExpavgCredit}}};
constexpr std::size_t kLongestName = 200;  // with number and extension, valid on every file system

// Names of files that the export itself writes.
const std::set<std::string, std::less<>>& ReservedNames() {
  static const std::set<std::string, std::less<>> kNames = {"tables.xml",    "db_dump.xml",  "badge_user.gz",
                                                            "badge_team.gz", "user_work.gz", "team_work.gz",
                                                            "manifest.json"};
  return kNames;
}

std::string WithoutBlanks(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Tracks elements by their path from the root, and evaluates each at its end.
class SpecReader {
 public:
  explicit SpecReader(std::string name) : name_(std::move(name)), parser_(XML_ParserCreate(nullptr)) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const char* tag, const char**) { static_cast<SpecReader*>(self)->Open(tag); },
        [](void* self, const char*) { static_cast<SpecReader*>(self)->Close(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const char* text, int size) {
      static_cast<SpecReader*>(self)->text_.append(text, static_cast<std::size_t>(size));
    });
    // A spec needs no entities of its own, and their expansion could be unlimited.
    XML_SetDoctypeDeclHandler(
        parser_.get(),
        [](void* self, const char*, const char*, const char*, int) {
          static_cast<SpecReader*>(self)->Fail("a document type declaration is not allowed");
        },
        nullptr);
  }

  Result<Spec> Read(std::string_view text) {
    if (text.size() > kLargestSpec)
      return Status::InvalidArgument(name_ + ": larger than the limit for spec files (1 MiB)");
    const auto parsed = XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), 1);
    if (error_) return *error_;
    if (parsed != XML_STATUS_OK)
      return At(XML_GetCurrentLineNumber(parser_.get()),
                std::string("not well-formed XML: ") + XML_ErrorString(XML_GetErrorCode(parser_.get())));
    spec_.text = text;
    return std::move(spec_);
  }

 private:
  static constexpr std::size_t kLargestSpec = 1U << 20U;

  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  Status At(std::uint64_t line, const std::string& what) const {
    return Status::InvalidArgument(name_ + ", line " + std::to_string(line) + ": " + what);
  }
  void Fail(const std::string& what) {
    if (!error_) error_ = At(XML_GetCurrentLineNumber(parser_.get()), what);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void Open(const std::string& tag) {
    if (error_) return;
    if (!WithoutBlanks(text_).empty()) return Fail("text '" + WithoutBlanks(text_) + "' between elements");
    text_.clear();
    path_.push_back(tag);
    const std::string path = Path();
    if (path == "boinc_db_dump_spec/enumeration") {
      spec_.enumerations.emplace_back();
      has_table_ = false;
    } else if (path == "boinc_db_dump_spec/enumeration/output") {
      spec_.enumerations.back().outputs.emplace_back();
    } else if (!kElements.contains(path)) {
      Fail(path_.size() == 1 ? "<" + tag + "> is not an export spec; the root must be <boinc_db_dump_spec>"
                             : "unknown element <" + tag + "> in <" + path_[path_.size() - 2] + ">");
    }
  }

  void Close() {
    if (error_) return;
    const std::string value = WithoutBlanks(text_);
    text_.clear();
    const std::string path = Path();
    const std::string tag = path_.back();
    path_.pop_back();
    if (path == "boinc_db_dump_spec") return;
    if (path_.size() == 1) return CloseTop(tag, value);
    if (path_.size() == 2) return CloseOfEnumeration(tag, value);
    CloseOfOutput(tag, value);
  }

  void CloseTop(const std::string& tag, const std::string& value) {
    if (tag == "output_dir") spec_.output_dir = value;
    if (tag == "final_output_dir") spec_.final_output_dir = value;
    if (tag == "archive_dir") spec_.archive_dir = value;
    if (tag == "enumeration") CheckEnumeration(spec_.enumerations.back());
  }

  void CloseOfEnumeration(const std::string& tag, const std::string& value) {
    Enumeration& enumeration = spec_.enumerations.back();
    if (tag == "filename") {
      if (value.empty() || value.size() > kLongestName || value[0] == '.' ||
          value.find('/') != std::string::npos)
        return Fail(
            "'" + value +
            "' is not a valid file name: a file name must not be empty, contain '/' or start with '.'");
      enumeration.filename = value;
    } else if (tag == "table") {
      has_table_ = Pick(kTables, tag, value, &enumeration.table);
    } else if (tag == "sort") {
      Pick(kSorts, tag, value, &enumeration.sort);
    }
  }

  void CloseOfOutput(const std::string& tag, const std::string& value) {
    Output& output = spec_.enumerations.back().outputs.back();
    if (tag == "detail") {
      output.detail = value != "0";
    } else if (tag == "recs_per_file") {
      const auto end = std::from_chars(value.data(), value.data() + value.size(), output.recs_per_file);
      if (end.ec != std::errc() || end.ptr != value.data() + value.size())
        Fail("'" + value + "' is not a valid number of records per file");
    } else if (value == "gzip") {
      output.compression = Compression::kGzip;
    } else if (value == "zip") {
      output.compression = Compression::kZip;
    } else if (value != "none") {
      spec_.warnings.push_back(
          At(XML_GetCurrentLineNumber(parser_.get()),
             "unknown compression '" + value + "' (gzip and zip are supported): the output is not compressed")
              .message());
    }
  }

  template <class Value, std::size_t N>
  bool Pick(const std::array<std::pair<std::string_view, Value>, N>& values, const std::string& tag,
            const std::string& name, Value* value) {
    std::string known;
    for (const auto& [text, meant] : values) {
      if (text == name) {
        *value = meant;
        return true;
      }
      known += (known.empty() ? "" : ", ") + std::string(text);
    }
    Fail("unknown " + tag + " '" + name + "'; allowed: " + known);
    return false;
  }

  void CheckEnumeration(const Enumeration& enumeration) {
    if (!has_table_) return Fail("this <enumeration> has no <table>");
    if (enumeration.filename.empty()) return Fail("this <enumeration> has no <filename>");
    for (const Output& output : enumeration.outputs) {
      const std::string ending(EndingOf(output.compression));
      const std::string pattern = enumeration.filename + (output.recs_per_file > 0 ? "_0" : "") + ending;
      if (ReservedNames().contains(pattern))
        return Fail("the export itself writes a file " + pattern + "; use another <filename>");
      if (!names_.insert(pattern).second) return Fail("two outputs would both write " + pattern);
      if (output.recs_per_file > 0 && enumeration.sort != Sort::kId)
        spec_.warnings.push_back(
            At(XML_GetCurrentLineNumber(parser_.get()),
               "<recs_per_file> has no effect without <sort>id</sort>: no files for " + pattern)
                .message());
    }
  }

  std::string Path() const {
    std::string path;
    for (const std::string& tag : path_) path += (path.empty() ? "" : "/") + tag;
    return path;
  }

  inline static const std::set<std::string> kElements = {
      "boinc_db_dump_spec",
      "boinc_db_dump_spec/output_dir",
      "boinc_db_dump_spec/final_output_dir",
      "boinc_db_dump_spec/archive_dir",
      "boinc_db_dump_spec/enumeration/table",
      "boinc_db_dump_spec/enumeration/filename",
      "boinc_db_dump_spec/enumeration/sort",
      "boinc_db_dump_spec/enumeration/output/recs_per_file",
      "boinc_db_dump_spec/enumeration/output/compression",
      "boinc_db_dump_spec/enumeration/output/detail"};

  std::string name_;
  std::unique_ptr<std::remove_pointer_t<XML_Parser>, Free> parser_;
  std::vector<std::string> path_;
  std::string text_;
  bool has_table_ = false;
  std::set<std::string> names_;
  std::optional<Status> error_;
  Spec spec_;
};

}  // namespace

Result<Spec> ParseSpec(std::string_view text, const std::string& name) { return SpecReader(name).Read(text); }

Result<Spec> LoadSpec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file) return Status::NotFound(path + ": cannot read the spec file: " + std::strerror(errno));
  errno = 0;
  // An empty file inserts nothing and sets failbit, which is not a read error.
  if (!(text << file.rdbuf()) && errno != 0)
    return Status::NotFound(path + ": cannot read the spec file: " + std::strerror(errno));
  if (text.str().empty()) return Status::InvalidArgument(path + ": the spec file is empty");
  return ParseSpec(text.str(), path);
}

std::string_view NameOf(Table table) {
  for (const auto& [name, value] : kTables) {
    if (value == table) return name;
  }
  return "";
}

std::string_view EndingOf(Compression compression) {
  switch (compression) {
    case Compression::kNone: return "";
    case Compression::kGzip: return ".gz";
    case Compression::kZip: return ".zip";
  }
  return "";
}

}  // namespace cobblestone::exports

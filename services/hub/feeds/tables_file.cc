#include "services/hub/feeds/tables_file.h"

#include <algorithm>

#include "services/hub/feeds/document.h"

namespace cobblestone::hub {
namespace {

class TablesParser {
 public:
  explicit TablesParser(const Document& document) : document_(document) {}

  void Take(std::string_view tag, std::string_view value) {
    if (tag == "update_time") {
      Whole(value, [&](std::uint64_t v) { tables_.update_time = v; });
      // A hub accepts no event with such a time.
      if (static_cast<double>(tables_.update_time) > kLastTime) Judge(FileProblem::kOutOfRange, value);
    } else if (tag == "nusers_total") {
      Whole(value, [&](std::uint64_t v) { tables_.users = v; });
    } else if (tag == "nhosts_total") {
      Whole(value, [&](std::uint64_t v) { tables_.hosts = v; });
    } else if (tag == "nteams_total") {
      Whole(value, [&](std::uint64_t v) { tables_.teams = v; });
    } else if (tag == "nusers_deleted_total") {
      Whole(value, [&](std::uint64_t v) { tables_.users_deleted = v; });
    } else if (tag == "nhosts_deleted_total") {
      Whole(value, [&](std::uint64_t v) { tables_.hosts_deleted = v; });
    } else if (tag == "total_credit") {
      CreditFigure figure;
      Judge(ParseCredit(value, Sign::kNotNegative, &figure), value);
      tables_.total_credit = figure;
    } else if (tag == "credit_by_app") {
      tables_.credit_by_app = true;
    } else if (tag == "applications") {
      Applications(value);
    }
  }
  std::variant<TablesFile, FileRefusal> Result() {
    if (!refusal_ && tables_.update_time == 0)
      refusal_ = document_.Refusal(FileProblem::kMissingElement, {}, "update_time");
    if (refusal_) return *refusal_;
    return std::move(tables_);
  }

 private:
  template <class Set>
  void Whole(std::string_view value, const Set& set) {
    std::uint64_t number = 0;
    Judge(ParseWhole(value, &number), value);
    set(number);
  }
  void Judge(FileProblem problem, std::string_view value) {
    if (problem != FileProblem::kNone && !refusal_)
      refusal_ = document_.Refusal(problem, value, Printable(value));
  }
  // Names are not escaped, so they end at the tag that ends them.
  void Applications(std::string_view text) {
    constexpr std::string_view kBegin = "<name>";
    for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
      at += kBegin.size();
      const std::size_t end = std::min(text.find("</name>", at), text.size());
      tables_.applications.emplace_back(text.substr(at, end - at));
      at = end;
    }
  }

  const Document& document_;
  TablesFile tables_;
  std::optional<FileRefusal> refusal_;
};

}  // namespace

std::variant<TablesFile, FileRefusal> ParseTables(std::string_view bytes, const std::string& name) {
  const Document document(bytes, name, "tables");
  if (document.refusal()) return *document.refusal();
  TablesParser parser(document);
  ElementScan scan(document.contents());
  while (scan.Next()) parser.Take(scan.tag(), scan.value());
  if (scan.bad()) return document.Refusal(FileProblem::kUnclosedElement, scan.rest(), Printable(scan.rest()));
  return parser.Result();
}

}  // namespace cobblestone::hub

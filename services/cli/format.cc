#include "services/cli/format.h"

#include "services/cli/correction_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "services/cli/progress.h"
#include "services/cli/robust_text.h"
#include "services/cli/terminal_text.h"

namespace cobblestone::cli {

using nlohmann::json;

namespace {

// ---- Words -------------------------------------------------------------------------------------------------

const json& At(const json& object, std::string_view name) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(std::string(name));
  return found == object.end() ? kNone : *found;
}

bool Has(const json& object, std::string_view name) { return !At(object, name).is_null(); }

std::string Text(const json& object, std::string_view name) { return NumberText(At(object, name)); }

// Ids: without thousands separators.
std::string IdText(const json& object, std::string_view name) {
  const json& value = At(object, name);
  return value.is_string() ? TerminalText(value.get_ref<const std::string&>()) : value.dump();
}

double Double(const json& value, double otherwise = 0) {
  return value.is_number() ? value.get<double>() : otherwise;
}

bool IsZero(const json& value) { return value.is_null() || (value.is_number() && value.get<double>() == 0); }

std::string TimeText(const json& value) {
  return value.is_number() ? UtcText(value.get<double>()) : NumberText(value);
}

// A recent average. Years after the last credit, less than a micro-credit is left.
std::string RecentText(const json& object, std::string_view name) {
  const json& value = At(object, name);
  return value.is_number() && std::abs(value.get<double>()) < 1e-6 ? "0" : Text(object, name);
}

std::string Average(const json& average) {
  if (!average.is_object()) return "none";
  if (IsZero(At(average, "n"))) return "none yet";
  return Text(average, "mean") + " over " + Text(average, "n") + " samples";
}

std::string Spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string Capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// Number of code points, as the width of a column.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// ---- Layout ------------------------------------------------------------------------------------------------

// Lines of "  name   value", with aligned values.
class Fields {
 public:
  explicit Fields(std::string indent = "  ") : indent_(std::move(indent)) {}
  void Add(const std::string& name, const std::string& value) { lines_.emplace_back(name, value); }
  // Only if the answer has the field.
  void Of(const json& object, const char* name, const std::string& label, const std::string& unit = "") {
    shown_.insert(name);
    if (Has(object, name)) Add(label, Text(object, name) + (unit.empty() ? "" : " " + unit));
  }
  void TimeOf(const json& object, const char* name, const std::string& label) {
    shown_.insert(name);
    if (!IsZero(At(object, name))) Add(label, TimeText(At(object, name)));
  }
  void Shown(std::initializer_list<const char*> names) { shown_.insert(names.begin(), names.end()); }
  // All scalar fields that were not shown with a label.
  void Rest(const json& object) {
    for (const auto& [name, value] : object.items())
      if (!shown_.contains(name) && value.is_primitive() && !value.is_null())
        Add(Spaced(name), NumberText(value));
  }
  [[nodiscard]] std::string Take() const {
    std::size_t width = 0;
    for (const auto& [name, value] : lines_) width = std::max(width, Width(name));
    std::string text;
    for (const auto& [name, value] : lines_)
      text += indent_ + name + std::string(width - Width(name) + 2, ' ') + value + "\n";
    return text;
  }

 private:
  std::string indent_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::set<std::string> shown_;
};

class Table {
 public:
  // A name that starts with '<' is a column of words, left-aligned; others are numbers.
  explicit Table(std::vector<std::string> names) : rows_{std::move(names)} {
    for (std::string& name : rows_[0]) {
      left_.push_back(name.starts_with('<'));
      if (left_.back()) name.erase(0, 1);
    }
  }
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  [[nodiscard]] std::string Take() const {
    std::vector<std::size_t> widths(rows_[0].size());
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string pad(widths[c] - Width(row[c]), ' ');
        line += "  " + (left_[c] ? row[c] + pad : pad + row[c]);
      }
      while (line.ends_with(' ')) line.pop_back();
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

// ---- Explain -----------------------------------------------------------------------------------------------

bool Flag(const json& claim, std::string_view flag) {
  const json& flags = At(claim, "flags");
  return flags.is_array() && std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::string_view ModeWords(std::string_view mode) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"normal", "both scales applied"},
      {"approximate", "a scale was missing"},
      {"workunit_estimate", "from the size estimate of the workunit"},
      {"capped", "excluded from the mean by the cap on granted credit"},
      {"none", "no claim could be computed"},
      {"benchmark", "CPU time x benchmark"},
      {"reported_flops", "operations counted by the app"},
      {"runtime", "run time x peak speed"},
      {"assigned", "credit set by the workunit, the canonical result or the app"},
      {"default_pfc", "sanity check failed: the default replaced the claim"},
      {"probation", "host scale withheld or limited by probation"},
  };
  for (const auto& [name, words] : kWords)
    if (name == mode) return words;
  return {};
}

std::string Mode(const json& object, std::string_view name, std::string_view policy) {
  const std::string mode = Text(object, name);
  const std::string_view own = policy == "robust" ? RobustModeWords(mode) : std::string_view();
  const std::string_view words = own.empty() ? ModeWords(mode) : own;
  return words.empty() ? mode : mode + " (" + std::string(words) + ")";
}

// How a policy combines the claims of a workunit into one credit (docs/rules.md, sections 23 to 26).
std::string_view FormationWords(std::string_view policy) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"boinc",
       "Each claim is limited to the workunit's bound. A claim above the cap on granted "
       "credit is excluded. Two or more claims in mode normal: the mean of the normal claims. "
       "One: the normal claim counts twice, beside the approximate claims. None: the mean of "
       "the approximate claims. The weight of a claim falls with its distance from the "
       "anchor. Without any claim: the workunit's estimate."},
      {"creditnew",
       "The average of the claims that are neither from the anonymous platform nor on scale "
       "probation. Without any such claim: the app's mean x the size estimate. A single "
       "replica receives its own claim."},
      {"creditnew-v2", "The smallest claim."},
      {"benchmark", "The average, the minimum or the median of the claims, by the app's settings."},
      {"reported-flops", "The average of the claims."},
      {"runtime",
       "The mean of the claims, each weighted by the sum of the others; claims of zero or "
       "above the cap are excluded."},
      {"robust",
       "The low average of the claims from measurements: their mean, each weighted by the sum of "
       "the others. If no claim comes from a measurement: the low average of all claims. A claim "
       "above 1.3 times the lowest of them, or above the cap on granted credit, does not count. If "
       "one of several claims is left, and its host has few results, four fifths of it are granted. A claim "
       "of a host that fails often does not count beside a lower one of a host that does not. If "
       "all hosts of claims that count are new, at most the size estimate x app's mean is granted. If "
       "none of them has a reliability of 0.9 or more, or of 0.3 or more and many results, the amount is "
       "multiplied by the square of the reliability of each of them. A single claim is granted as it is."},
      {"assigned", "The assigned credit; several reports of apps are combined like benchmark claims."},
      {"none", "This policy keeps statistics and grants nothing."},
  };
  for (const auto& [name, words] : kWords)
    if (name == policy) return words;
  return {};
}

// Breaks a paragraph at spaces.
std::string Wrapped(std::string_view text, const std::string& indent) {
  constexpr std::size_t kLineWidth = 96;
  std::string out;
  std::string line = indent;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (line.size() + word.size() > kLineWidth) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

std::string JobText(const json& claim) {
  const json& facts = At(claim, "facts");
  Fields fields("     ");
  fields.Of(facts, "elapsed_time_s", "elapsed time", "s");
  fields.Of(facts, "cpu_time_s", "CPU time", "s");
  fields.Of(facts, "peak_flops", "peak speed", "FLOP/s, as reported by the completion");
  fields.TimeOf(facts, "sent_time", "sent");
  fields.TimeOf(facts, "received_time", "received");
  fields.Of(facts, "fpops_est", "size estimate", "FLOPs");
  fields.Of(facts, "fpops_bound", "bound", "FLOPs");
  for (const char* name : {"reported", "benchmark"}) {
    fields.Shown({name});
    if (!IsZero(At(facts, name))) fields.Add(name, Text(facts, name));
  }
  fields.Rest(facts);
  if (Has(claim, "raw_pfc"))
    fields.Add("raw PFC", Text(claim, "raw_pfc") + " FLOPs = elapsed time x peak speed");
  if (Has(claim, "sample")) fields.Add("sample", Text(claim, "sample") + " = raw PFC / size estimate");
  return fields.Take();
}

std::string ScalesOfClaimText(const json& claim) {
  Fields fields("     ");
  if (At(claim, "policy") == "robust") {
    for (const auto& [name, value] : RobustInputs(claim)) fields.Add(name, value);
    return fields.Take();
  }
  if (Has(claim, "version_average")) fields.Add("version average", Average(At(claim, "version_average")));
  fields.Add("version scale", IsZero(At(claim, "version_scale")) ? "none yet" : Text(claim, "version_scale"));
  if (Has(claim, "host_average_before"))
    fields.Add("host average before", Average(At(claim, "host_average_before")));
  if (Has(claim, "host_average_after"))
    fields.Add("host average after", Average(At(claim, "host_average_after")));
  if (Has(claim, "host_scale")) {
    fields.Add("host scale",
               Text(claim, "host_scale") + " = version average / host average, limited by the policy");
  } else {
    fields.Add("host scale", "not applied");
  }
  fields.Add("app's mean", IsZero(At(claim, "min_avg_pfc")) ? "not defined yet" : Text(claim, "min_avg_pfc"));
  fields.Of(claim, "consecutive_valid", "consecutive valid");
  if (Flag(claim, "host_scale_check")) fields.Add("cherry-picking check", "on");
  fields.Add("probation", Flag(claim, "on_probation") ? "yes" : "no");
  fields.TimeOf(claim, "host_scale_time", "host scale from");
  return fields.Take();
}

std::string ClaimsText(const json& grant, const json& claim) {
  Table table({"result", "host", "claimed", "PFC", "<mode", "<"});
  const auto add = [&](const json& one, const std::string& note) {
    const json& flags = At(one, "flags");
    std::string words = note;
    for (const char* flag :
         {"late", "expired", "invalid", "runtime_outlier", "on_probation", "one_time_cheat", "clamped",
          "host_deleted", "uncalibrated", "over_budget", "rising", "unreliable"}) {
      if (flags.is_array() && std::find(flags.begin(), flags.end(), flag) != flags.end())
        words += (words.empty() ? "" : ", ") + Spaced(flag);
    }
    // The reliability of a host that does not vouch for others.
    if (Has(one, "reliability") && At(one, "reliability") < 0.9)
      words += " (reliability " + Text(one, "reliability") + ")";
    table.Add({IdText(one, "result"), IdText(one, "host"), Text(one, "claimed"), Text(one, "pfc"),
               Text(one, "mode"), words});
  };
  add(claim, "this result");
  for (const json& other : At(grant, "other_claims")) add(other, "");
  return table.Take();
}

std::string PostingsText(const json& grant) {
  std::string text;
  for (const json& posting : At(grant, "postings")) {
    text += (text.empty() ? "" : ", ") + Text(posting, "account") + " " + IdText(posting, "id");
    if (Has(posting, "name") && !Text(posting, "name").empty()) text += " (" + Text(posting, "name") + ")";
  }
  return text.empty() ? "none" : text;
}

// The claim of a grant or of a result that was judged invalid: its basis and its result.
std::string ClaimText(const json& claim) {
  std::string text = "\n  1. The job\n" + JobText(claim);
  text += "\n  2. Averages and scales in force (scale epoch " + IdText(claim, "epoch") + ")\n" +
          ScalesOfClaimText(claim);
  text += "\n  3. The claim, by policy " + Text(claim, "policy") + " version " +
          IdText(claim, "policy_version") + "\n";
  Fields fields("     ");
  fields.Add("mode", Mode(claim, "mode", Text(claim, "policy")));
  std::string flags;
  for (const json& flag : At(claim, "flags"))
    flags += (flags.empty() ? "" : ", ") + Spaced(TerminalText(flag.get<std::string>()));
  if (!flags.empty()) fields.Add("flags", flags);
  if (At(claim, "policy") == "robust" && !Flag(claim, "no_claim"))
    for (const auto& [name, value] : RobustSteps(claim)) fields.Add(name, value);
  fields.Add("claimed PFC", Text(claim, "pfc") + " FLOPs");
  fields.Add("claimed", Text(claim, "claimed") + " Cobblestones");
  return text + fields.Take();
}

std::string GrantText(const json& grant) {
  const json& claim = At(grant, "claim");
  const std::string policy = Text(claim, "policy");
  Fields head;
  head.Add("granted",
           Text(grant, "credit") + " Cobblestones" +
               (At(grant, "late") == true ? ", late: the same as the other results of the workunit" : ""));
  if (Has(grant, "kind") && At(grant, "kind") != "final") head.Add("kind", Text(grant, "kind"));
  head.TimeOf(grant, "granted_at", "at");
  head.Add("to", PostingsText(grant));
  if (Has(grant, "waits_for")) head.Add("waits", Text(grant, "waits_for"));
  if (Has(grant, "expired")) head.Add("expired", Text(grant, "expired"));
  if (Has(claim, "workunit"))
    head.Add("for", "workunit " + IdText(claim, "workunit") + ", app " + IdText(claim, "app") +
                        ", app version " + IdText(claim, "app_version") + ", host " + IdText(claim, "host"));
  std::string text = head.Take();
  if (claim.is_object()) {
    text += ClaimText(claim);
    text += "\n  4. The grant, from the claims of the workunit\n" + ClaimsText(grant, claim);
    if (const std::string_view words = FormationWords(policy); !words.empty())
      text += Wrapped(words, "     ");
  }
  Fields fields("     ");
  if (Has(grant, "counted_as")) fields.Add("counted as", Mode(grant, "counted_as", policy));
  fields.Add("cap per result", IsZero(At(grant, "max_granted_credit"))
                                   ? "none"
                                   : Text(grant, "max_granted_credit") + " Cobblestones");
  if (!IsZero(At(grant, "canonical_result")))
    fields.Add("canonical result", IdText(grant, "canonical_result"));
  const json& exact = At(grant, "credit_before_rounding");
  if (!exact.is_null()) {
    const bool paid = Has(claim, "paid_by_trickles");
    const std::string worth =
        exact.is_string() ? TerminalText(exact.get_ref<const std::string&>()) : exact.dump();
    const std::string micro = IdText(grant, "credit_micro");
    fields.Add("rounding",
               paid ? worth + " to micro-credits (nearest, ties to even), minus trickle payments: " + micro
                    : worth + " -> " + micro + " micro-credits (nearest, ties to even)");
  }
  const json& ledger = At(grant, "ledger");
  if (ledger.is_object())
    fields.Add("ledger record",
               "partition " + IdText(ledger, "partition") + ", offset " + IdText(ledger, "offset"));
  return text + (claim.is_object() ? "" : "\n") + fields.Take();
}

// ---- Any answer --------------------------------------------------------------------------------------------

// Formats any JSON answer.
std::string AnyText(const json& value, const std::string& indent) {
  if (value.is_primitive()) return indent + NumberText(value) + "\n";
  Fields fields(indent);
  if (value.is_object()) fields.Rest(value);
  std::string text = fields.Take();
  for (const auto& [name, part] : value.items()) {
    if (value.is_object()) {
      if (part.is_primitive() || part.empty()) continue;
      text += indent + Spaced(name) + "\n" + AnyText(part, indent + "  ");
    } else {
      text += AnyText(part, indent);
    }
  }
  return text;
}

}  // namespace

std::string UtcText(double unix_seconds) {
  if (!(unix_seconds > -6e10 && unix_seconds < 2.5e11)) return NumberText(unix_seconds);
  const auto whole = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[64];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string FixedText(double value) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof text, "%.6f", value);
  return std::string_view(text) == "-0.000000" ? text + 1 : text;
}

std::string NumberText(const json& value) {
  if (value.is_string()) return TerminalText(value.get_ref<const std::string&>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "-";
  if (value.is_number_unsigned()) return WithCommas(value.get<std::uint64_t>());
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    return number < 0 ? "-" + WithCommas(0 - static_cast<std::uint64_t>(number))
                      : WithCommas(static_cast<std::uint64_t>(number));
  }
  if (!value.is_number()) return value.dump();
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value.get<double>() + 0.0);  // -0 is 0
  std::string number = text;
  const std::size_t whole = number.find_first_of(".e");
  const std::string_view digits = std::string_view(number).substr(0, std::min(whole, number.size()));
  if (number.find_first_not_of("0123456789.-") == std::string::npos && digits.size() > 4) {
    std::string grouped(digits);
    const std::ptrdiff_t first = grouped.front() == '-' ? 1 : 0;
    for (auto at = static_cast<std::ptrdiff_t>(grouped.size()) - 3; at > first; at -= 3)
      grouped.insert(static_cast<std::size_t>(at), ",");
    number.replace(0, digits.size(), grouped);
  }
  return number;
}

namespace {

// "project 1 (Einstein)". `answer` contains the name of the requested project if the settings define it.
std::string ProjectText(const json& row, const json& answer) {
  std::string text = "project " + IdText(row, "project");
  if (Has(answer, "project_name")) text += " (" + Text(answer, "project_name") + ")";
  return text;
}

// The limit that reduced a mark or its price (credit::TrickleBound).
std::string BoundWords(std::string_view bound) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"wall_time", "the time since the dispatch"},
      {"last_step", "the model's last step"},
      {"whole_job", "the whole job"},
      {"increment", "the longest increment"},
      {"speed", "the limit on speed"},
      {"devices", "the limit on devices"},
      {"fpops_bound", "the job's bound"},
      {"estimate", "the job's estimate"},
      {"max_credit", "the cap per result"},
  };
  for (const auto& [name, words] : kWords)
    if (name == bound) return std::string(words);
  return Spaced(std::string(bound));
}

// Why a trickle was not paid.
std::string UnpaidWords(const json& one) {
  static const std::map<std::string, std::string, std::less<>> kWords = {
      {"repeat", "reported before"},
      {"set_back", "below the high-water mark"},
      {"no_further", "not above the high-water mark"},
      {"nothing_due", "less than one micro-credit"},
      {"held_back", "limited"},
      {"refused", "refused"}};
  const std::string outcome = Text(one, "outcome");
  const auto known = kWords.find(outcome);
  std::string words = known == kWords.end() ? Spaced(outcome) : known->second;
  if (Has(one, "refused")) words += " (" + Text(one, "refused") + ")";
  if (Has(one, "reason")) words += ": " + Text(one, "reason");
  return words;
}

// Elements of messages that cannot be paid. Empty: none.
std::string MessageTable(const std::vector<const json*>& trickles) {
  Table table({"<trickle time", "<other elements"});
  for (const json* one : trickles) {
    std::string elements;
    if (Has(*one, "others"))
      for (const json& other : At(*one, "others"))
        elements += (elements.empty() ? "" : ", ") + IdText(other, "name") + ": " + IdText(other, "text");
    if (Has(*one, "others_left_out")) {
      const json& left = At(*one, "others_left_out");
      elements += (elements.empty() ? "" : ", and ") + Text(left, "elements") + " more elements, " +
                  Text(left, "bytes") + " bytes, not stored";
    }
    if (elements.empty()) continue;
    for (char& c : elements)
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
    table.Add({TimeText(At(*one, "time")), elements});
  }
  return table.empty() ? "" : "\n" + table.Take();
}

// All trickles in order; paid ones have `credit`.
std::string TrickleTable(const json& partials, const json& unpaid, const std::string& measure) {
  std::vector<const json*> all;
  for (std::size_t k = 0, next = 0; k <= partials.size(); ++k) {
    while (next < unpaid.size() && unpaid[next]["behind"].get<std::size_t>() <= k)
      all.push_back(&unpaid[next++]);
    if (k < partials.size()) all.push_back(&partials[k]);
  }
  const auto any = [&](const char* field) {
    return std::any_of(all.begin(), all.end(), [&](const json* one) { return Has(*one, field); });
  };
  const bool phases = any("phase");
  const bool versions = any("model_version");
  std::vector<std::string> columns = {"<trickle time", "<variety"};
  if (phases) columns.emplace_back("phase");
  if (versions) columns.emplace_back("<version");
  for (const std::string& column :
       {std::string("mark before"), measure, std::string("mark after"), std::string("worth"),
        std::string("paid before"), std::string("credit"), std::string("<outcome")})
    columns.push_back(column);
  Table table(columns);
  for (const json* one : all) {
    std::string words = Has(*one, "outcome") ? UnpaidWords(*one) : "";
    std::string bounds;
    if (Has(*one, "bounded_by"))
      for (const json& bound : At(*one, "bounded_by"))
        bounds += (bounds.empty() ? "" : ", ") + BoundWords(TerminalText(bound.get<std::string>()));
    if (!bounds.empty())
      words = (words.empty() || words == "limited" ? "limited by " : words + ", limited by ") + bounds;
    std::vector<std::string> row = {TimeText(At(*one, "time")), Text(*one, "variety")};
    const auto add = [&](const char* field) { row.push_back(Has(*one, field) ? Text(*one, field) : ""); };
    if (phases) add("phase");
    if (versions) add("model_version");
    for (const char* field : {"mark_before", "asked", "mark_after", "worth_of_mark", "paid_before", "credit"})
      add(field);
    row.push_back(words);
    table.Add(row);
  }
  return table.Take() + MessageTable(all);
}

// Payments for the trickles of a result in order, and what happened to them.
std::string TrickleText(const json& answer) {
  const json none = json::array();
  const json& partials = Has(answer, "partials") ? At(answer, "partials") : none;
  const json& unpaid = Has(answer, "unpaid") ? At(answer, "unpaid") : none;
  const json& grants = At(answer, "grants");
  const json& reversals = Has(answer, "reversals") ? At(answer, "reversals") : none;
  Fields head;
  std::string measure = "reported";
  const std::string more = Has(answer, "unpaid_newest") ? " or more (the list has the newest)" : "";
  if (partials.empty()) {
    head.Add("trickle payments", "nothing, for " + WithCommas(unpaid.size()) +
                                     (unpaid.size() == 1 ? " trickle" : " trickles") + more);
  } else {
    const json& first = partials.front();
    head.Add("total", Text(answer, "credit") + " Cobblestones");
    head.Add("trickle payments",
             Text(answer, "paid_by_trickles") + " for " + WithCommas(partials.size()) +
                 (partials.size() == 1 ? " trickle" : " trickles") +
                 (unpaid.empty() ? "" : ", nothing for " + WithCommas(unpaid.size()) + more));
    head.Add("provisional", Text(answer, "provisional") +
                                (grants.empty() && reversals.empty() ? ", not decided yet" : ", decided"));
    head.Add("rule", "'" + Text(first, "rule") + "' of policy version " + IdText(first, "policy_version") +
                         ", at the prices of the dispatch, " + TimeText(At(first, "sent_time")));
    // For a rule by the day a message counts by its time only: the mark is the number of days.
    measure = Text(first, "measure") == "none" ? "days" : Spaced(Text(first, "measure"));
  }
  std::string text = head.Take() + "\n  Trickles\n" + TrickleTable(partials, unpaid, measure) +
                     Wrapped(
                         "The mark is the highest valid progress of the job. A trickle pays the worth of the "
                         "mark minus earlier payments. A trickle that does not raise the mark pays nothing.",
                         "     ");
  if (grants.empty() && reversals.empty()) return text;
  text += "\n  Settlement\n";
  for (const json& one : reversals) {
    text += "     " + TimeText(At(one, "time")) + "  " + Text(one, "reason") + ": payments to user " +
            IdText(one, "user") + ": " + Text(one, "made_final") + " final, " +
            (Text(one, "credit") == "0.000000" ? "no reversal" : Text(one, "credit") + " Cobblestones");
    text += At(one, "made_up_for_by_future_credit") == true ? ", offset by future credit\n" : "\n";
  }
  for (const json& one : grants) {
    text += "     " + TimeText(At(one, "granted_at")) + "  grant: worth " +
            NumberText(std::strtod(Text(one, "credit_before_rounding").c_str(), nullptr)) +
            " Cobblestones, minus earlier payments: " + Text(one, "credit") + "\n";
  }
  return text;
}

// A result that the validator judged invalid, and its worth if it had been valid.
std::string InvalidText(const json& judged) {
  const json& claim = At(judged, "claim");
  Fields head;
  head.Add("granted", "nothing: the validator judged the result invalid");
  head.TimeOf(judged, "time", "at");
  head.Add("for", "workunit " + IdText(claim, "workunit") + ", app " + IdText(claim, "app") +
                      ", app version " + IdText(claim, "app_version") + ", host " + IdText(judged, "host"));
  head.Add("worth if valid", Has(judged, "worth")
                                 ? Text(judged, "worth") + " Cobblestones, by the result's own claim"
                                 : "unknown: neither the validator nor the application set an amount");
  return head.Take() + ClaimText(claim);
}

std::string StoryText(const json& answer) {
  const std::string name = "Result " + IdText(answer, "result") + " of " + ProjectText(answer, answer);
  const json& grants = At(answer, "grants");
  if (Has(answer, "partials") || Has(answer, "unpaid")) {
    std::string story = name + "\n" + TrickleText(answer);
    for (const json& grant : grants) story += "\n" + GrantText(grant);
    if (Has(answer, "judged_invalid")) story += "\n" + InvalidText(At(answer, "judged_invalid"));
    if (Has(answer, "pending")) {
      const json& pending = At(answer, "pending");
      const bool runs = !pending.value("has_completion", false) && !pending.value("has_validation", false);
      story += runs ? "\n  The job is still running.\n"
                    : "\n  The result waits for " + Text(pending, "waits_for") + ".\n";
    }
    return story;
  }
  if (grants.empty() && Has(answer, "judged_invalid"))
    return name + "\n" + InvalidText(At(answer, "judged_invalid"));
  if (grants.empty()) {
    const json& pending = At(answer, "pending");
    return name + " has no grant yet\n  waits for " + Text(pending, "waits_for") + " (host " +
           IdText(pending, "host") + ")\n";
  }
  std::string text;
  for (const json& grant : grants) text += (text.empty() ? name + "\n" : "\n") + GrantText(grant);
  return text;
}

}  // namespace

std::string ExplainText(const json& answer) { return StoryText(answer) + CorrectionsText(answer); }

std::string AccountText(const json& answer) {
  std::string text =
      Text(answer, "kind") == "project"
          ? Capital(ProjectText(answer, answer))
          : Capital(Text(answer, "kind")) + " " + IdText(answer, "id") + " of " + ProjectText(answer, answer);
  if (Has(answer, "name") && !Text(answer, "name").empty()) text += ": " + Text(answer, "name");
  text += "\n";
  Fields fields;
  fields.Shown({"kind", "id", "project", "project_name", "name"});
  fields.Of(answer, "total", "total credit", "Cobblestones");
  // If trickles are paid.
  fields.Shown({"provisional", "shown", "opening"});
  if (Has(answer, "provisional") && Text(answer, "provisional") != "0.000000")
    fields.Add("provisional part", Text(answer, "provisional") + " Cobblestones, for running jobs");
  if (Has(answer, "shown") && Text(answer, "shown") != Text(answer, "total"))
    fields.Add("shown", Text(answer, "shown") + " Cobblestones, until future credit offsets the difference");
  if (Has(answer, "opening") && Text(answer, "opening") != "0.000000")
    fields.Add("opening balance", Text(answer, "opening") + " Cobblestones");
  fields.Shown({"estimates"});
  const json& estimates = At(answer, "estimates");
  if (Has(answer, "estimates")) {
    fields.Add("estimated", Text(estimates, "credit") +
                                " Cobblestones, not granted yet: " + Text(estimates, "provisional"));
    if (Has(estimates, "shown"))
      fields.Add("shown total", Text(estimates, "shown") +
                                    " Cobblestones, with estimates; only corrections lower this total");
    fields.Add("run time", Text(estimates, "run_time") + " s in " + Text(estimates, "jobs") +
                               " jobs, failed: " + Text(estimates, "failed_run_time") + " s in " +
                               Text(estimates, "failed_jobs"));
  }
  fields.Of(answer, "grants", "granted results");
  fields.Shown({"rac", "rac_now", "rac_now_time", "rac_time"});
  if (Has(answer, "rac_now"))
    fields.Add("recent average now",
               RecentText(answer, "rac_now") + " Cobblestones/day" +
                   (Has(answer, "rac_now_time") ? " at " + TimeText(At(answer, "rac_now_time")) : ""));
  if (!IsZero(At(answer, "rac_time")))
    fields.Add("as last stored", Text(answer, "rac") + " at " + TimeText(At(answer, "rac_time")));
  for (const char* id : {"user", "team"}) {
    fields.Shown({id});
    if (Has(answer, id)) fields.Add(id, IsZero(At(answer, id)) ? "none" : IdText(answer, id));
  }
  fields.Shown({"into", "merged"});
  if (Has(answer, "into"))
    fields.Add(At(answer, "merged") == true ? "merged into" : "to be merged into",
               "host " + IdText(answer, "into") +
                   (At(answer, "merged") == true ? "" : ", when that host is known to have the same owner"));
  fields.Of(answer, "hosts_joined", "merged hosts");
  fields.Rest(answer);
  text += fields.Take();

  Table apps({"app", "granted results", "credit"});
  for (const json& app : At(answer, "apps"))
    apps.Add({IdText(app, "app"), Text(app, "grants"), Text(app, "total")});
  if (!apps.empty()) text += "\n" + apps.Take();
  Table days({"<day", "granted results", "credit"});
  for (const json& day : At(answer, "days"))
    days.Add(
        {UtcText(Double(At(day, "day")) * 86400).substr(0, 10), Text(day, "grants"), Text(day, "total")});
  if (!days.empty()) text += "\n" + days.Take();
  Table reported({"<day", "jobs", "run time", "failed jobs", "failed run time", "estimated credit"});
  for (const json& day : At(estimates, "days"))
    reported.Add({UtcText(Double(At(day, "day")) * 86400).substr(0, 10), Text(day, "jobs"),
                  Text(day, "run_time"), Text(day, "failed_jobs"), Text(day, "failed_run_time"),
                  Text(day, "credit")});
  if (!reported.empty()) text += "\n" + reported.Take();
  Table versions({"app", "app version", "jobs"});
  for (const json& row : At(answer, "versions"))
    versions.Add({IdText(row, "app"), IdText(row, "app_version"), Text(row, "jobs")});
  if (!versions.empty()) text += "\n" + versions.Take();
  return text;
}

std::string HostVersionText(const json& answer) {
  std::string text;
  for (const json& row : At(answer, "rows")) {
    text += (text.empty() ? "" : "\n") + ("Host " + IdText(row, "host") + " with app version ") +
            IdText(row, "app_version") + " (app " + IdText(row, "app") + ", " + ProjectText(row, answer) +
            ")\n";
    Fields fields;
    fields.Shown({"host", "app", "app_version", "project"});
    fields.Add("sample (PFC / estimate)", Average(At(row, "pfc")));
    const auto with_variance = [&](const char* name, const std::string& label, const std::string& unit) {
      const json& average = At(row, name);
      std::string value = Average(average);
      if (!IsZero(At(average, "n"))) value += ", variance " + Text(average, "variance");
      fields.Add(label, value + unit);
    };
    with_variance("et", "elapsed / estimate", " (s per FLOP)");
    with_variance("turnaround", "turnaround", " (s)");
    fields.Of(row, "flops_estimate", "estimated speed", "FLOP/s");
    fields.Of(row, "consecutive_valid", "consecutive valid");
    fields.Of(row, "error_rate", "error rate");
    // Of policy robust: over all versions of the app.
    fields.Of(row, "failure_rate", "failure rate in the app");
    fields.Of(row, "results_that_vouch", "results that vouch in the app",
              "replicated, valid, and claimed like the others' results of their jobs");
    fields.Of(row, "replication_probability", "replication probability",
              "advised for its next job of the app");
    fields.Of(row, "standing", "standing",
              "of 4; one result of a replicated workunit should come from a host of high standing");
    fields.Of(row, "max_jobs_per_day", "max jobs per day");
    fields.Of(row, "jobs_today", "jobs today");
    fields.Of(row, "scale_probation", "on scale probation");
    fields.TimeOf(row, "host_scale_time", "host scale from");
    fields.Rest(row);
    text += fields.Take();
  }
  return text;
}

std::string ScalesText(const json& answer) {
  std::string text = Capital(ProjectText(answer, answer)) + ", scale epoch " + IdText(answer, "epoch");
  if (!IsZero(At(answer, "time"))) text += ", as of " + TimeText(At(answer, "time"));
  text += "\n\n";
  Table apps({"app", "<name", "<policy", "min avg PFC", "CPU mean", "GPU mean", "claims", "mean claim"});
  for (const json& app : At(answer, "apps")) {
    const json& claims = At(app, "claims");
    apps.Add({IdText(app, "app"), Text(app, "name"),
              Text(app, "policy") + " v" + IdText(app, "policy_version"), Text(app, "min_avg_pfc"),
              Text(app, "cpu_mean"), Text(app, "gpu_mean"), Text(claims, "n"), Text(claims, "mean")});
  }
  text += apps.Take() + "\n";
  Table versions({"app version", "app", "number", "<plan class", "<device", "samples", "mean PFC", "scale",
                  "recent credit"});
  for (const json& version : At(answer, "versions")) {
    const json& pfc = At(version, "pfc");
    versions.Add({IdText(version, "app_version"), IdText(version, "app"), IdText(version, "version_num"),
                  Text(version, "plan_class"), At(version, "gpu") == true ? "GPU" : "CPU", Text(pfc, "n"),
                  Text(pfc, "mean"), IsZero(At(version, "scale")) ? "-" : Text(version, "scale"),
                  RecentText(version, "expavg_now")});
  }
  text += versions.Take();
  for (const json& version : At(answer, "versions"))
    if (Has(version, "expavg_now_time"))
      return text + "\nRecent credit is per day, decayed to " + TimeText(At(version, "expavg_now_time")) +
             ".\n";
  return text;
}

std::string TasksText(const json& answer) {
  Fields fields;
  fields.Of(answer, "lag", "waiting records");
  fields.Of(answer, "grants", "records in the ledger");
  fields.Of(answer, "refused", "refused");
  const json& log = At(answer, "log");
  if (log.is_object()) {
    fields.Add("log since opening", Text(log, "records") + " records in " + Text(log, "units") + " units, " +
                                        Text(log, "syncs") + " syncs (" + Text(log, "sync_seconds") + " s)");
    fields.Add("log on disk", Text(log, "disk_bytes") + " bytes");
  }
  fields.Rest(answer);
  std::string text = fields.Take() + "\n";
  Table table(
      {"slot", "lag", "commits", "state", "copy", "again", "records", "objects", "reads", "<hash", "<role"});
  for (const json& task : At(answer, "tasks")) {
    table.Add({IdText(task, "slot"), Text(task, "lag"), Text(task, "commits"), Text(task, "state_written"),
               Text(task, "checkpoint"), Text(task, "commits_executed_again"), Text(task, "records"),
               Text(task, "objects_in_memory"), Text(task, "store_reads"), Text(task, "hash").substr(0, 12),
               Text(task, "role")});
  }
  return text + table.Take();
}

std::string KafkaTasksText(const json& answer) {
  Table table({"slot", "<worker", "<phase", "lag", "commits", "of", "state", "checkpoint", "again", "<hash",
               "<standby", "<role"});
  std::string problems;
  for (const json& task : At(answer, "tasks")) {
    std::string standbys;
    for (const json& one : At(task, "standbys"))
      standbys += (standbys.empty() ? "" : ", ") + Text(one, "worker") + " -" + Text(one, "commits_behind");
    if (Has(task, "problem"))
      problems += "  slot " + IdText(task, "slot") + ": " + Text(task, "problem") + "\n";
    table.Add({IdText(task, "slot"), Has(task, "worker") ? Text(task, "worker") : "none",
               Has(task, "phase") ? Text(task, "phase") : "", Text(task, "lag"), Text(task, "commits"),
               Text(task, "committed"), Text(task, "state_written"), Text(task, "checkpoint"),
               Text(task, "commits_executed_again"), Text(task, "hash").substr(0, 12), standbys,
               Text(task, "role")});
  }
  std::string alarms;
  Table workers({"<worker", "silent, s", "records", "commits", "aborts", "producers", "others fenced"});
  for (const json& one : At(answer, "workers")) {
    char silent[32];
    std::snprintf(silent, sizeof silent, "%.1f", Double(At(one, "silent_for_s")));
    workers.Add({Text(one, "worker"), silent, Text(one, "records"), Text(one, "commits"), Text(one, "aborts"),
                 Text(one, "producers"), Text(one, "fenced")});
    for (const json& alarm : At(one, "alarms"))
      alarms += "  " + Text(one, "worker") + ": " + Text(alarm, "text") + "\n";
  }
  return table.Take() + "\n" + workers.Take() + (problems.empty() ? "" : "\nstopped:\n" + problems) +
         (alarms.empty() ? "" : "\nmany refusals:\n" + alarms);
}

std::string AuditText(const json& answer) {
  json rest = answer;
  const json problems = At(answer, "problems");
  const bool continues = Has(answer, "since");
  if (rest.is_object()) {
    rest.erase("problems");
    rest.erase("since");
  }
  std::string text;
  if (continues) {
    const json& since = At(answer, "since");
    text = "Continues the clean audit of " + TimeText(At(since, "at")) + ": the " + Text(since, "grants") +
           " grants up to there were not read again, and the numbers below are of later records.\n";
  }
  text += AnyText(rest, "  ");
  if (problems.empty()) return text + "No problems found: every number follows from the recorded inputs.\n";
  text += WithCommas(problems.size()) + (problems.size() == 1 ? " problem:\n" : " problems:\n");
  for (const json& problem : problems)
    text += problem.is_object() ? AnyText(problem, "  ") + "\n" : "  " + NumberText(problem) + "\n";
  return text;
}

std::string RefusedListText(const json& answer) {
  const json& list = At(answer, "refused");
  if (list.empty()) return "no such refused records; " + Text(answer, "all") + " refused records in total\n";
  Table table({"number", "<reason", "<source", "<detail"});
  for (const json& one : list) {
    const std::string place = Has(one, "source") ? Text(one, "source") + " line " + IdText(one, "line")
                                                 : Text(one, "topic") + "/" + IdText(one, "partition") + "/" +
                                                       IdText(one, "offset");
    table.Add({IdText(one, "number"), Text(one, "reason"), place, Text(one, "detail")});
  }
  return table.Take() + "\n" + Text(answer, "all") +
         " refused records in total. Details: cobblestone refused show NUMBER\n";
}

std::string ResubmitText(const json& answer) {
  constexpr std::size_t kMostLeft = 20;
  const bool dry_run = At(answer, "dry_run") == true;
  const json& sent = At(answer, "resubmitted");
  const json& left = At(answer, "left");
  std::string text;
  if (dry_run && !sent.empty()) {
    Table table({"number", "<reason", "<event", "<detail"});
    for (const json& one : sent)
      table.Add({IdText(one, "number"), Text(one, "reason"), Text(one, "kind"), Text(one, "detail")});
    text += table.Take() + "\n";
  }
  text += WithCommas(sent.size()) + (sent.size() == 1 ? " event " : " events ");
  text += dry_run ? "would be resubmitted\n" : sent.size() == 1 ? "was resubmitted\n" : "were resubmitted\n";
  if (left.empty()) return text;
  text += WithCommas(left.size()) + (left.size() == 1 ? " record" : " records") + " cannot be resubmitted:\n";
  for (std::size_t i = 0; i < std::min(left.size(), kMostLeft); ++i)
    text += "  " + Text(left[i], "why") + "\n";
  if (left.size() > kMostLeft)
    text += "  ... and " + WithCommas(left.size() - kMostLeft) + " more; --json lists all\n";
  return text;
}

std::string RefusedText(const json& answer) {
  std::string text = "Refused record " + IdText(answer, "number") + "\n";
  Fields fields;
  fields.Shown({"number"});
  fields.Of(answer, "reason", "reason");
  fields.Of(answer, "detail", "detail");
  for (const char* name : {"source", "line", "project", "topic", "partition", "offset"}) {
    fields.Shown({name});
    if (Has(answer, name) && !Text(answer, name).empty()) fields.Add(name, IdText(answer, name));
  }
  fields.TimeOf(answer, "append_time", "appended");
  fields.Rest(answer);
  text += fields.Take();
  if (Has(answer, "event")) text += "\n" + At(answer, "event").dump(2) + "\n";
  return text;
}

}  // namespace cobblestone::cli

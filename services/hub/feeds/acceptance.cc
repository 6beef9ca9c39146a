#include "services/hub/feeds/acceptance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cobblestone::hub {
namespace {

constexpr double kMicro = 1e6;
constexpr double kDay = 86400;

struct HoldRule {
  HoldReason reason;
  std::string_view name;
  bool confirmable;
};
constexpr std::array kHoldRules = {
    HoldRule{HoldReason::kNoTables, "no_tables", true},
    HoldRule{HoldReason::kTablesChanged, "tables_changed", false},
    HoldRule{HoldReason::kEmpty, "empty", false},
    HoldRule{HoldReason::kDisappeared, "disappeared", false},
    HoldRule{HoldReason::kTotalFell, "total_fell", true},
    HoldRule{HoldReason::kImpossibleRise, "impossible_rise", true},
    HoldRule{HoldReason::kMoreThanAnnounced, "more_than_announced", true},
    HoldRule{HoldReason::kTeamsDiffer, "teams_differ", true},
    HoldRule{HoldReason::kSumDiffers, "sum_differs", true},
    HoldRule{HoldReason::kTimeBack, "time_back", false},
    HoldRule{HoldReason::kFromTheFuture, "from_the_future", false},
    HoldRule{HoldReason::kSameTime, "same_time", true},
    HoldRule{HoldReason::kOtherAccounts, "other_accounts", false},
    HoldRule{HoldReason::kMultiplied, "multiplied", true},
};

const HoldRule& RuleOf(HoldReason reason) {
  const auto* const found = std::find_if(kHoldRules.begin(), kHoldRules.end(),
                                         [reason](const HoldRule& rule) { return rule.reason == reason; });
  return found == kHoldRules.end() ? kHoldRules.front() : *found;
}

// Whole Cobblestones, which is what a person compares.
std::string Credits(double micro) {
  const auto whole = static_cast<long long>(std::llround(micro / kMicro));
  return std::to_string(whole);
}
std::string Percent(double share) {
  const auto tenths = static_cast<long long>(std::llround(share * 1000));
  return std::to_string(tenths / 10) + "." + std::to_string(std::llabs(tenths % 10)) + " %";
}
std::string Count(std::uint64_t count) { return std::to_string(count); }

class FileJudge {
 public:
  FileJudge(const FetchedFile& file, const AcceptedFile* last, const AcceptanceLimits& limits)
      : file_(file), last_(last), limits_(limits), kind_(RecordKindName(file.summary.kind)) {}

  std::vector<Hold> Holds() {
    JudgeTables();
    JudgeEmpty();
    if (file_.tables_before) {
      JudgeTime(*file_.tables_before);
      JudgeCount(*file_.tables_before);
      JudgeSum(*file_.tables_before);
    }
    if (last_ != nullptr && file_.summary.records > 0) {
      JudgeDisappeared();
      JudgeTotal();
      JudgeOtherAccounts();
      JudgeMultiplied();
      JudgeChangedTotals();
      JudgeFell();
      JudgeOtherIds();
      JudgeRise();
    }
    return std::move(holds_);
  }

 private:
  void Add(HoldReason reason, std::string text) { holds_.push_back({reason, std::move(text)}); }
  [[nodiscard]] bool Has(HoldReason reason) const {
    return std::any_of(holds_.begin(), holds_.end(),
                       [reason](const Hold& hold) { return hold.reason == reason; });
  }

  [[nodiscard]] std::optional<std::uint64_t> Announced(const TablesFile& tables) const {
    switch (file_.summary.kind) {
      case RecordKind::kUser: return tables.users;
      case RecordKind::kHost: return tables.hosts;
      case RecordKind::kTeam: return tables.teams;
    }
    return std::nullopt;
  }

  void JudgeTables() {
    if (!file_.tables_before || !file_.tables_after) {
      Add(HoldReason::kNoTables, "there is no tables.xml to compare the file with");
    } else if (!(*file_.tables_before == *file_.tables_after)) {
      Add(HoldReason::kTablesChanged, "tables.xml changed while the file was fetched: update_time " +
                                          Count(file_.tables_before->update_time) + " before, " +
                                          Count(file_.tables_after->update_time) + " after");
    }
  }

  void JudgeEmpty() {
    if (file_.summary.records > 0) return;
    const std::uint64_t before = last_ == nullptr ? 0 : last_->summary.records;
    const std::uint64_t announced = file_.tables_before ? Announced(*file_.tables_before).value_or(0) : 0;
    if (before == 0 && announced == 0) return;
    Add(HoldReason::kEmpty, "the file has no " + kind_ + "; the last one had " + Count(before) +
                                ", and tables.xml announces " + Count(announced));
  }

  void JudgeTime(const TablesFile& tables) {
    const auto time = static_cast<double>(tables.update_time);
    if (time > file_.fetched + limits_.clock_ahead) {
      Add(HoldReason::kFromTheFuture, "update_time is " + Count(tables.update_time) + ", " +
                                          std::to_string(std::llround(time - file_.fetched)) +
                                          " s after the fetch");
    }
    if (last_ == nullptr || last_->update_time == 0) return;
    if (tables.update_time < last_->update_time) {
      Add(HoldReason::kTimeBack, "update_time went back from " + Count(last_->update_time) + " to " +
                                     Count(tables.update_time) + ": an old export, or a restored database");
    } else if (tables.update_time == last_->update_time &&
               file_.summary.contents != last_->summary.contents) {
      Add(HoldReason::kSameTime,
          "the contents changed, but update_time is still " + Count(tables.update_time));
    }
  }

  // A server with consent announces the users and hosts before it leaves some out, so a file may have fewer. A team
  // table that is listed twice is announced twice.
  void JudgeCount(const TablesFile& tables) {
    const std::uint64_t records = file_.summary.records;
    const std::uint64_t announced = Announced(tables).value_or(0);
    if (records == 0) return;
    if (records > announced) {
      Add(HoldReason::kMoreThanAnnounced,
          Count(records) + " " + kind_ + "s, but tables.xml announces " + Count(announced));
    } else if (file_.summary.kind == RecordKind::kTeam && announced % records != 0) {
      Add(HoldReason::kTeamsDiffer, Count(records) + " teams, but tables.xml announces " + Count(announced));
    }
    if (last_ == nullptr || last_->announced.value_or(0) == 0 || announced == 0) return;
    const double shown = static_cast<double>(records) / static_cast<double>(announced);
    const double before =
        static_cast<double>(last_->summary.records) / static_cast<double>(*last_->announced);
    if (file_.summary.kind != RecordKind::kTeam && shown < before - limits_.disappeared) {
      Add(HoldReason::kDisappeared, "the file has " + Percent(shown) + " of the " + kind_ +
                                        "s that tables.xml announces, after " + Percent(before) +
                                        " in the last file");
    }
  }

  void JudgeSum(const TablesFile& tables) {
    if (file_.summary.kind != RecordKind::kUser || !tables.total_credit || file_.summary.records == 0) return;
    const auto sum = static_cast<double>(file_.summary.total_credit);
    const auto announced = static_cast<double>(tables.total_credit->micro);
    // Each figure is rounded to a micro-credit.
    const double tolerance = announced * limits_.sum_differs + static_cast<double>(file_.summary.records) + 1;
    const bool whole = file_.summary.records == tables.users.value_or(0);
    if (whole ? std::abs(sum - announced) <= tolerance : sum <= announced + tolerance) return;
    Add(HoldReason::kSumDiffers,
        "the users have " + Credits(sum) + " Cobblestones in all, but tables.xml says " + Credits(announced));
  }

  void JudgeDisappeared() {
    const std::uint64_t before = last_->summary.records;
    const std::uint64_t records = file_.summary.records;
    const std::uint64_t missing = file_.changes ? file_.changes->missing : before - std::min(before, records);
    if (static_cast<double>(missing) <= limits_.disappeared * static_cast<double>(before)) return;
    Add(HoldReason::kDisappeared, Count(missing) + " of " + Count(before) + " " + kind_ + "s are missing (" +
                                      Percent(static_cast<double>(missing) / static_cast<double>(before)) +
                                      "; the limit is " + Percent(limits_.disappeared) +
                                      "): a change of consent, deletions, or a failed export");
  }

  void JudgeTotal() {
    const auto before = static_cast<double>(last_->summary.total_credit);
    const auto now = static_cast<double>(file_.summary.total_credit);
    if (before - now <= limits_.total_falls * before) return;
    Add(HoldReason::kTotalFell, "the total of all " + kind_ + "s fell from " + Credits(before) + " to " +
                                    Credits(now) + " Cobblestones (" + Percent((before - now) / before) +
                                    "; the limit is " + Percent(limits_.total_falls) + ")");
  }

  // A correction takes credit away, and the total falls with it. If others have the missing credit, the ids are not those
  // of the last file: they have moved, or the file is of another project.
  void JudgeOtherAccounts() {
    if (!file_.changes || file_.changes->compared < limits_.fewest_compared) return;
    const auto compared = static_cast<double>(file_.changes->compared);
    if (static_cast<double>(file_.changes->replaced) > limits_.disappeared * compared)
      return Add(HoldReason::kOtherAccounts,
                 Count(file_.changes->replaced) + " of " + Count(file_.changes->compared) + " " + kind_ +
                     "s have another " + std::string(LastingElement(file_.summary.kind)) +
                     " than in the last file: ids that moved, or the file of another project");
    const auto before = static_cast<double>(last_->summary.total_credit);
    const auto fallen = static_cast<double>(file_.changes->fallen);
    const double share = static_cast<double>(file_.changes->fell) / compared;
    if (share <= limits_.disappeared || fallen <= limits_.total_falls * before ||
        before - static_cast<double>(file_.summary.total_credit) > fallen / 2)
      return;
    Add(HoldReason::kOtherAccounts,
        Count(file_.changes->fell) + " of " + Count(file_.changes->compared) + " " + kind_ +
            "s have less credit than in the last file, " + Credits(fallen) +
            " Cobblestones in all, and others have gained it: ids that moved, or the "
            "file of another project");
  }

  void JudgeMultiplied() {
    if (!file_.changes || file_.changes->compared < limits_.fewest_compared) return;
    const double share =
        static_cast<double>(file_.changes->multiplied) / static_cast<double>(file_.changes->compared);
    if (share <= limits_.multiplied) return;
    Add(HoldReason::kMultiplied, Count(file_.changes->multiplied) + " of " + Count(file_.changes->compared) +
                                     " " + kind_ + "s have at least twice the credit of the last file");
  }

  // A column of credit that moved by some rows in a file that is sorted by credit: no total falls or rises by much.
  void JudgeChangedTotals() {
    if (!file_.changes || !file_.changes->ManyChanged(limits_)) return;
    const ChangedTotals& totals = file_.changes->totals;
    const auto share = [&](std::size_t count) {
      return static_cast<double>(count) / static_cast<double>(totals.sampled());
    };
    const std::size_t of_others = totals.OfOthers();
    if (share(of_others) > limits_.of_others && !Has(HoldReason::kOtherAccounts))
      Add(HoldReason::kOtherAccounts,
          Percent(share(of_others)) + " of the " + kind_ +
              "s whose credit changed have exactly the credit that another one had in the last file: credit that "
              "moved to other accounts");
    const ChangedTotals::Scaled scaled = totals.SameFactor();
    if (share(scaled.count) <= limits_.multiplied || Has(HoldReason::kMultiplied)) return;
    std::string factor = std::to_string(scaled.factor);
    factor.erase(factor.find_last_not_of('0') + 1);
    if (factor.back() == '.') factor.pop_back();
    Add(HoldReason::kMultiplied, Percent(share(scaled.count)) + " of the " + kind_ +
                                     "s whose credit changed have " + factor +
                                     " times that of the last file");
  }

  // A correction concerns some accounts. A column of other figures can leave the sum nearly as it was.
  void JudgeFell() {
    if (!file_.changes || file_.changes->compared < limits_.fewest_compared) return;
    if (Has(HoldReason::kTotalFell) || Has(HoldReason::kOtherAccounts) || Has(HoldReason::kMultiplied))
      return;
    if (static_cast<double>(file_.changes->fell) <=
        limits_.fell * static_cast<double>(file_.changes->compared))
      return;
    Add(HoldReason::kTotalFell, Count(file_.changes->fell) + " of " + Count(file_.changes->compared) + " " +
                                    kind_ + "s have less credit than in the last file");
  }

  void JudgeOtherIds() {
    if (!file_.changes || file_.changes->compared < limits_.fewest_compared) return;
    if (static_cast<double>(file_.changes->other_ids) <=
        limits_.other_ids * static_cast<double>(file_.changes->compared))
      return;
    Add(HoldReason::kOtherAccounts,
        Count(file_.changes->other_ids) + " of " + Count(file_.changes->compared) + " " + kind_ +
            "s have another cross-project id than in the last file, or none: ids that moved to other " +
            kind_ + "s");
  }

  void JudgeRise() {
    if (!file_.changes) return;
    double days = 1;
    if (file_.tables_before && last_->update_time != 0) {
      days = std::max(days, (static_cast<double>(file_.tables_before->update_time) -
                             static_cast<double>(last_->update_time)) /
                                kDay);
    }
    const double per_day =
        file_.summary.kind == RecordKind::kHost ? limits_.host_per_day : limits_.account_per_day;
    const auto rise = static_cast<double>(file_.changes->largest_rise);
    if (rise <= per_day * days * kMicro) return;
    Add(HoldReason::kImpossibleRise, kind_ + " " + Count(file_.changes->largest_rise_id) + " rose by " +
                                         Credits(rise) + " Cobblestones; at most " +
                                         Credits(per_day * kMicro) + " a day are possible");
  }

  const FetchedFile& file_;
  const AcceptedFile* last_;
  const AcceptanceLimits& limits_;
  const std::string kind_;
  std::vector<Hold> holds_;
};

}  // namespace

void ChangedTotals::Note(credit::MicroCredit before, credit::MicroCredit now) {
  if (changed_++ % every_ != 0) return;
  if (sample_.size() == kMost) {
    // The odd ones go, so that the rest is as even as before.
    for (std::size_t i = 0; 2 * i < kMost; ++i) sample_[i] = sample_[2 * i];
    sample_.resize(kMost / 2);
    every_ *= 2;
  }
  sample_.push_back({.before = before, .now = now});
}

void ChangedTotals::NoteOld(credit::MicroCredit total) {
  if (holders_.empty())
    for (const Change& change : sample_) holders_.emplace(change.now, 0);
  if (const auto found = holders_.find(total); found != holders_.end()) ++found->second;
}

std::size_t ChangedTotals::OfOthers() const {
  return static_cast<std::size_t>(std::count_if(sample_.begin(), sample_.end(), [this](const Change& change) {
    const auto found = holders_.find(change.now);
    return found != holders_.end() && found->second == 1;
  }));
}

ChangedTotals::Scaled ChangedTotals::SameFactor() const {
  std::vector<double> factors;
  for (const Change& change : sample_)
    if (change.before > 0)
      factors.push_back(static_cast<double>(change.now) / static_cast<double>(change.before));
  if (factors.empty()) return {};
  const auto middle = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
  std::nth_element(factors.begin(), middle, factors.end());
  Scaled scaled{.factor = *middle};
  for (const Change& change : sample_) {
    const double off = static_cast<double>(change.now) - scaled.factor * static_cast<double>(change.before);
    // Each total is rounded to a micro-credit, and so is the one from which the factor comes.
    if (change.before > 0 && std::abs(off) <= 2 + 1e-9 * static_cast<double>(change.now)) ++scaled.count;
  }
  return scaled;
}

bool RecordChanges::ManyChanged(const AcceptanceLimits& limits) const {
  return totals.sampled() >= limits.fewest_changed &&
         static_cast<double>(totals.changed()) > limits.changed * static_cast<double>(compared);
}

void RecordChanges::Note(std::uint64_t id, std::optional<credit::MicroCredit> before,
                         credit::MicroCredit now) {
  if (!before) {
    ++appeared;
    return;
  }
  ++compared;
  if (now != *before) totals.Note(*before, now);
  if (now < *before) {
    ++fell;
    fallen += *before - now;
    return;
  }
  if (*before > 0 && now - *before >= *before) ++multiplied;
  if (now - *before > largest_rise) {
    largest_rise = now - *before;
    largest_rise_id = id;
  }
}

std::string_view HoldReasonName(HoldReason reason) { return RuleOf(reason).name; }
bool Confirmable(HoldReason reason) { return RuleOf(reason).confirmable; }

std::string Judgement::Text() const {
  std::string text;
  for (const Hold& hold : holds) text += (text.empty() ? "" : "; ") + hold.text;
  return text;
}

Judgement JudgeFile(const FetchedFile& file, const AcceptedFile* last, const HeldFetch* held,
                    const stream::Hash128* released, const AcceptanceLimits& limits) {
  Judgement judgement{.holds = FileJudge(file, last, limits).Holds()};
  if (judgement.holds.empty()) {
    judgement.accepted = true;
  } else if (released != nullptr && *released == file.summary.contents) {
    judgement.accepted = judgement.released = true;
  } else if (held != nullptr && held->contents == file.summary.contents &&
             file.fetched - held->fetched >= limits.confirm_after) {
    judgement.confirmed = std::all_of(judgement.holds.begin(), judgement.holds.end(),
                                      [](const Hold& hold) { return Confirmable(hold.reason); });
    judgement.accepted = judgement.confirmed;
  }
  return judgement;
}

}  // namespace cobblestone::hub

#include "services/audit/result_balance.h"

#include <map>
#include <optional>

#include "common/credit/accounts/account.h"

namespace cobblestone::audit {
namespace {

std::string Text(credit::MicroTotal value) { return std::to_string(static_cast<long long>(value)); }

}  // namespace

void ResultBalance::Take(const wire::Grant& grant, std::uint32_t partition, std::uint64_t offset,
                         bool behind) {
  Describe(grant, partition, offset, behind, [this](const Entry& entry) { entries_.Add(entry); });
}

// The entries of one award.
void ResultBalance::Describe(const wire::Grant& grant, std::uint32_t partition, std::uint64_t offset,
                             bool behind, const std::function<void(const Entry&)>& take) {
  const wire::GrantHead& head = grant.head;
  const auto add = [&](What what, std::int64_t micro) {
    take({.result = head.result.value,
          .micro = micro,
          .offset = offset,
          .project = head.project.value,
          .partition = static_cast<std::uint16_t>(partition),
          .what = what});
  };
  add(behind                                 ? What::kBehind
      : head.kind == wire::GrantKind::kFinal ? What::kFinal
                                             : What::kAward,
      head.credit_micro);
  if (const credit::MicroCredit paid = wire::ProvisionalOf(head); paid != 0)
    add(behind ? What::kPaidBehind : What::kPaid, paid);
  if (head.settles_micro == 0) return;
  if (grant.undone)
    add(behind ? What::kReversedBehind : What::kReversed, head.settles_micro);
  else if (!behind)
    add(What::kSettled, head.settles_micro);
}

void ResultBalance::Take(const wire::Posting& posting, std::uint32_t partition, std::uint64_t offset) {
  entries_.Add({.result = posting.result.value,
                .micro = posting.credit_micro,
                .offset = offset,
                .project = posting.project.value,
                .partition = static_cast<std::uint16_t>(partition),
                .what = What::kPosting});
}

// The entries of one result. Postings come last.
struct ResultBalance::Group {
  Entry first;
  std::vector<std::pair<std::uint16_t, std::uint64_t>> finals;  // partition, offset
  std::map<std::int64_t, std::uint64_t> unposted;               // awards by amount
  bool awarded = false;
  credit::MicroTotal paid = 0;
  credit::MicroTotal paid_behind = 0;
  credit::MicroTotal settled = 0;
  credit::MicroTotal reversed = 0;
  credit::MicroTotal reversed_behind = 0;

  [[nodiscard]] std::string Name() const {
    return "result " + std::to_string(first.result) + " of project " + std::to_string(first.project);
  }
  void Take(const Entry& entry, AuditProblems& problems) {
    switch (entry.what) {
      case What::kFinal: finals.emplace_back(entry.partition, entry.offset); [[fallthrough]];
      case What::kAward:
      case What::kBehind:
        ++unposted[entry.micro];
        awarded = true;
        return;
      case What::kPaid: paid += entry.micro; return;
      case What::kPaidBehind: paid_behind += entry.micro; return;
      case What::kSettled: settled += entry.micro; return;
      case What::kReversed: reversed += entry.micro; return;
      case What::kReversedBehind: reversed_behind += entry.micro; return;
      case What::kPosting: return TakePosting(entry, problems);
    }
  }
  void TakeOlder(const Older& older, AuditProblems& problems) {
    for (const Older::Award& award : older.awards)
      Describe(award.grant, award.partition, award.offset, false,
               [&](const Entry& entry) { Take(entry, problems); });
    for (const wire::Posting& posting : older.postings)
      if (const auto award = unposted.find(posting.credit_micro);
          award != unposted.end() && award->second > 0)
        --award->second;
  }
  // Each award has at most one posting.
  void TakePosting(const Entry& entry, AuditProblems& problems) {
    const std::string where = "posting at partition " + std::to_string(entry.partition) + ", offset " +
                              std::to_string(entry.offset) + " (" + Name() + ")";
    if (!awarded) return problems.Add(where + ": the result of the posting has no grant");
    const auto award = unposted.find(entry.micro);
    if (award == unposted.end())
      return problems.Add(where + ": the amount of " + std::to_string(entry.micro) +
                          " micro-credits differs from the grant");
    if (award->second == 0) return problems.Add(where + ": the grant has another posting");
    --award->second;
  }
  // If a result is decided, all its trickle payments are final or were reversed before; otherwise none is final.
  void ComparePaid(AuditProblems& problems) const {
    if (settled + reversed == paid) return;
    // A grant under another host than that of the trickles has settled nothing.
    if (settled == 0 && finals.empty()) return;
    // The decision may rest on records of a partition whose state is older.
    const credit::MicroTotal all = paid + paid_behind;
    if (settled + reversed == all || settled + reversed + reversed_behind == all) return;
    problems.Add(Name() + ": the trickle payments are " + Text(all) + " micro-credits, but " + Text(settled) +
                 " became final and " + Text(reversed) + " were reversed while running");
  }
  void Close(AuditProblems& problems) const {
    ComparePaid(problems);
    if (finals.size() < 2) return;
    std::string text = Name() + ": has " + std::to_string(finals.size()) + " final grants:";
    for (const auto& [partition, offset] : finals)
      text += " partition " + std::to_string(partition) + ", offset " + std::to_string(offset) + ";";
    text.pop_back();
    problems.Add(std::move(text));
  }
};

Status ResultBalance::Compare(AuditProblems& problems, const FindOlder& older) {
  std::optional<Group> group;
  Status s = entries_.ForEach([&](const Entry& entry) -> Status {
    if (!group || !group->first.SameResult(entry)) {
      if (group) group->Close(problems);
      group.emplace(Group{.first = entry, .finals = {}, .unposted = {}});
      if (older) {
        const auto before = older(ProjectId(entry.project), ResultId(entry.result));
        if (!before.ok()) return before.status();
        group->TakeOlder(*before, problems);
      }
    }
    group->Take(entry, problems);
    return Status::Ok();
  });
  if (s.ok() && group) group->Close(problems);
  return s;
}

}  // namespace cobblestone::audit

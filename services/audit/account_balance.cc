#include "services/audit/account_balance.h"

#include <optional>

namespace cobblestone::audit {
namespace {

std::string NameOf(AuditedAccount kind) {
  switch (kind) {
    case AuditedAccount::kHost: return "host";
    case AuditedAccount::kUser: return "user";
    case AuditedAccount::kExpired: return "expired credit of user";
    case AuditedAccount::kProvisional: return "provisional credit of user";
    case AuditedAccount::kTeam: return "team";
  }
  return "";
}

}  // namespace

// The entries of one account.
struct AccountBalance::Group {
  Entry account;
  std::optional<AuditedSum> state;
  AuditedSum records;
  AuditedSum held;

  void Take(const Entry& entry) {
    switch (entry.side) {
      case Side::kState: state = AuditedSum{.micro = entry.micro, .grants = entry.grants}; return;
      case Side::kRecords:
        records.micro += entry.micro;
        records.grants += entry.grants;
        return;
      case Side::kHeld:
        held.micro += entry.micro;
        held.grants += entry.grants;
        return;
    }
  }
  void Compare(AuditProblems& problems) const {
    const AuditedSum expected{.micro = records.micro - held.micro, .grants = records.grants - held.grants};
    const std::string name = NameOf(account.kind) + " " + std::to_string(account.id) + " of project " +
                             std::to_string(account.project) + ": ";
    if (!state) {
      if (expected.micro != 0 || expected.grants != 0)
        problems.Add(name + "has grants in the ledger but no total");
      return;
    }
    if (state->micro != expected.micro)
      problems.Add(name + "the total differs by " +
                   std::to_string(static_cast<long long>(state->micro - expected.micro)) +
                   " micro-credits from the grants");
    if (state->grants != expected.grants)
      problems.Add(name + "has " + std::to_string(state->grants) + " grants, but the ledger has " +
                   std::to_string(expected.grants));
  }
};

Result<std::uint64_t> AccountBalance::Compare(AuditProblems& problems, const Recorded& recorded) {
  std::uint64_t accounts = 0;
  std::optional<Group> group;
  const auto close = [&] {
    if (!group) return;
    group->Compare(problems);
    if (recorded && (group->records.micro != 0 || group->records.grants != 0))
      recorded({.partition = group->account.partition,
                .kind = group->account.kind,
                .project = group->account.project,
                .id = group->account.id},
               group->records);
    accounts += group->state ? 1 : 0;
    group.reset();
  };
  Status s = sums_.ForEach([&](const Entry& entry) {
    if (!group || group->account.account() != entry.account()) {
      close();
      group.emplace(Group{.account = entry, .state = {}, .records = {}, .held = {}});
    }
    group->Take(entry);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  close();
  return accounts;
}

}  // namespace cobblestone::audit

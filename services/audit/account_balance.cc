#include "services/audit/account_balance.h"

#include <optional>

namespace cobblestone {
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

  void Take(const Entry& entry) {
    switch (entry.side) {
      case Side::kState: state = AuditedSum{.micro = entry.micro, .grants = entry.grants}; return;
      case Side::kRecords:
        records.micro += entry.micro;
        records.grants += entry.grants;
        return;
      case Side::kHeld:
        records.micro -= entry.micro;
        records.grants -= entry.grants;
        return;
    }
  }
  void Compare(AuditProblems& problems) const {
    const std::string name = NameOf(account.kind) + " " + std::to_string(account.id) + " of project " +
                             std::to_string(account.project) + ": ";
    if (!state) {
      if (records.micro != 0 || records.grants != 0)
        problems.Add(name + "has grants in the ledger but no total");
      return;
    }
    if (state->micro != records.micro)
      problems.Add(name + "the total differs by " +
                   std::to_string(static_cast<long long>(state->micro - records.micro)) +
                   " micro-credits from the grants");
    if (state->grants != records.grants)
      problems.Add(name + "has " + std::to_string(state->grants) + " grants, but the ledger has " +
                   std::to_string(records.grants));
  }
};

Result<std::uint64_t> AccountBalance::Compare(AuditProblems& problems) {
  std::uint64_t accounts = 0;
  std::optional<Group> group;
  const auto close = [&] {
    if (!group) return;
    group->Compare(problems);
    accounts += group->state ? 1 : 0;
    group.reset();
  };
  Status s = sums_.ForEach([&](const Entry& entry) {
    if (!group || group->account.account() != entry.account()) {
      close();
      group.emplace(Group{.account = entry, .state = {}, .records = {}});
    }
    group->Take(entry);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  close();
  return accounts;
}

}  // namespace cobblestone

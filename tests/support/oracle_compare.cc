// The outcome of a pipeline from its records, and its differences from the oracle's.
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "schemas/events.pb.h"
#include "schemas/internal.pb.h"
#include "tests/support/oracle.h"

namespace cobblestone::testing {

// ---- Outcome of a pipeline -----------------------------------------------------------------------------

bool AddLedgerRecord(std::string_view bytes, Outcome* outcome) {
  v1::Grant grant;
  if (!grant.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  const ResultKey key{grant.project(), grant.result()};
  const bool final = grant.kind() == v1::GRANT_KIND_FINAL;
  const bool partial = grant.kind() == v1::GRANT_KIND_PARTIAL;
  if (grant.has_undone()) {
    CorrectionOutcome& sum = outcome->corrections[{key, grant.user()}];
    sum.micro += grant.credit_micro();
    ++sum.count;
    return true;
  }
  if (!final && !partial && grant.kind() != v1::GRANT_KIND_REVERSAL) return true;
  if (!final || grant.settles_micro() != 0) {
    PartialOutcome& sum = outcome->partials[{key, grant.user()}];
    if (partial) sum.paid += grant.credit_micro();
    // After the decision a partial grant is final at once.
    if (partial && (grant.flags() & 1) != 0) sum.settled += grant.credit_micro();
    if (grant.kind() == v1::GRANT_KIND_REVERSAL) sum.reversed -= grant.credit_micro();
    sum.settled += grant.settles_micro();
  }
  if (!final) return true;
  GrantOutcome granted;
  granted.workunit = grant.claim().workunit();
  granted.host = grant.host();
  granted.user = grant.user();
  granted.app = grant.app();
  granted.micro = grant.credit_micro();
  if (!outcome->grants.emplace(key, granted).second) outcome->granted_twice.push_back(key);
  return true;
}

std::string DescribeLedgerRecord(std::string_view bytes) {
  v1::Grant grant;
  if (!grant.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return "not a grant";
  return grant.ShortDebugString();
}

std::pair<std::uint64_t, std::string> DescribeRefusal(std::string_view bytes) {
  v1::Refused refused;
  v1::Envelope event;
  if (!refused.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !event.ParseFromString(refused.original()))
    return {0, "not a refused event"};
  return {event.id(), "refused, " + v1::RefusalReason_Name(refused.reason()) + ", " + refused.detail() +
                          ": " + event.ShortDebugString()};
}

bool AddRefusedRecord(std::string_view bytes, Outcome* outcome) {
  v1::Refused refused;
  if (!refused.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  ++outcome->refusals[v1::RefusalReason_Name(refused.reason())];
  return true;
}

// ---- Comparing -----------------------------------------------------------------------------------------

namespace {

class Report {
 public:
  explicit Report(std::size_t limit) : limit_(limit) {}

  void AddLine(const std::string& line) {
    if (count_++ < limit_) text_ += line + "\n";
  }
  [[nodiscard]] std::string Text() const {
    if (count_ <= limit_) return text_;
    return text_ + "and " + std::to_string(count_ - limit_) + " more\n";
  }

 private:
  std::size_t limit_;
  std::size_t count_ = 0;
  std::string text_;
};

std::string Big(BigMicro v) {
  if (v == 0) return "0";
  std::string digits;
  const bool negative = v < 0;
  for (; v != 0; v /= 10) digits.push_back(static_cast<char>('0' + std::abs(static_cast<int>(v % 10))));
  if (negative) digits.push_back('-');
  return {digits.rbegin(), digits.rend()};
}

std::string Name(const ResultKey& key) {
  return "project " + std::to_string(key.project) + " result " + std::to_string(key.result);
}

std::string Name(const AccountKey& key) {
  static constexpr const char* kKinds[] = {"host", "user", "team"};
  return "project " + std::to_string(key.project) + " " + kKinds[static_cast<int>(key.kind)] + " " +
         std::to_string(key.account);
}

std::string Name(const std::pair<ResultKey, std::uint64_t>& key) {
  return Name(key.first) + " to user " + std::to_string(key.second);
}

std::string Describe(const PartialOutcome& p) {
  return std::to_string(p.paid) + " micro-credits paid, " + std::to_string(p.settled) + " settled, " +
         std::to_string(p.reversed) + " reversed";
}

std::string Describe(const CorrectionOutcome& c) {
  return std::to_string(c.micro) + " micro-credits in " + std::to_string(c.count) + " corrections";
}

std::string Describe(const GrantOutcome& g) {
  return std::to_string(g.micro) + " micro-credits, workunit " + std::to_string(g.workunit) + ", host " +
         std::to_string(g.host) + ", user " + std::to_string(g.user) + ", app " + std::to_string(g.app);
}

std::string Name(const EstimateKey& key) {
  return "project " + std::to_string(key.project) + " host " + std::to_string(key.host) + " of user " +
         std::to_string(key.user);
}

std::string Describe(const EstimateOutcome& e) {
  std::string text = Big(e.micro) + " micro-credits, " + Big(e.run_time) + " us, " + std::to_string(e.jobs) +
                     " jobs, of them failed " + std::to_string(e.failed_jobs) + " in " +
                     Big(e.failed_run_time) + " us, granted " + Big(e.granted) + " (";
  for (const auto& [day, sum] : e.days)
    text += " day " + std::to_string(day) + ": " + Big(sum.micro) + " in " + Big(sum.run_time) + " us, " +
            std::to_string(sum.jobs) + " jobs, failed " + std::to_string(sum.failed_jobs) + " in " +
            Big(sum.failed_run_time) + " us";
  return text + " )";
}

std::string Describe(const AccountOutcome& a) {
  std::string text = Big(a.micro) + " micro-credits, " + Big(a.provisional) + " provisional, " +
                     Big(a.shown) + " shown, in " + std::to_string(a.grants) + " grants (";
  for (const auto& [app, sum] : a.apps) {
    text += " app " + std::to_string(app) + ": " + Big(sum.first) + " in " + std::to_string(sum.second);
  }
  for (const auto& [day, sum] : a.days)
    text += " day " + std::to_string(day) + ": " + Big(sum.first) + " in " + std::to_string(sum.second);
  return text + " )";
}

// Amounts that the oracle left open are taken from the ledger, and so are the accounts' sums.
Outcome WithAmountsOf(const Outcome& actual, Outcome expected) {
  for (auto& [key, grant] : expected.grants) {
    const auto granted = actual.grants.find(key);
    if (grant.priced || granted == actual.grants.end()) continue;
    grant.micro = granted->second.micro;
    for (const AccountKey& account : {AccountKey{key.project, OracleAccountKind::kHost, grant.to_host},
                                      AccountKey{key.project, OracleAccountKind::kUser, grant.to_user},
                                      AccountKey{key.project, OracleAccountKind::kTeam, grant.to_team}}) {
      if (account.account == 0) continue;
      expected.accounts[account].micro += grant.micro;
      expected.accounts[account].shown += grant.micro;
      expected.accounts[account].apps[grant.app].first += grant.micro;
      expected.accounts[account].days[grant.day].first += grant.micro;
    }
  }
  for (auto& [key, account] : expected.accounts) {
    if (account.days.empty()) continue;
    const std::int64_t oldest = account.days.rbegin()->first - kDaysKept + 1;
    account.days.erase(account.days.begin(), account.days.lower_bound(oldest));
  }
  return expected;
}

template <class Map, class Same>
void Compare(const char* what, const Map& expected, const Map& actual, Report* report, Same same) {
  for (const auto& [key, value] : expected) {
    const auto it = actual.find(key);
    if (it == actual.end()) {
      report->AddLine(std::string(what) + " missing: " + Name(key) + ": " + Describe(value));
    } else if (!same(value, it->second)) {
      report->AddLine(std::string(what) + " differs: " + Name(key) + "\n  expected " + Describe(value) +
                      "\n  actual   " + Describe(it->second));
    }
  }
  for (const auto& [key, value] : actual) {
    if (expected.count(key) == 0) {
      report->AddLine(std::string(what) + " unexpected: " + Name(key) + ": " + Describe(value));
    }
  }
}

void CompareGrants(const Outcome& oracle, const Outcome& actual, Report* report) {
  const Outcome expected = WithAmountsOf(actual, oracle);
  for (const ResultKey& key : actual.granted_twice) report->AddLine("granted twice: " + Name(key));
  Compare("grant", expected.grants, actual.grants, report, [](const GrantOutcome& a, const GrantOutcome& b) {
    return std::tie(a.workunit, a.host, a.user, a.app, a.micro) ==
           std::tie(b.workunit, b.host, b.user, b.app, b.micro);
  });
  Compare("partial grants", expected.partials, actual.partials, report,
          [](const PartialOutcome& a, const PartialOutcome& b) { return a == b; });
  Compare("corrections", expected.corrections, actual.corrections, report,
          [](const CorrectionOutcome& a, const CorrectionOutcome& b) { return a == b; });
  Compare("account", expected.accounts, actual.accounts, report,
          [](const AccountOutcome& a, const AccountOutcome& b) { return a == b; });
}

}  // namespace

std::string GrantDifferences(const Outcome& expected, const Outcome& actual, std::size_t limit) {
  Report report(limit);
  CompareGrants(expected, actual, &report);
  const auto same = [](EstimateOutcome a, const EstimateOutcome& b) {
    a.granted = b.granted;
    return a == b;
  };
  Compare("estimate", expected.estimates, actual.estimates, &report, same);
  return report.Text();
}

std::string Differences(const Outcome& expected, const Outcome& actual, std::size_t limit) {
  Report report(limit);
  CompareGrants(expected, actual, &report);
  Compare("estimate", expected.estimates, actual.estimates, &report,
          [](const EstimateOutcome& a, const EstimateOutcome& b) { return a == b; });
  std::set<std::string> reasons;
  for (const auto& [reason, count] : expected.refusals) reasons.insert(reason);
  for (const auto& [reason, count] : actual.refusals) reasons.insert(reason);
  for (const std::string& reason : reasons) {
    const auto count = [&reason](const Outcome& o) {
      const auto it = o.refusals.find(reason);
      return it == o.refusals.end() ? 0 : it->second;
    };
    if (count(expected) == count(actual)) continue;
    report.AddLine("refused as " + reason + ": expected " + std::to_string(count(expected)) + ", actual " +
                   std::to_string(count(actual)));
  }
  return report.Text();
}

}  // namespace cobblestone::testing

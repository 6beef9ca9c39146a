#include "common/wire/events/event_check.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "common/base/agree.h"
#include "common/credit/accounts/account.h"
#include "common/credit/policies/policy.h"
#include "common/credit/trickles/partial_settlement.h"
#include "common/wire/events/constant_fields.h"
#include "common/wire/events/text_limits.h"

namespace cobblestone::wire {
namespace {

using Outcome = credit::Outcome;
using Check = std::optional<Refusal>;

std::string Describe(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string text = std::to_string(v);
  return text;
}

Refusal Refuse(RefusalReason reason, std::string_view field, std::string_view found) {
  return {reason, std::string(field) + ": " + std::string(found)};
}
Refusal Missing(std::string_view field) {
  return Refuse(RefusalReason::kMissingField, field, "is missing or 0");
}
Refusal NotFinite(std::string_view field, double v) {
  return Refuse(RefusalReason::kNotFinite, field, Describe(v));
}
Refusal Negative(std::string_view field, double v) {
  return Refuse(RefusalReason::kNegative, field, Describe(v));
}
Refusal OutOfRange(std::string_view field, std::string_view found) {
  return Refuse(RefusalReason::kOutOfRange, field, found);
}

struct Number {
  const char* name;
  double value;
};
struct IdField {
  const char* name;
  std::uint64_t value;
};

Check AllThere(std::initializer_list<IdField> ids) {
  for (const IdField& id : ids) {
    if (id.value == 0) return Missing(id.name);
  }
  return std::nullopt;
}

// Finite numbers of any sign and size.
Check AllFinite(std::initializer_list<Number> numbers) {
  for (const Number& n : numbers) {
    if (!std::isfinite(n.value)) return NotFinite(n.name, n.value);
  }
  return std::nullopt;
}

Check AtLeastZero(std::initializer_list<Number> numbers) {
  for (const Number& n : numbers) {
    if (!std::isfinite(n.value)) return NotFinite(n.name, n.value);
    if (n.value < 0) return Negative(n.name, n.value);
  }
  return std::nullopt;
}

Check AtLeastZero(const char* name, const std::optional<double>& v) {
  return v ? AtLeastZero({{name, *v}}) : std::nullopt;
}

// Points in time, UNIX s; 0: unknown.
Check Times(std::initializer_list<Number> times) {
  for (const Number& t : times) {
    if (!std::isfinite(t.value)) return NotFinite(t.name, t.value);
    if (t.value < 0) return Negative(t.name, t.value);
    if (t.value >= kMaxTime) return OutOfRange(t.name, Describe(t.value) + " is after the year 9999");
  }
  return std::nullopt;
}

// Returns the first failed check. A check is evaluated only if the checks before it passed.
#define COBBLESTONE_TRY(check) \
  if (Check failed = (check)) return failed

Check Head(const EventHead& head) {
  COBBLESTONE_TRY(AllThere({{"id", head.id}, {"project", head.project.value}}));
  return Times({{"time", head.time}});
}

Check KnownVersion(AppVersionId version) {
  // Old schedulers wrote -1 for an unspecified kind of anonymous platform.
  if (version.value >= 0 || (version.value <= -2 && version.value >= -6)) return std::nullopt;
  return Refuse(
      RefusalReason::kUnknownAppVersion, "app_version",
      std::to_string(version.value) + " is neither an app version nor in -2 to -6 (anonymous platform)");
}

Check Devices(const credit::CompletionFacts& f) {
  for (const credit::RatedDevices& kind : f.rated)
    COBBLESTONE_TRY(AtLeastZero({{"usage.peak_flops", kind.peak_flops}}));
  return AtLeastZero(
      {{"usage.count", f.devices}, {"usage.count", f.cpus_used}, {"usage.count", f.gpus_used}});
}

Check DeviceList(const std::vector<DeviceUsage>& usage) {
  for (const DeviceUsage& device : usage) {
    COBBLESTONE_TRY(AtLeastZero({{"usage.count", device.count}, {"usage.peak_flops", device.peak_flops}}));
  }
  return std::nullopt;
}

Check Body(const credit::CompletionFacts& f) {
  if (f.outcome == Outcome::kUnknown) return Missing("outcome");
  if (f.outcome > Outcome::kTimeout) return OutOfRange("outcome", "unknown number in this schema");
  COBBLESTONE_TRY(AllThere({{"host", f.host.value}, {"app", f.app.value}}));
  if (!f.result) {
    // Without a result the event is identified by (host, app version) only: accepted for outcomes that only
    // count against reliability, never for one that could be granted.
    if (f.outcome != Outcome::kClientError && f.outcome != Outcome::kTimeout) return Missing("result");
  } else if (!f.workunit) {
    return Missing("workunit");
  }
  COBBLESTONE_TRY(KnownVersion(f.version));
  COBBLESTONE_TRY(
      AllFinite({{"elapsed_time", f.elapsed_time}, {"cpu_time", f.cpu_time}, {"peak_flops", f.peak_flops}}));
  COBBLESTONE_TRY(Times({{"sent_time", f.sent_time}, {"received_time", f.received_time}}));
  COBBLESTONE_TRY(AtLeastZero({{"delay_bound", f.delay_bound}}));
  COBBLESTONE_TRY(AtLeastZero("reported_flops", f.reported_flops));
  COBBLESTONE_TRY(AtLeastZero("reported_credit", f.reported_credit));
  return Devices(f);
}

Check Body(const Completion& completion) {
  COBBLESTONE_TRY(Body(completion.facts));
  return DeviceList(completion.usage);
}

Check Body(const credit::ValidationFacts& f) {
  if (f.state == credit::ValidateState::kUnknown) return Missing("state");
  if (f.state > credit::ValidateState::kInconclusive)
    return OutOfRange("state", "unknown number in this schema");
  COBBLESTONE_TRY(AllThere({{"result", f.result.value},
                            {"host", f.host.value},
                            {"workunit", f.workunit.value},
                            {"app", f.app.value}}));
  // A valid result with no claims to wait for would never be granted.
  if (f.state == credit::ValidateState::kValid && !f.late && f.claims == 0) return Missing("claims");
  if (f.claims > kMaxClaims) return OutOfRange("claims", std::to_string(f.claims));
  COBBLESTONE_TRY(AtLeastZero({{"fpops_est", f.fpops_est}, {"fpops_bound", f.fpops_bound}}));
  return AtLeastZero("assigned_credit", f.assigned_credit);
}

Check Body(const Dispatch& dispatch) {
  const credit::CompletionFacts& f = dispatch.facts;
  COBBLESTONE_TRY(AllThere({{"result", f.result.value},
                            {"host", f.host.value},
                            {"workunit", f.workunit.value},
                            {"app", f.app.value}}));
  COBBLESTONE_TRY(KnownVersion(f.version));
  COBBLESTONE_TRY(AllFinite({{"peak_flops", f.peak_flops}}));
  COBBLESTONE_TRY(Times({{"sent_time", f.sent_time}}));
  COBBLESTONE_TRY(AtLeastZero({{"delay_bound", f.delay_bound}}));
  COBBLESTONE_TRY(AtLeastZero({{"fpops_est", dispatch.fpops_est}, {"fpops_bound", dispatch.fpops_bound}}));
  COBBLESTONE_TRY(Devices(f));
  return DeviceList(dispatch.usage);
}

Check Body(const Trickle& trickle) {
  COBBLESTONE_TRY(AllThere({{"host", trickle.host.value}}));
  if (!trickle.result && trickle.result_name.empty()) return Missing("result or result_name");
  COBBLESTONE_TRY(AtLeastZero("elapsed_time", trickle.elapsed_time));
  COBBLESTONE_TRY(AtLeastZero("cpu_time", trickle.cpu_time));
  COBBLESTONE_TRY(AtLeastZero("fraction_done", trickle.fraction_done));
  if (trickle.fraction_done && *trickle.fraction_done > 1) {
    return OutOfRange("fraction_done", Describe(*trickle.fraction_done));
  }
  COBBLESTONE_TRY(AtLeastZero("steps", trickle.steps));
  return AtLeastZero("runtime_increment", trickle.runtime_increment);
}

Check Body(const HostMember& host) {
  COBBLESTONE_TRY(AllThere({{"host", host.host.value}}));
  COBBLESTONE_TRY(AllFinite({{"whetstone", host.whetstone}, {"dhrystone", host.dhrystone}}));
  return Times({{"create_time", host.create_time}});
}

Check Body(const UserMember& user) {
  COBBLESTONE_TRY(AllThere({{"user", user.user.value}}));
  return Times({{"create_time", user.create_time}});
}

Check Body(const TeamMember& team) {
  COBBLESTONE_TRY(AllThere({{"team", team.team.value}}));
  return Times({{"create_time", team.create_time}});
}

Check Body(const HostMerge& merge) {
  COBBLESTONE_TRY(AllThere({{"host", merge.host.value}, {"into", merge.into.value}}));
  if (merge.host == merge.into) return OutOfRange("into", "the host itself");
  return std::nullopt;
}

Check Body(const HostAsked& asked) {
  return AllThere({{"host", asked.host.value}, {"user", asked.user.value}});
}

Check Body(const HeldResult& held) {
  return AllThere({{"host", held.host.value}, {"result", held.result.value}, {"holder", held.holder.value}});
}

Check Body(const HandedEvent& handed) {
  COBBLESTONE_TRY(AllThere({{"host", handed.host.value}, {"named", handed.named.value}}));
  if (handed.event.empty()) return Missing("event");
  return std::nullopt;
}

Check Body(const DecidedResult& decided) {
  return AllThere(
      {{"host", decided.host.value}, {"result", decided.result.value}, {"named", decided.named.value}});
}

Check Body(const AccountFacts& facts) {
  if (facts.kind == AccountKind::kUnknown) return Missing("kind");
  if (facts.kind > AccountKind::kTeam) return OutOfRange("kind", "unknown number in this schema");
  COBBLESTONE_TRY(AllThere({{"account", facts.account}}));
  if (!facts.badges && !facts.credit && !facts.consent && !facts.tombstone)
    return Missing("badges, credit, consent or tombstone");
  if (facts.kind == AccountKind::kHost && (facts.badges || facts.credit))
    return OutOfRange("kind", "a host cannot have badges or credit by app");
  if (facts.kind != AccountKind::kUser && facts.consent)
    return OutOfRange("kind", "only users can have consent");
  if (facts.kind == AccountKind::kTeam && facts.tombstone)
    return OutOfRange("kind", "a team cannot have a tombstone");
  return std::nullopt;
}

Check Body(const ProjectProfile&) { return std::nullopt; }

Check Constants(const ConstantChanges& constants) {
  for (const ConstantField& field : kConstantFields) {
    COBBLESTONE_TRY(AtLeastZero(field.name, constants.*field.change));
  }
  if (const auto& r = constants.replication; r && *r != "average" && *r != "min" && *r != "median") {
    return OutOfRange("replication", *r + " is not one of average, min, median");
  }
  if (const auto& b = constants.benchmark; b && *b != "whetstone" && *b != "mean") {
    return OutOfRange("benchmark", *b + " is not one of whetstone, mean");
  }
  return std::nullopt;
}

Check Trickles(const AppChange& app) {
  for (const TrickleRuleChange& rule : app.trickles) {
    if (!credit::TrickleKindByName(rule.kind))
      return OutOfRange("trickles.kind", rule.kind + " is not one of elapsed, steps, fraction, runtime, day");
    if (!rule.measure.empty() && !credit::TrickleMeasureByName(rule.measure))
      return OutOfRange("trickles.measure", rule.measure + " is not a measure of trickles");
    for (const TrickleRuleChange& other : app.trickles)
      if (&other != &rule && other.variety == rule.variety)
        return OutOfRange("trickles.variety", "two rules for " + rule.variety);
  }
  if (!app.trickle_settlement.empty() && !credit::TrickleSettlementByName(app.trickle_settlement))
    return OutOfRange("trickle_settlement", app.trickle_settlement + " is not one of keep, settle, cap");
  return std::nullopt;
}

Check Body(const AppChange& app) {
  COBBLESTONE_TRY(AllThere({{"app", app.app.value}}));
  COBBLESTONE_TRY(Trickles(app));
  if (!app.policy.empty() && !credit::PolicyKindByName(app.policy)) {
    return Refuse(RefusalReason::kUnknownPolicy, "policy", app.policy);
  }
  if (app.policy.empty() && app.constants) return Missing("policy");
  if (app.constants) COBBLESTONE_TRY(Constants(*app.constants));
  COBBLESTONE_TRY(AtLeastZero("min_avg_pfc", app.min_avg_pfc));
  return AtLeastZero({{"delay_bound", app.delay_bound}, {"result_window", app.result_window}});
}

Check Body(const AppVersionChange& version) {
  COBBLESTONE_TRY(AllThere({{"app_version", version.row.id}}));
  if (!version.row.deleted) COBBLESTONE_TRY(AllThere({{"app", version.row.app.value}}));
  if (version.row.resource > credit::Resource::kAppleGpu) {
    return OutOfRange("resource", "unknown number in this schema");
  }
  return std::nullopt;
}

Check Body(const SettingsChange& settings) {
  COBBLESTONE_TRY(AtLeastZero("max_granted_credit", settings.max_granted_credit));
  COBBLESTONE_TRY(AtLeastZero("daily_result_quota", settings.daily_result_quota));
  COBBLESTONE_TRY(AtLeastZero("scale_period", settings.scale_period));
  if (settings.scale_period && *settings.scale_period <= 0) {
    return OutOfRange("scale_period", Describe(*settings.scale_period));
  }
  COBBLESTONE_TRY(AtLeastZero("estimates.cpus", settings.estimates.cpus));
  COBBLESTONE_TRY(AtLeastZero("estimates.cpu_flops", settings.estimates.cpu_flops));
  COBBLESTONE_TRY(AtLeastZero("estimates.gpus", settings.estimates.gpus));
  COBBLESTONE_TRY(AtLeastZero("estimates.gpu_flops", settings.estimates.gpu_flops));
  return AtLeastZero("estimates.saved_time", settings.estimates.saved_time);
}

Check Body(const ValidatorRestart&) { return std::nullopt; }
Check Body(const Tick& tick) { return Times({{"tick.time", tick.time}}); }
Check Body(const Barrier&) { return std::nullopt; }
Check Body(const Watermark&) {
  return Refusal{RefusalReason::kNotSupported, "only the coordinator may create watermarks"};
}

Check Body(const PlanClassFactor& factor) {
  COBBLESTONE_TRY(AtLeastZero({{"factor", factor.factor}}));
  if (factor.factor == 0) return Missing("factor");
  return std::nullopt;
}

template <class Enum>
Check OneOf(const char* field, Enum value, Enum last) {
  if (value == Enum{}) return Missing(field);
  if (value > last) return OutOfRange(field, "unknown number in this schema");
  return std::nullopt;
}

// Days of the years 1970 to 9999.
bool IsDay(std::int64_t day) {
  return day >= 0 && static_cast<double>(day) < kMaxTime / credit::kSecondsPerDay;
}

constexpr double kLeastPoints = 1e-9;
constexpr double kMostPoints = 1e9;

Check Body(const FeedProject& project) {
  if (project.name.empty()) return Missing("name");
  COBBLESTONE_TRY(OneOf("mode", project.mode, FeedMode::kDirect));
  COBBLESTONE_TRY(AtLeastZero(
      {{"points_per_cobblestone", project.points_per_cobblestone}, {"erase_after", project.erase_after}}));
  // 128 bits hold every sum of credit that was divided by it.
  const double points = project.points_per_cobblestone;
  if (points != 0 && (points < kLeastPoints || points > kMostPoints))
    return OutOfRange("points_per_cobblestone", Describe(points));
  if (!IsDay(project.points_since))
    return OutOfRange("points_since",
                      std::to_string(project.points_since) + " is no UNIX day up to the year 9999");
  if (project.shared_accounts.size() > kMostSharedAccounts)
    return OutOfRange("shared_accounts", std::to_string(project.shared_accounts.size()) +
                                             " users, where at most " + std::to_string(kMostSharedAccounts) +
                                             " may be");
  for (const std::uint64_t user : project.shared_accounts)
    if (user == 0) return Missing("shared_accounts.users");
  return std::nullopt;
}

Check Body(const FeedEdition& edition) {
  COBBLESTONE_TRY(AllThere({{"edition", edition.edition}}));
  COBBLESTONE_TRY(OneOf("state", edition.state, EditionState::kHeld));
  COBBLESTONE_TRY(Times({{"published_time", edition.published_time}}));
  if (edition.state == EditionState::kHeld && edition.reason.empty()) return Missing("reason");
  for (const FeedSum& sum : edition.sums) {
    COBBLESTONE_TRY(OneOf("sums.kind", sum.kind, AccountKind::kTeam));
    // More than 2^64 accounts with 2^63 micro-credits each cannot be, and differences of sums stay in 128 bits.
    for (const credit::MicroTotal micro : {sum.total_micro, sum.not_shown_micro})
      if (micro < 0 || micro >> 126 != 0)
        return OutOfRange("sums", "a sum of credit is negative or too large");
  }
  return std::nullopt;
}

Check Body(const FeedVersions& report) {
  COBBLESTONE_TRY(Times({{"as_of", report.as_of}}));
  if (report.as_of == 0) return Missing("as_of");
  for (const FeedVersion& version : report.versions) {
    COBBLESTONE_TRY(AllThere({{"versions.app", version.app}, {"versions.app_version", version.app_version}}));
    COBBLESTONE_TRY(OneOf("versions.resource", version.resource, credit::Resource::kAppleGpu));
    COBBLESTONE_TRY(AtLeastZero({{"versions.samples", version.samples},
                                 {"versions.scale", version.scale},
                                 {"versions.recent_credit", version.recent_credit}}));
    COBBLESTONE_TRY(Times({{"versions.recent_time", version.recent_time}}));
  }
  return std::nullopt;
}

Check Body(const FeedHealth& health) {
  COBBLESTONE_TRY(OneOf("condition", health.condition, FeedCondition::kUnreachable));
  if (health.condition != FeedCondition::kFine && health.reason.empty()) return Missing("reason");
  return std::nullopt;
}

Check Corrections(const std::vector<credit::CorrectedDay>& corrections) {
  if (corrections.size() > credit::kCorrectedDays) return OutOfRange("corrections", "too many");
  for (const credit::CorrectedDay& one : corrections)
    if (one.came == 0 || !IsDay(one.came) || !IsDay(one.about))
      return OutOfRange("corrections", "a day that is none");
  const auto ordered = [](const credit::CorrectedDay& a, const credit::CorrectedDay& b) {
    return std::tie(a.came, a.about) >= std::tie(b.came, b.about);
  };
  if (std::adjacent_find(corrections.begin(), corrections.end(), ordered) != corrections.end())
    return OutOfRange("corrections", "not ascending by (day_came, day_about)");
  return std::nullopt;
}

Check Body(const FeedAccount& account) {
  COBBLESTONE_TRY(OneOf("kind", account.kind, AccountKind::kTeam));
  COBBLESTONE_TRY(AllThere({{"account", account.account}}));
  // Of any column of a database, and what the answers of the gateway can name.
  if (account.account > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return OutOfRange("account", std::to_string(account.account) + " exceeds 63 bits");
  if (account.total_micro < 0) return Negative("total_micro", static_cast<double>(account.total_micro));
  COBBLESTONE_TRY(AllFinite({{"recent", account.recent}}));
  // Sums over projects stay numbers.
  bool fits = true;
  credit::RoundToMicro(account.recent, &fits);
  if (!fits) return OutOfRange("recent", Describe(account.recent) + " exceeds 64 bits of micro-credits");
  COBBLESTONE_TRY(Times({{"recent_time", account.recent_time}, {"create_time", account.create_time}}));
  if (account.erased && !account.gone) return OutOfRange("erased", "without gone");
  COBBLESTONE_TRY(Corrections(account.corrections));
  if (!account.gone) return std::nullopt;
  const FeedAccount absent{.kind = account.kind,
                           .account = account.account,
                           .edition = account.edition,
                           .gone = true,
                           .erased = account.erased};
  return account == absent ? std::nullopt : Check(OutOfRange("gone", "with other fields"));
}

Check Body(const OwnershipProof& proof) {
  if (proof.message.empty()) return Missing("message");
  if (proof.signature.empty()) return Missing("signature");
  return std::nullopt;
}

Check Body(const IdentityDecision& decision) {
  COBBLESTONE_TRY(OneOf("kind", decision.kind, IdentityDecisionKind::kJoin));
  COBBLESTONE_TRY(AllThere({{"user", decision.user}}));
  COBBLESTONE_TRY(
      Times({{"create_time", decision.create_time}, {"other_create_time", decision.other_create_time}}));
  if (decision.reason.empty()) return Missing("reason");
  if (decision.kind == IdentityDecisionKind::kCut &&
      (decision.cross_project_id.size() != 32 ||
       decision.cross_project_id.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos))
    return OutOfRange("cross_project_id", "is not 32 hexadecimal digits");
  if (decision.kind == IdentityDecisionKind::kJoin)
    return AllThere({{"other_project", decision.other_project}, {"other_user", decision.other_user}});
  return std::nullopt;
}

Check Body(const OpeningTotal& opening) {
  if (opening.kind == AccountKind::kUnknown) return Missing("kind");
  if (opening.kind > AccountKind::kTeam) return OutOfRange("kind", "unknown number in this schema");
  COBBLESTONE_TRY(AllThere({{"account", opening.account}}));
  if (opening.total_micro && *opening.total_micro < 0) {
    return Negative("total_micro", static_cast<double>(*opening.total_micro));
  }
  COBBLESTONE_TRY(AtLeastZero("total", opening.total));
  bool fits = true;
  if (opening.total) credit::RoundToMicro(*opening.total, &fits);
  if (!fits) return OutOfRange("total", Describe(*opening.total) + " exceeds 64 bits of micro-credits");
  if (opening.figures) {
    const credit::MicroCredit stated = opening.total_micro ? *opening.total_micro
                                       : opening.total     ? credit::RoundToMicro(*opening.total)
                                                           : 0;
    const credit::MicroCredit shown = BalanceOf(opening.figures->total_credit);
    if (!FiguresAgree(static_cast<double>(stated), static_cast<double>(shown)))
      return OutOfRange("figures.total_credit",
                        Describe(opening.figures->total_credit) + " differs from the total");
  }
  // A recent average may be negative: BOINC computes a negative one if the clock was before the start of the
  // work.
  COBBLESTONE_TRY(AllFinite({{"rac", opening.rac}}));
  return Times({{"rac_time", opening.rac_time}});
}

Check Body(const OpeningHostVersion& opening) {
  COBBLESTONE_TRY(AllThere({{"host", opening.host.value}}));
  if (opening.version.value == 0) return Missing("app_version");
  COBBLESTONE_TRY(KnownVersion(opening.version));
  if (opening.version.anonymous()) COBBLESTONE_TRY(AllThere({{"app", opening.app.value}}));
  COBBLESTONE_TRY(AtLeastZero({{"pfc.n", opening.pfc.n},
                               {"pfc.mean", opening.pfc.mean},
                               {"et.n", opening.et.n},
                               {"et.mean", opening.et.mean},
                               {"turnaround.n", opening.turnaround.n},
                               {"turnaround.mean", opening.turnaround.mean},
                               {"consecutive_valid", opening.consecutive_valid}}));
  // Rounding may leave variances slightly below zero; S000 sets -1 jobs per day for a host that crashes.
  COBBLESTONE_TRY(AllFinite({{"et.var", opening.et.var},
                             {"et.q", opening.et.q},
                             {"turnaround.var", opening.turnaround.var},
                             {"turnaround.q", opening.turnaround.q},
                             {"max_jobs_per_day", opening.max_jobs_per_day}}));
  return AtLeastZero("error_rate", opening.error_rate);
}

Check Body(const OpeningAppVersion& opening) {
  COBBLESTONE_TRY(AllThere({{"app_version", opening.app_version}}));
  COBBLESTONE_TRY(AtLeastZero(
      {{"pfc.n", opening.pfc.n}, {"pfc.mean", opening.pfc.mean}, {"pfc_scale", opening.pfc_scale}}));
  COBBLESTONE_TRY(AllFinite({{"expavg_credit", opening.expavg_credit}}));
  return Times({{"expavg_time", opening.expavg_time}});
}

Check Body(const OpeningApp& opening) {
  COBBLESTONE_TRY(AllThere({{"app", opening.app.value}}));
  return AtLeastZero("min_avg_pfc", opening.min_avg_pfc);
}

Check EntryOf(ResultId result, const std::string& reason, const std::optional<LedgerEntry>& entry) {
  COBBLESTONE_TRY(AllThere({{"result", result.value}}));
  if (reason.empty()) return Missing("reason");
  if (!entry) return Missing("entry");
  COBBLESTONE_TRY(AllThere({{"entry.host", entry->host.value}, {"entry.app", entry->app.value}}));
  COBBLESTONE_TRY(AllFinite({{"entry.recent", entry->recent}}));
  return Times({{"entry.recent_time", entry->recent_time}});
}

Check Body(const Reversal& reversal) { return EntryOf(reversal.result, reversal.reason, reversal.entry); }

Check Body(const JobReversal& reversal) {
  COBBLESTONE_TRY(AllThere({{"host", reversal.host.value}}));
  COBBLESTONE_TRY(EntryOf(reversal.result, reversal.reason, reversal.entry));
  if (reversal.entry->host != reversal.host) return OutOfRange("entry.host", "another host");
  if (reversal.paid_micro == 0) return Missing("paid_micro");
  if (reversal.paid_micro < 0) return Negative("paid_micro", static_cast<double>(reversal.paid_micro));
  return std::nullopt;
}

Check Body(const JobRepricing& repricing) {
  COBBLESTONE_TRY(AllThere({{"host", repricing.host.value}, {"policy_version", repricing.policy_version}}));
  if (repricing.shares.empty()) return Missing("shares");
  for (const RepricedShare& share : repricing.shares) {
    COBBLESTONE_TRY(EntryOf(repricing.result, repricing.reason, share.entry));
    if (share.entry->host != repricing.host) return OutOfRange("entry.host", "another host");
    for (const auto& [field, micro] : {std::pair{"paid_micro", share.paid_micro},
                                       {"taken_micro", share.taken_micro},
                                       {"repriced_paid_micro", share.repriced_paid_micro},
                                       {"repriced_taken_micro", share.repriced_taken_micro}})
      if (micro < 0) return Negative(field, static_cast<double>(micro));
    if (share.taken_micro > share.paid_micro) return OutOfRange("taken_micro", "more than the paid amount");
    if (share.repriced_taken_micro > share.repriced_paid_micro)
      return OutOfRange("repriced_taken_micro", "more than the paid amount");
  }
  return std::nullopt;
}

Check Body(const Repricing& repricing) {
  COBBLESTONE_TRY(EntryOf(repricing.result, repricing.reason, repricing.entry));
  if (!repricing.judged_invalid) return std::nullopt;
  if (repricing.policy_version != 0)
    return OutOfRange("policy_version", "a result that was judged invalid is reinstated at its own price");
  const LedgerEntry& entry = *repricing.entry;
  if (entry.team.value != 0 || entry.credit_micro != 0 || entry.counted || entry.previous != 0)
    return OutOfRange("entry", "a result that was judged invalid had neither team nor credit nor correction");
  if (repricing.credit_micro < 0)
    return Negative("credit_micro", static_cast<double>(repricing.credit_micro));
  if (repricing.judged_invalid->team_time == 0) return Missing("judged_invalid.team_time");
  return Times({{"judged_invalid.team_time", repricing.judged_invalid->team_time}});
}

Check Body(const MachineHost& member) {
  return AllThere({{"machine", member.machine}, {"host", member.host.value}});
}

Check Body(const ProjectName& project) {
  if (project.name.empty() && project.url.empty()) return Missing("name or url");
  return std::nullopt;
}

Check Body(const EstimatedCredit& estimated) {
  COBBLESTONE_TRY(AllThere({{"machine", estimated.machine}, {"host", estimated.host.value}}));
  COBBLESTONE_TRY(AtLeastZero({{"cpus", estimated.cpus},
                               {"cpu_flops", estimated.cpu_flops},
                               {"gpus", estimated.gpus},
                               {"gpu_flops", estimated.gpu_flops}}));
  for (const ResourceCounter& counter : estimated.counters) {
    if (counter.resource > credit::Resource::kAppleGpu)
      return OutOfRange("resource", "unknown number in this schema");
    COBBLESTONE_TRY(AtLeastZero({{"credit", counter.credit},
                                 {"run_time", counter.run_time},
                                 {"failed_run_time", counter.failed_run_time}}));
  }
  return std::nullopt;
}

Check Body(std::monostate) {
  return Refusal{RefusalReason::kNotSupported, "no event, or an event of a kind unknown to this version"};
}

#undef COBBLESTONE_TRY

}  // namespace

credit::MicroCredit BalanceOf(double total_credit) {
  return total_credit > 0 ? credit::RoundToMicro(total_credit) : 0;
}

std::optional<Refusal> CheckEvent(const HotEvent& event) {
  if (Check failed = Head(event.head)) return failed;
  return event.kind == EventKind::kCompletion ? Body(event.completion) : Body(event.validation);
}

std::optional<Refusal> CheckEvent(const Event& event) {
  EventHead head = event.head;
  if (const auto* watermark = std::get_if<Watermark>(&event.body)) return Body(*watermark);
  // A tick without a project applies to every project, because the sender may derive ticks from event times
  // without knowing projects. A barrier belongs to no project.
  const bool of_all = std::holds_alternative<Tick>(event.body) || std::holds_alternative<Barrier>(event.body);
  if (of_all && !head.project) head.project = ProjectId(1);
  if (Check failed = Head(head)) return failed;
  if (Check failed = CheckTexts(event)) return failed;
  return std::visit([](const auto& body) { return Body(body); }, event.body);
}

}  // namespace cobblestone::wire

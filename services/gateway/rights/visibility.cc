#include "services/gateway/rights/visibility.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

namespace cobblestone::gateway {

using nlohmann::json;

namespace {

// Fields of a host, grant, claim, partial grant, correction or trickle that do not identify its owner:
// figures and ids of work. No text except the catalogue's: reasons, names and other texts of a message were
// written by people.
constexpr std::string_view kWithoutOwner[] = {
    // Identity.
    "kind", "id", "project", "app", "app_name", "app_version", "host", "into", "merged", "hosts_joined",
    "result", "workunit", "canonical_result", "trickle", "event", "variety", "rank", "known", "deleted",
    "cpus", "gpus", "whetstone", "avg_turnaround", "jobs", "versions", "apps", "days", "day", "postings",
    "account", "claim", "other_claims", "paid_by_trickles", "ledger", "partition", "offset", "behind",
    // Credit.
    "total", "provisional", "shown", "opening", "grants", "rac", "rac_time", "rac_now", "rac_now_time",
    "credit", "credit_micro", "credit_before_rounding", "counted_as", "max_granted_credit", "late",
    "waits_for", "expired", "before", "after", "made_final", "made_up_for_by_future_credit",
    "recent_average_off", "counts_no_more", "counts_again", "judged_invalid", "like_result", "worth",
    "while_running", "up_to", "taken_back", "paid_before", "paid_before_micro", "worth_of_mark",
    "trickle_settlement",
    // Times.
    "time", "granted_at", "validated_at", "sent_time", "received_time",
    // Pricing.
    "validation_event", "pass", "awaited_claims", "policy", "policy_version", "rule", "measure", "epoch",
    "facts", "elapsed_time_s", "cpu_time_s", "peak_flops", "fpops_est", "fpops_bound", "reported",
    "benchmark", "raw_pfc", "sample", "version_average", "version_scale", "min_avg_pfc",
    "host_average_before", "host_scale", "host_scale_time", "consecutive_valid", "flags", "mode", "pfc",
    "claimed", "n", "mean", "variance", "q", "mark_before", "mark_after", "asked", "bounded_by", "phase",
    "flops", "bound_of_job", "outcome", "refused"};

// Fields of a user that are shown without a name: credit and rank.
constexpr std::string_view kWithoutName[] = {"kind",
                                             "project",
                                             "rank",
                                             "total",
                                             "provisional",
                                             "shown",
                                             "opening",
                                             "grants",
                                             "rac",
                                             "rac_time",
                                             "rac_now",
                                             "rac_now_time",
                                             "apps",
                                             "app",
                                             "app_name",
                                             "days",
                                             "day",
                                             "deleted",
                                             "known",
                                             "named",
                                             "hosts_shown",
                                             "waiting_grants",
                                             "expired_grants",
                                             "expired_credit"};

constexpr std::string_view kReplyWithoutOwner[] = {"host_total_credit", "host_expavg_credit", "expavg_time"};

constexpr std::string_view kClaimWithoutResult[] = {"mode", "flags", "pfc", "claimed", "reliability"};

constexpr std::string_view kOfRefused[] = {"number", "reason", "project", "append_time"};

// Keeps only the listed fields of objects, at every depth.
void KeepOnly(std::span<const std::string_view> names, json& value) {
  if (value.is_object())
    for (auto field = value.begin(); field != value.end();)
      field = std::find(names.begin(), names.end(), field.key()) == names.end() ? value.erase(field)
                                                                                : std::next(field);
  if (value.is_structured())
    for (json& inner : value) KeepOnly(names, inner);
}

// The JSON of Protocol Buffers contains 64-bit numbers as text.
bool IsNumber(const json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("-0123456789") == std::string::npos;
}

}  // namespace

Visibility::Visibility(settings::AccountsVisible accounts, bool leaders, ShownOf shown)
    : public_(accounts == settings::AccountsVisible::kPublic), leaders_(leaders), shown_(std::move(shown)) {}

bool Visibility::Owns(const Rights& viewer, ProjectId project, UserId user) {
  return viewer.read_all || (viewer.own && viewer.own->project == project && viewer.own->user == user);
}

bool Visibility::MaySee(const Rights& viewer, ProjectId project, UserId user) const {
  return Owns(viewer, project, user) || (public_ && viewer.read);
}

bool Visibility::MaySeeAll(const Rights& viewer) const { return viewer.read_all || (public_ && viewer.read); }

bool Visibility::MayName(const Rights& viewer, ProjectId project, UserId user) const {
  return Owns(viewer, project, user) || !user || shown_(project, user).name;
}

bool Visibility::MayLink(const Rights& viewer, ProjectId project, UserId user) const {
  if (Owns(viewer, project, user) || !user) return true;
  const Shown shown = shown_(project, user);
  return shown.hosts && shown.name;
}

bool Visibility::Unlink(const Rights& viewer, ProjectId project, json& row) const {
  const auto user = row.find("user");
  if (user == row.end() || !user->is_number_unsigned()) return true;
  const UserId owner(user->get<std::uint64_t>());
  if (MaySee(viewer, project, owner) && MayLink(viewer, project, owner)) return true;
  KeepOnly(kWithoutOwner, row);
  return false;
}

bool Visibility::Name(const Rights& viewer, ProjectId project, json& row) const {
  if (MayName(viewer, project, UserId(row.value("id", std::uint64_t{0})))) return true;
  KeepOnly(kWithoutName, row);
  row["hidden"] = true;
  return false;
}

void Visibility::Reply(const Rights& viewer, ProjectId project, UserId owner, json& fields) const {
  if (!MayLink(viewer, project, owner)) KeepOnly(kReplyWithoutOwner, fields);
}

void Visibility::OtherClaim(const Rights& viewer, json& claim) const {
  if (!MaySeeAll(viewer)) KeepOnly(kClaimWithoutResult, claim);
}

void Visibility::Redact(const Rights& viewer, json& refused) {
  if (viewer.read_all) return;
  json shown = refused;
  KeepOnly(kOfRefused, shown);
  shown["redacted"] = true;
  // An event's body is a field named after its kind; a text instead of a body is skipped.
  if (const auto event = refused.find("event"); event != refused.end() && event->is_object())
    for (const auto& [kind, body] : event->items()) {
      if (!body.is_object()) continue;
      shown["event"][kind] = json::object();
      for (const char* id : {"app", "app_version"})
        if (const auto found = body.find(id); found != body.end() && IsNumber(*found))
          shown["event"][kind][id] = *found;
    }
  refused = std::move(shown);
}

}  // namespace cobblestone::gateway

#include "common/wire/events/events.h"

namespace cobblestone::wire {
namespace {

// In the order of EventBody's alternatives.
constexpr EventKind kKinds[] = {
    EventKind::kNone,
    EventKind::kCompletion,
    EventKind::kValidation,
    EventKind::kDispatch,
    EventKind::kTrickle,
    EventKind::kHost,
    EventKind::kUser,
    EventKind::kTeam,
    EventKind::kHostMerge,
    EventKind::kAccountFacts,
    EventKind::kApp,
    EventKind::kAppVersion,
    EventKind::kSettings,
    EventKind::kValidatorRestart,
    EventKind::kTick,
    EventKind::kPlanClassFactor,
    EventKind::kBarrier,
    EventKind::kWatermark,
    EventKind::kProjectProfile,
    EventKind::kOpeningTotal,
    EventKind::kOpeningHostVersion,
    EventKind::kOpeningAppVersion,
    EventKind::kOpeningApp,
    EventKind::kReversal,
    EventKind::kRepricing,
    EventKind::kEstimatedCredit,
    EventKind::kMachineHost,
    EventKind::kProjectName,
    EventKind::kHostAsked,
    EventKind::kJobReversal,
    EventKind::kJobRepricing,
    EventKind::kHeldResult,
    EventKind::kHandedEvent,
    EventKind::kDecidedResult,
    EventKind::kFeedProject,
    EventKind::kFeedEdition,
    EventKind::kFeedVersions,
    EventKind::kFeedHealth,
    EventKind::kFeedAccount,
    EventKind::kOwnershipProof,
    EventKind::kIdentityDecision,
};
static_assert(std::size(kKinds) == std::variant_size_v<EventBodyVariant>);

}  // namespace

EventBody::EventBody() noexcept = default;
EventBody::EventBody(const EventBody&) = default;
EventBody::EventBody(EventBody&&) noexcept = default;
EventBody& EventBody::operator=(const EventBody&) = default;
EventBody& EventBody::operator=(EventBody&&) noexcept = default;
EventBody::~EventBody() = default;

EventKind Event::kind() const { return kKinds[body.index()]; }

std::string_view EventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::kNone: break;
    case EventKind::kCompletion: return "completion";
    case EventKind::kValidation: return "validation";
    case EventKind::kDispatch: return "dispatch";
    case EventKind::kTrickle: return "trickle";
    case EventKind::kHost: return "host";
    case EventKind::kUser: return "user";
    case EventKind::kTeam: return "team";
    case EventKind::kHostMerge: return "host_merge";
    case EventKind::kAccountFacts: return "account_facts";
    case EventKind::kHostAsked: return "host_asked";
    case EventKind::kHeldResult: return "held_result";
    case EventKind::kHandedEvent: return "handed_event";
    case EventKind::kDecidedResult: return "decided_result";
    case EventKind::kApp: return "app";
    case EventKind::kAppVersion: return "app_version";
    case EventKind::kSettings: return "settings";
    case EventKind::kValidatorRestart: return "validator_restart";
    case EventKind::kTick: return "tick";
    case EventKind::kPlanClassFactor: return "plan_class_factor";
    case EventKind::kBarrier: return "barrier";
    case EventKind::kWatermark: return "mark";
    case EventKind::kProjectProfile: return "project_profile";
    case EventKind::kProjectName: return "project_name";
    case EventKind::kOpeningTotal: return "opening_total";
    case EventKind::kOpeningHostVersion: return "opening_host_version";
    case EventKind::kOpeningAppVersion: return "opening_app_version";
    case EventKind::kOpeningApp: return "opening_app";
    case EventKind::kReversal: return "reversal";
    case EventKind::kRepricing: return "repricing";
    case EventKind::kEstimatedCredit: return "estimated_credit";
    case EventKind::kMachineHost: return "machine_host";
    case EventKind::kJobReversal: return "job_reversal";
    case EventKind::kJobRepricing: return "job_repricing";
    case EventKind::kFeedProject: return "feed_project";
    case EventKind::kFeedEdition: return "feed_edition";
    case EventKind::kFeedVersions: return "feed_versions";
    case EventKind::kFeedHealth: return "feed_health";
    case EventKind::kFeedAccount: return "feed_account";
    case EventKind::kOwnershipProof: return "ownership_proof";
    case EventKind::kIdentityDecision: return "identity_decision";
  }
  return "none";
}

}  // namespace cobblestone::wire

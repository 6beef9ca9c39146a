#include "services/gateway/rights/ingest_rights.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace cobblestone::gateway {
namespace {

constexpr std::array kGroups = {
    std::pair{std::string_view("results"), EventGroup::kResults},
    std::pair{std::string_view("members"), EventGroup::kMembers},
    std::pair{std::string_view("catalogue"), EventGroup::kCatalogue},
    std::pair{std::string_view("openings"), EventGroup::kOpenings},
    std::pair{std::string_view("corrections"), EventGroup::kCorrections},
    std::pair{std::string_view("machines"), EventGroup::kMachines},
    std::pair{std::string_view("feeds"), EventGroup::kFeeds},
    std::pair{std::string_view("identities"), EventGroup::kIdentities},
    std::pair{std::string_view("hub_settings"), EventGroup::kHubSettings},
};

constexpr std::uint32_t Bit(EventGroup group) { return 1u << static_cast<unsigned>(group); }

// False if `take` returns false for a part, or a part is empty.
template <class Take>
bool ForEachPart(std::string_view list, Take&& take) {
  for (;;) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end == 0 || !take(list.substr(0, end))) return false;
    if (end == list.size()) return true;
    list.remove_prefix(end + 1);
  }
}

std::string Spaced(std::string_view list) {
  std::string text;
  for (const char c : list) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

}  // namespace

// A new kind of event does not compile until it has a group here.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
EventGroup GroupOf(wire::EventKind kind) {
  using wire::EventKind;
  switch (kind) {
    case EventKind::kCompletion:
    case EventKind::kValidation:
    case EventKind::kDispatch:
    case EventKind::kTrickle:
    case EventKind::kValidatorRestart:
    // Every event of a project advances its time; a tick does nothing else.
    case EventKind::kTick:
    case EventKind::kBarrier: return EventGroup::kResults;
    case EventKind::kHost:
    case EventKind::kUser:
    case EventKind::kTeam:
    case EventKind::kHostMerge:
    case EventKind::kAccountFacts: return EventGroup::kMembers;
    case EventKind::kApp:
    case EventKind::kAppVersion:
    case EventKind::kSettings:
    case EventKind::kPlanClassFactor:
    case EventKind::kProjectProfile:
    case EventKind::kProjectName: return EventGroup::kCatalogue;
    case EventKind::kOpeningTotal:
    case EventKind::kOpeningHostVersion:
    case EventKind::kOpeningAppVersion:
    case EventKind::kOpeningApp: return EventGroup::kOpenings;
    case EventKind::kReversal:
    case EventKind::kRepricing:
    case EventKind::kJobReversal:
    case EventKind::kJobRepricing: return EventGroup::kCorrections;
    case EventKind::kEstimatedCredit:
    case EventKind::kMachineHost: return EventGroup::kMachines;
    case EventKind::kFeedProject:
    case EventKind::kFeedEdition:
    case EventKind::kFeedVersions:
    case EventKind::kFeedHealth:
    case EventKind::kFeedAccount:
    case EventKind::kOwnershipProof: return EventGroup::kFeeds;
    case EventKind::kIdentityDecision: return EventGroup::kIdentities;
    case EventKind::kHostAsked:
    case EventKind::kHeldResult:
    case EventKind::kHandedEvent:
    case EventKind::kDecidedResult:
    case EventKind::kWatermark: return EventGroup::kInternal;
    case EventKind::kNone: return EventGroup::kUnknown;
  }
  return EventGroup::kUnknown;  // unnamed number
}
#pragma GCC diagnostic pop

std::optional<IngestRights> IngestRights::Parse(std::string_view projects, std::string_view kinds) {
  IngestRights rights;
  if (projects == "*") {
    rights.every_project_ = true;
    rights.text_ = " of every project";
  } else {
    const bool good = ForEachPart(projects, [&](std::string_view part) {
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
      rights.projects_.emplace_back(number);
      return error == std::errc() && end == part.data() + part.size();
    });
    if (!good) return std::nullopt;
    rights.text_ = (rights.projects_.size() == 1 ? " of project " : " of projects ") + Spaced(projects);
  }
  if (kinds == "all") {
    rights.every_kind_ = true;
    rights.text_ = "every kind of event" + rights.text_;
    return rights;
  }
  const bool good = ForEachPart(kinds, [&](std::string_view part) {
    const auto* found =
        std::find_if(kGroups.begin(), kGroups.end(), [&](const auto& one) { return one.first == part; });
    if (found == kGroups.end()) return false;
    rights.groups_ |= Bit(found->second);
    return true;
  });
  if (!good) return std::nullopt;
  rights.text_ = Spaced(kinds) + rights.text_;
  return rights;
}

bool IngestRights::May(ProjectId project, wire::EventKind kind) const {
  const EventGroup group = GroupOf(kind);
  if (group == EventGroup::kInternal) return false;
  if (!every_kind_ && (groups_ & Bit(group)) == 0) return false;
  if (every_project_) return true;
  // A barrier affects every project: everything before it, of any project, is processed before everything
  // after it.
  const ProjectId asked = kind == wire::EventKind::kBarrier ? ProjectId() : project;
  return std::find(projects_.begin(), projects_.end(), asked) != projects_.end();
}

bool IngestRights::MayDecideForHub() const {
  return every_kind_ || (groups_ & Bit(EventGroup::kHubSettings)) != 0;
}

}  // namespace cobblestone::gateway

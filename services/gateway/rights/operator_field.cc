#include "services/gateway/rights/operator_field.h"

#include <array>
#include <utility>
#include <variant>

#include "common/wire/events/event_codec.h"
#include "common/wire/events/feeds.h"

namespace cobblestone::gateway {
namespace {

using wire::FeedProject;

// Every field of FeedProject but the name, the mode and the URL.
constexpr std::array kOperatorFields = {
    std::pair{wire::FieldBit(4), std::string_view("retired")},
    std::pair{wire::FieldBit(5), std::string_view("ownership_key")},
    std::pair{wire::FieldBit(6), std::string_view("points_per_cobblestone")},
    std::pair{FeedProject::kEraseAfter, std::string_view("erase_after")},
    std::pair{FeedProject::kSharedAccounts, std::string_view("shared_accounts")},
    std::pair{FeedProject::kAccountManager, std::string_view("account_manager")},
    std::pair{FeedProject::kPointsSince, std::string_view("points_since")},
};
constexpr wire::FieldMask kProjectFields = FeedProject::kRequired | FeedProject::kUrl;
static_assert((kProjectFields | wire::FieldBit(4) | wire::FieldBit(5) | wire::FieldBit(6) |
               FeedProject::kEraseAfter | FeedProject::kSharedAccounts | FeedProject::kAccountManager |
               FeedProject::kPointsSince) == FeedProject::kAllFields,
              "a new field of FeedProject: decide who may send it");

}  // namespace

std::string_view OperatorField(wire::EventKind kind, std::string_view envelope) {
  if (kind != wire::EventKind::kFeedProject && kind != wire::EventKind::kFeedEdition) return {};
  const auto event = wire::ParseEvent(envelope);
  if (!event.ok()) return {};
  if (const auto* project = std::get_if<FeedProject>(&event->body)) {
    for (const auto& [field, name] : kOperatorFields)
      if ((project->present & field) != 0) return name;
  } else if (const auto* edition = std::get_if<wire::FeedEdition>(&event->body)) {
    if (edition->released) return "released";
    // Of a complete edition it is the note of an operator, or of the hub's own collector.
    if (edition->state == wire::EditionState::kComplete && !edition->reason.empty()) return "reason";
  }
  return {};
}

}  // namespace cobblestone::gateway

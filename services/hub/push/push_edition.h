// One edition of a project's published accounts, from the committed state to a file of events that does not change until
// the hub has them (docs/design/federation.md). Credit is in micro-credits as in the ledger, never through text.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"
#include "common/wire/events/feeds.h"
#include "services/export/source.h"

namespace cobblestone::hub {

struct PushedEditionRequest {
  ProjectId project;          // the hub's number
  std::uint64_t edition = 0;  // greater than that of any earlier edition
  double time = 0;            // UNIX s: what the edition is as of
  // Events about the project itself, in front of the accounts.
  std::vector<wire::EventBody> facts{};
  // All accounts, not only those that differ from the edition that the indexes describe.
  bool whole = false;
  std::string indexes{};  // directory with the indexes of the last edition
  std::string work{};     // existing directory for the events and the new indexes
};

struct PushedEdition {
  bool whole = false;         // also if an index was missing or damaged
  std::uint64_t changed = 0;  // accounts in the file
  std::uint64_t events = 0;
  std::vector<wire::FeedSum> sums{};  // of all published accounts
};

// Writes `work`/events.pb and `work`/KIND.index (services/hub/collector/edition_maker.h has the names), durable on return.
// The accounts are those of services/export/selection.h. Errors are those of the disk and of the source, and
// kInvalidArgument for a total that an event cannot hold.
Result<PushedEdition> MakePushedEdition(exports::Source& source, const PushedEditionRequest& request);

// From the answer of GET /api/v1/projects/{project}/app_versions: the versions that are not deprecated. A number that is
// missing, not finite or negative counts as 0.
wire::FeedVersions FeedVersionsOf(const nlohmann::json& published);

}  // namespace cobblestone::hub

// Which projects and kinds of events a token may send, and the sender as owner of sources. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/wire/events/events.h"

namespace cobblestone::gateway {

// Kinds of events, as the tokens file names them.
enum class EventGroup : std::uint8_t {
  // Events about jobs (from schedulers, validators and client reports) and a project's ticks.
  kResults,
  kMembers,      // hosts, users, teams
  kCatalogue,    // apps, versions, settings: the price of work
  kOpenings,     // balances and statistics from before the pipeline
  kCorrections,  // reversals and repricings
  kMachines,     // hosts that an account manager reports
  kFeeds,        // what a federation hub receives about projects
  kIdentities,   // an operator's decisions about identities at a federation hub
  // No kind of event: with kFeeds the fields that only the operator of a federation hub decides (operator_field.h).
  kHubSettings,
  // An envelope whose event this build does not know; needs the kind `all`.
  kUnknown,
  kInternal,  // only the pipeline creates these events: nobody may send them
};
// Every kind of event has a group. This function is the only definition.
EventGroup GroupOf(wire::EventKind kind);

class IngestRights {
 public:
  // `projects`: "1,2", or "*" for every project. Project 0 stands for events of no project: ticks of all projects and
  // barriers. `kinds`: "results,members", or "all" for every kind. None: the text is not such a list.
  static std::optional<IngestRights> Parse(std::string_view projects, std::string_view kinds);

  // `project` is the envelope's. A barrier belongs to no project, whatever its envelope says.
  [[nodiscard]] bool May(ProjectId project, wire::EventKind kind) const;
  // Whether an event that May() be sent may have fields that only the operator of a federation hub decides.
  [[nodiscard]] bool MayDecideForHub() const;
  // The projects whose events may be sent; empty: every project.
  [[nodiscard]] const std::vector<ProjectId>& projects() const { return projects_; }
  // "results, members of projects 1, 2"
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool every_project_ = false;
  std::vector<ProjectId> projects_;
  bool every_kind_ = false;
  std::uint32_t groups_ = 0;  // one bit for each EventGroup
  std::string text_;
};

// Sender of events over HTTP, as the owner of sources: identified by the token's name if the token has one, else by
// the token itself.
struct Sender {
  std::string name;
  // "sha256:" and the digest of the token in hexadecimal
  std::string digest;

  // Stored as the owner of a source that this sender is the first to use.
  [[nodiscard]] const std::string& owner() const { return name.empty() ? digest : name; }
  // `owner`: as stored. A token that later received a name still owns the sources that the token used before. A name
  // contains no ':' (tokens.h), so a name cannot be mistaken for a digest.
  [[nodiscard]] bool Owns(std::string_view owner) const {
    return !owner.empty() && (owner == name || owner == digest);
  }
};

}  // namespace cobblestone::gateway

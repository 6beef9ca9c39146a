// What a token may send: which projects' events, of which kinds. And who sends: the owner of sources.
// Values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/wire/events/events.h"

namespace cobblestone::gateway {

// Kinds of events, as lines of the tokens file name them.
enum class EventGroup : std::uint8_t {
  kResults,  // what schedulers, validators and clients' reports tell of jobs, and when time passes for a project
  kMembers,      // hosts, users, teams
  kCatalogue,    // apps, versions, settings: the price of work
  kOpenings,     // balances and statistics from before the pipeline
  kCorrections,  // reversals and re-pricings
  kMachines,     // an account manager's machines
  kUnknown,      // an envelope without an event that this build knows: needs the kind `all`
  kInternal,     // only the pipeline makes it: nobody may send it
};
// Every kind of event has a group: the one place that says which.
EventGroup GroupOf(wire::EventKind kind);

class IngestRights {
 public:
  // "1,2", "*" for every project. The project 0 stands for what belongs to no project: ticks of all projects, barriers.
  // "results,members", "all" for every kind. None: the text is not such a list.
  static std::optional<IngestRights> Parse(std::string_view projects, std::string_view kinds);

  // `project` is the envelope's. A barrier belongs to no project, whatever its envelope says.
  [[nodiscard]] bool May(ProjectId project, wire::EventKind kind) const;
  // "results, members of projects 1, 2"
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool every_project_ = false;
  std::vector<std::uint32_t> projects_;
  bool every_kind_ = false;
  std::uint32_t groups_ = 0;  // a bit for each EventGroup
  std::string text_;
};

// Who sends over HTTP, as the owner of sources: the name of the token where its line has one, else the token itself.
struct Sender {
  std::string name;
  std::string digest;  // "sha256:" and the token's digest in hexadecimal digits

  // What is kept as the owner of a source that this sender is the first to use.
  [[nodiscard]] const std::string& owner() const { return name.empty() ? digest : name; }
  // `owner`: as kept. A token that got a name later still owns what it used before; a name has no ':' (tokens.h), so it is
  // never mistaken for a digest.
  [[nodiscard]] bool Owns(std::string_view owner) const {
    return !owner.empty() && (owner == name || owner == digest);
  }
};

}  // namespace cobblestone::gateway

// Sends the published accounts of one project to a federation hub, edition by edition. All that it needs to continue
// after a crash is in its directory:
//
//   state.json   PushState
//   work/        the events of the edition that is being sent, and its indexes
//   KIND.index   the accounts of the last edition that the hub has accepted
//
// Exactly once: an edition is a file that does not change until the hub has all of it, under a source of its own,
// push-PROJECT-EDITION. The hub counts the lines of a source, so (project, edition, source, line) is the (project, epoch,
// partition, sequence) of a record, and a request that was delivered twice, late or in part adds nothing. Before an edition
// is made, the hub is asked which one it has last: if that is not the one that the indexes describe, because a directory was
// lost or the hub was restored, all accounts are sent.
//
// Clocks: events have the project's time, but never a time after the hub's clock, which would refuse them. No clock of
// either side decides what is sent.
//
// Owner: one thread at a time, and one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"
#include "services/export/source.h"
#include "services/hub/push/hub_client.h"
#include "services/hub/push/push_state.h"
#include "services/hub/push/push_wait.h"

namespace cobblestone::hub {

// What an edition is made of, all of one moment.
struct PushedContents {
  std::unique_ptr<exports::Source> source;
  double time = 0;  // UNIX s of the project's last tick; 0: none
  // About the project itself, by kind. A fact is sent if it differs from the last one of its kind.
  std::vector<std::pair<std::string, wire::EventBody>> facts;
};

struct PushOptions {
  // An edition without changes is sent if the last one is that old, so that the hub sees a project that lives.
  std::chrono::duration<double> heartbeat = std::chrono::hours(1);
  // How long one round waits until the hub shows an edition as complete: its answers lag behind by its
  // state.flush_interval.
  std::chrono::milliseconds confirm = std::chrono::seconds(15);
  std::size_t request_bytes = 512u << 10;  // of a request's body, unless one event is longer
};

class ProjectPush {
 public:
  // `project`: the hub's number. Creates the directory if needed. A damaged state.json counts as lost.
  static Result<std::unique_ptr<ProjectPush>> Open(const std::string& directory, ProjectId project,
                                                   const PushOptions& options);

  // One round: sends the rest of an edition that the hub does not have completely, then makes and sends the next one if
  // anything has changed. Ok: the hub has everything up to `contents`, which is called at most once. kRetry: try again
  // later; nothing is lost. `now`: UNIX s. `report`: for the operator.
  Status Round(const HubClient& hub, const std::function<Result<PushedContents>()>& contents, double now,
               const std::function<void(const std::string&)>& report, const std::stop_token& stop);

  [[nodiscard]] const PushState& state() const { return state_; }
  // What the hub asked for in the last round.
  [[nodiscard]] const AskedPause& asked() const { return asked_; }

 private:
  // What the hub says about the project.
  struct HubView {
    double clock = 0;            // UNIX s; 0: unknown
    bool readable = true;        // false: this token may not read it, so nothing below is known
    bool started = true;         // false: the hub has no state yet, or is busy; nothing below is known
    std::uint64_t complete = 0;  // last complete edition; 0: none
    std::uint64_t newest = 0;    // of any state
    bool arriving = false;
  };

  ProjectPush(std::string directory, ProjectId project, const PushOptions& options)
      : directory_(std::move(directory)), project_(project), options_(options) {}

  [[nodiscard]] std::string In(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] std::string Source() const;
  Status Save() { return SavePushState(In("state.json"), state_); }
  // The answer; asked() then has what a hub that is busy or over its quota asks for.
  Result<HubReply> Noted(Result<HubReply> reply);
  Result<HubView> Ask(const HubClient& hub, const std::stop_token& stop);
  Status Make(const HubView& view, const std::function<Result<PushedContents>()>& contents, double now);
  Status FinishSending(const HubClient& hub, const std::function<void(const std::string&)>& report,
                       const std::stop_token& stop);
  // Sends what the hub does not have of the file. Ok: it has all lines.
  Status Send(const HubClient& hub, const std::stop_token& stop);
  // The number of lines that the hub has of the source.
  Result<std::uint64_t> Position(const HubClient& hub, const std::stop_token& stop);
  Status SendFrom(const HubClient& hub, std::uint64_t position, const std::stop_token& stop);
  Status Confirm(const HubClient& hub, const std::stop_token& stop);
  Status Accept();
  // The hub has refused the edition, or it was replaced: the next one is whole.
  Status Abandon();

  const std::string directory_;
  const ProjectId project_;
  const PushOptions options_;
  PushState state_;
  AskedPause asked_;
  std::uint64_t file_lines_ = 0;  // of the file that is being sent; 0: not counted yet
  int unconfirmed_ = 0;  // rounds in a row in which the hub had all lines and did not show the edition
  int not_started_ = 0;  // rounds in a row in which the hub had no state
  double without_tick_since_ = 0;  // UNIX s, when the project had accounts but no tick yet
};

}  // namespace cobblestone::hub

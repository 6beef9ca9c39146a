// The feed of one project: fetches what the project publishes, makes events of it, and has them sent. All that it needs
// to continue after a crash is in its directory:
//
//   state.json        FeedState
//   files/            the newest copy of each fetched file (feeds/feed_folder.h)
//   work/             the events of the edition that is being sent, and its indexes
//   KIND.index        the accounts of the last edition that was sent
//   facts-TIME.pb     events about the project itself, in the order in which they are sent
//
// Exactly once: an edition is sent under a source of its own, from a file that does not change until it has been sent.
// Facts are sent from a file that only grows. Both are what `ingest` sends once, however often it is repeated.
//
// Owner: one thread at a time, and one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"
#include "services/hub/collector/feed_state.h"
#include "services/hub/feeds/fetch_schedule.h"
#include "services/hub/feeds/fetcher.h"
#include "services/hub/feeds/project_health.h"

namespace cobblestone::hub {

struct CollectedProject {
  ProjectId id;
  std::string name{};
  std::string url{};         // master URL
  std::string statistics{};  // URL of the directory with the statistics files; empty: none
  // As in wire::FeedProject.
  std::string ownership_key{};
  double points_per_cobblestone = 0;
  std::int64_t points_since = 0;
  double erase_after = 0;
  std::vector<std::uint64_t> shared_accounts{};
  bool account_manager = false;
  double fetch_time = 0;  // s for one export; 0: that of the limits
};

// What became of the events of a file at the hub.
struct SentEvents {
  std::uint64_t refused = 0;
  bool edition_refused = false;  // one of them is an event of the edition itself, not of an account
  std::string reasons{};         // for people: "12 events, FROM_THE_FUTURE 12, first: ..."
};

// How events reach the pipeline of the hub. Owner: one thread at a time.
class HubIntake {
 public:
  virtual ~HubIntake() = default;
  // The number behind the hub's last refused event.
  virtual Result<std::uint64_t> RefusedSoFar() = 0;
  // Sends each line of the file once, under this source, and waits until the hub has processed them. What is refused is
  // counted from the number `refused_from` on, so that a file whose sender died is counted as a whole.
  virtual Result<SentEvents> Send(ProjectId project, const std::string& source, const std::string& file,
                                  std::uint64_t refused_from) = 0;
};
// For people: what happened to which project.
using ReportFeed = std::function<void(const std::string& message)>;

// Why the statistics could not be fetched, for everybody, and what an operator does. Empty: they could.
struct FetchProblem {
  std::string cause{};
  std::string step{};
};

class ProjectFeed {
 public:
  // Creates the directory if needed. kCorrupted: state.json is damaged.
  static Result<std::unique_ptr<ProjectFeed>> Open(const std::string& directory, CollectedProject project);

  // UNIX s of the next round.
  [[nodiscard]] double next(const ScheduleLimits& limits) const;
  // One round: continues an edition that was not sent completely, then fetches, judges and sends. A failure of the
  // project is reported and remembered, not returned, and so are events that the hub refuses: those facts are sent again
  // with the next round, and an edition of which one event was refused makes the next edition a whole one. Errors: of the
  // disk and of `hub`.
  Status Round(Fetcher& fetcher, const FetchLimits& limits, double now, HubIntake& hub,
               const ReportFeed& report, const std::stop_token& stop);
  // The held files are accepted with the next round, if they are still the same. kNotFound: nothing is held, or what is held
  // cannot be read.
  Status Release();

  [[nodiscard]] const FeedState& state() const { return state_; }
  [[nodiscard]] const CollectedProject& project() const { return project_; }

 private:
  ProjectFeed(std::string directory, CollectedProject project)
      : directory_(std::move(directory)), project_(std::move(project)) {}

  [[nodiscard]] std::string In(const std::string& name) const { return directory_ + "/" + name; }
  Status Save() { return SaveFeedState(In("state.json"), state_); }
  // What the project says about itself: its app versions, and to *health its condition.
  Status Facts(Fetcher& fetcher, const FetchLimits& limits, double now, const ReportFeed& report,
               const std::stop_token& stop, Health* health);
  Status Statistics(Fetcher& fetcher, const FetchLimits& limits, double now, const ReportFeed& report,
                    const std::stop_token& stop, FetchProblem* problem);
  // The condition as the hub shows it: what the project says, and why its statistics cannot be fetched.
  Status AddHealth(double now, const Health& health, const FetchProblem& problem);
  Status FinishSending(HubIntake& hub, const ReportFeed& report);
  // The hub has refused an event of the edition itself: it has not taken effect.
  Status RepeatEdition();
  // Without its indexes the next edition is sent whole.
  Status RemoveIndexes();
  // Sends a file, and forgets from where on refusals count once the answer is known. The caller saves.
  Result<SentEvents> Send(HubIntake& hub, const std::string& source, const std::string& file);
  // Appends a fact to the file of this month, unless the last one of its kind was the same.
  Status AddFact(double now, const std::string& kind, wire::EventBody body);
  Status SendFacts(HubIntake& hub, const ReportFeed& report);

  const std::string directory_;
  const CollectedProject project_;
  FeedState state_;
};

}  // namespace cobblestone::hub

// The golden input format -> events: scripted histories of a BOINC project, one JSON object per line,
// with outcomes that BOINC's own server code has computed (tests/golden). Reads line by line, so that a
// history of any length streams.
//
// Events of each line; each carries the line's number, counted from 0:
//   catalogue        settings, apps (policy boinc; runtime if credit_from_runtime is 1), app versions, teams,
//                    users, hosts, host/version rows as OpeningHostVersion, opening totals of hosts if any
//   wu               for each result in ascending order of id: a Completion, unless an earlier line had it,
//                    and a Validation. Client errors (outcome 3) are left out: the validator skips them
//   late             the same for one result, late
//   error, timeout   a Completion of (host, app version) without a result
//   tick, config, add_app_version, del_app_version, restart: the catalogue's event of that name
//   end              only a barrier
// A host or user that is missing in the catalogue is announced as known, but deleted, so that no event
// waits for it.
//
// Ids: completions and validations have the line's number, which orders samples as BOINC's validator met them;
// two events of one line differ in their result. All other events are counted from 1 through the file. Barrier:
// before anything after it is read, all stages must have drained. Barriers are: all broadcasts, the end of the
// catalogue, and the end. The receiver chooses the order among lines without a barrier between them, by `line`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/wire/events/events.h"

namespace cobblestone::boinc {

// True for the first line of such a file: a JSON object with a text field `ev`, which no Envelope has.
bool IsGoldenFormat(std::string_view first_line);

struct GoldenOptions {
  ProjectId project{1};
  std::string source = "golden input";  // for messages: name of the file
};

struct GoldenItem {
  std::string envelope;  // empty: a barrier alone
  std::uint64_t line = 0;
  bool barrier = false;
};

class GoldenReader {
 public:
  explicit GoldenReader(GoldenOptions options) : options_(std::move(options)) {}

  // Appends the events of the next line to `items`. InvalidArgument, with source, line (counted from 1, as in
  // editors) and problem; *items may then have grown, and the reader must not be used again. Empty lines are
  // counted and produce no event.
  Status ReadLine(std::string_view line, std::vector<GoldenItem>* items);

  // True if the line `end` has been read.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t lines() const { return next_line_; }

 private:
  class Object;
  struct App {
    std::uint32_t target_nresults = 1;
  };

  Status ReadObject(const Object& object);
  void ReadCatalogue(const Object& object);
  void ReadHistory(std::string_view ev, const Object& object);
  void ReadLook(const Object& object, bool late);
  void ReadResult(const Object& result, const Object& workunit, double now, wire::Event* validation);
  void ReadFailure(const Object& object, bool timeout);
  void AddAppVersion(double now, const Object& object);
  void AddHostVersion(const Object& object);

  // Announces the host and user if no event has named them yet.
  void Announce(double now, std::uint64_t host, std::uint64_t user);
  void Emit(std::uint64_t id, double time, wire::EventBody body, bool barrier);
  void EmitCounted(double time, wire::EventBody body, bool barrier);
  Status Error(const std::string& what) const;

  GoldenOptions options_;
  std::uint64_t next_line_ = 0;  // of the next line
  std::uint64_t line_ = 0;       // of the current line
  std::uint64_t next_id_ = 1;    // of counted events
  bool started_ = false;
  bool ended_ = false;
  bool credit_from_runtime_ = false;
  std::map<std::uint64_t, App> apps_;
  std::map<std::uint64_t, AppId> versions_;
  std::unordered_set<std::uint64_t> hosts_;
  std::unordered_set<std::uint64_t> users_;
  std::unordered_map<std::uint64_t, std::uint32_t> passes_;  // by workunit
  std::unordered_set<std::uint64_t> completed_;              // results
  std::vector<GoldenItem>* items_ = nullptr;                 // of the current call
};

// Passes every item of a file, plain or gzip'ed, to `take`, in order. Stops at the first error: of the format,
// the file, or `take`. InvalidArgument if the file ends without `end`.
Status ReadGoldenFile(const std::string& path, ProjectId project,
                      const std::function<Status(const GoldenItem&)>& take);

}  // namespace cobblestone::boinc

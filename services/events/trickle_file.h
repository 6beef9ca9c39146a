// Stored trickle messages (services/boinc/trickle_rows.h) as a source of events: a file, or a directory of files that
// are read as if concatenated.
//
// A message is one event; the event's id is the row's id, so the same message in another file is a repeat. The
// identity of the source is the hash over its messages without BOINC's `handled`: a table that was exported again and
// has grown is the same source. A message that cannot be decoded, or of a variety without a format, is an item with a
// problem; a message of an ignored variety is an item with neither envelope nor problem. A row that cannot be
// separated from its neighbours ends the reading (InvalidArgument); all items before it were valid.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "services/boinc/bare_bodies.h"
#include "services/boinc/trickle_event.h"
#include "services/events/event_stream.h"

namespace cobblestone::events {

// Formats of the varieties. Without a file of formats, each variety has the default names of trickle_event.h.
class TrickleFormats {
 public:
  TrickleFormats() = default;
  // examples/trickles.yaml shows the format. Errors: as settings::LoadTrickleFormats.
  static Result<TrickleFormats> Load(const std::string& path);

  [[nodiscard]] bool Ignored(const std::string& variety) const { return ignored_.contains(variety); }
  // Null: the variety has no format.
  [[nodiscard]] const boinc::TrickleFormat* Of(const std::string& variety) const;
  // path of the file, for messages; empty: none
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  boinc::TrickleFormat any_;
  std::map<std::string, boinc::TrickleFormat, std::less<>> varieties_;
  std::set<std::string, std::less<>> ignored_;
};

class TrickleFile final : public EventStream {
 public:
  // `path` "-": standard input. NotFound: no such file or directory.
  static Result<std::unique_ptr<EventStream>> Open(const std::string& path, ProjectId project,
                                                   const TrickleFormats& formats,
                                                   const boinc::BareBodies& bare = {});

  Status ForEach(const std::function<Status(const EventItem&)>& take) override;
  [[nodiscard]] EventFormat format() const override { return EventFormat::kTrickles; }
  [[nodiscard]] bool has_own_ticks() const override { return false; }
  [[nodiscard]] std::uint64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] std::uint64_t bytes_total() const override { return bytes_total_; }

 private:
  TrickleFile(std::string path, ProjectId project, TrickleFormats formats, boinc::BareBodies bare,
              std::uint64_t bytes)
      : path_(std::move(path)),
        project_(project),
        formats_(std::move(formats)),
        bare_(std::move(bare)),
        bytes_total_(bytes) {}

  const std::string path_;
  const ProjectId project_;
  const TrickleFormats formats_;
  const boinc::BareBodies bare_;
  const std::uint64_t bytes_total_;
  std::atomic<std::uint64_t> bytes_read_{0};  // read by other threads
};

}  // namespace cobblestone::events

// Stored trickle messages (services/boinc/trickle_rows.h) as a source of events: a file, or a folder of files, read as if they
// stood one behind the other.
//
// A message is one event, whose id is its row's: told again from another file, it is a repeat. What a source is known by is
// the messages as they were read, without BOINC's `handled`, so that a table that is written out again and has grown is the
// same source. A message that cannot be made out, or of a variety that nobody explained, is an item with a problem; one of an
// ignored variety says nothing. A row that cannot be told apart from its neighbours ends the reading (InvalidArgument), and
// all items before it were good.
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

namespace cobblestone {

// What is known of the varieties. Without a file of formats each has the words of its reader alone.
class TrickleFormats {
 public:
  TrickleFormats() = default;
  // examples/trickles.yaml tells the form. Errors as settings::LoadTrickleFormats says.
  static Result<TrickleFormats> Load(const std::string& path);

  [[nodiscard]] bool Ignored(const std::string& variety) const { return ignored_.contains(variety); }
  // Null where nothing is known of it.
  [[nodiscard]] const boinc::TrickleFormat* Of(const std::string& variety) const;
  // The file, for messages; empty: none.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  boinc::TrickleFormat any_;
  std::map<std::string, boinc::TrickleFormat, std::less<>> varieties_;
  std::set<std::string, std::less<>> ignored_;
};

class TrickleFile final : public EventStream {
 public:
  // `path` "-": standard input. NotFound where there is no such file or folder.
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
  std::atomic<std::uint64_t> bytes_read_{0};  // asked for by other threads
};

}  // namespace cobblestone

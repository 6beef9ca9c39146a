// A file that a project appends to and rotates, as a live feed: `cobblestone ingest --follow`.
//
// Each file of the feed is a source of its own, named NAME@HASH: HASH is of the first event of the file. A file that
// is rotated by renaming therefore remains the same source under its new name, and each event counts once, whatever
// restarts and rotations happen. Files of the feed are FILE and its rotated files in the same folder, whose names
// begin with FILE followed by '.' or '-', compressed or not. They are ingested one after the other:
//   - A reader begins with the newest file that an earlier reader has begun, or else with FILE.
//   - A file is complete once a newer one has an event: the writer has then left the older file, and must not return
//     to it.
// A last line without its line end is read when the file is complete.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "services/access/client.h"
#include "services/events/event_file.h"

namespace cobblestone::access {

// One file of a feed. Owner: as EventStream.
class FeedFile final : public events::EventStream {
 public:
  // EventFileOptions::follow, with the number of bytes that were read.
  using Follow = std::function<events::AtEnd(bool at_end, std::uint64_t read)>;
  // `follow` may be empty: a file that does not grow. Reads the first item at once; empty pointer: there is none.
  static Result<std::unique_ptr<FeedFile>> Open(const std::string& path, Follow follow);

  // Hash of the first item, 16 hexadecimal digits.
  [[nodiscard]] const std::string& hash() const { return hash_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  Status ForEach(const std::function<Status(const events::EventItem&)>& take) override;
  void Stop() override { stop_ = true; }
  [[nodiscard]] events::EventFormat format() const override { return file_->format(); }
  [[nodiscard]] bool has_own_ticks() const override { return file_->has_own_ticks(); }
  [[nodiscard]] std::uint64_t bytes_read() const override { return file_->bytes_read(); }
  [[nodiscard]] std::uint64_t bytes_total() const override { return growing_ ? 0 : file_->bytes_total(); }

 private:
  FeedFile() = default;

  std::string path_;
  bool growing_ = false;
  std::atomic<bool> stop_{false};
  std::unique_ptr<events::EventFile> file_;
  events::EventItem first_;
  std::string hash_;
};

// Owner: one thread, except that `stopped` is called by the reading thread, too.
class Feed {
 public:
  // `stopped`: whether to stop; with `wait` it waits a moment for that (a fraction of a second).
  // `warn` gets each rotated file that is skipped because it is not a file of events.
  Feed(Client& client, std::string file, std::string name, std::function<bool(bool wait)> stopped,
       std::function<void(const std::string&)> warn);

  struct Part {
    std::unique_ptr<FeedFile> file;
    std::string source;
  };
  // The next file to ingest; waits until there is one. Call it again when this file was ingested to its end. None:
  // stopped. Errors: as EventFile and Client; InvalidArgument also if the pipeline runs with `order: lockstep`, or if
  // the file is golden.
  Result<std::optional<Part>> Next();

 private:
  // Paths of the rotated files, oldest first.
  [[nodiscard]] std::vector<std::string> Rotated() const;
  // Sets parts_ to the files to ingest now; kNotFound: a file was renamed meanwhile.
  Status Find();
  // An empty pointer: no event, or a rotated file that is skipped.
  Result<std::unique_ptr<FeedFile>> OpenPart(const std::string& path, bool may_grow);
  // Whether a reader has ingested a part of it.
  Result<bool> Begun(const std::string& source);
  [[nodiscard]] events::AtEnd Continue(std::uint64_t inode, bool at_end, std::uint64_t read);

  Client& client_;
  const std::string file_;
  const std::string name_;
  const std::function<bool(bool wait)> stopped_;
  const std::function<void(const std::string&)> warn_;
  std::vector<Part> parts_;       // to ingest, newest first
  std::string current_;           // source of the part that was returned last
  std::set<std::string> done_;    // sources that were ingested to their end
  std::set<std::string> warned_;  // files
  bool left_ = false;             // the writer has begun a newer file than the one that is read
  bool shrunk_ = false;           // the file that is read became shorter
};

}  // namespace cobblestone::access

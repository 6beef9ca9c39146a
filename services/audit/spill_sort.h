// Sorts any number of entries of a fixed size in bounded memory: a full buffer is sorted and written to a file
// without a name, and the files are merged. Memory: `entries` entries, and 64 KiB for each file, of which there
// are at most kFanIn per level.
//
// Entry: trivially copyable, with operator<. If Absorb(Entry&, const Entry&) is declared beside it, the entry
// takes up an equal one, and only one of both is kept.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "common/base/status.h"

namespace cobblestone::audit {

struct SpillOptions {
  std::string directory;           // must exist; for the files
  std::size_t entries = 1u << 18;  // in memory
};

template <class Entry>
class SpillSort {
  static_assert(std::is_trivially_copyable_v<Entry>);

 public:
  explicit SpillSort(SpillOptions options) : options_(std::move(options)) {}

  // If a write fails, status() says so, and later entries are dropped.
  void Add(const Entry& entry) {
    if (!status_.ok()) return;
    buffer_.push_back(entry);
    if (buffer_.size() < options_.entries) return;
    Sort();
    // What has shrunk to half its size may grow on.
    if (buffer_.size() <= options_.entries / 2) return;
    Spill(0, [this](const Take& take) {
      for (const Entry& one : buffer_) take(one);
    });
    buffer_.clear();
  }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t files() const { return files_; }  // written so far

  // Visits all entries, ascending. Once. A status of `visit` other than ok ends the visits and is returned.
  Status ForEach(const std::function<Status(const Entry&)>& visit) {
    Sort();
    std::vector<Run> runs;
    for (std::vector<Run>& level : levels_)
      for (Run& run : level) runs.push_back(std::move(run));
    Status visited;
    Merge(runs, [&](const Entry& entry) {
      if (visited.ok()) visited = visit(entry);
      return visited.ok();
    });
    return status_.ok() ? visited : status_;
  }

 private:
  using Take = std::function<bool(const Entry&)>;
  static constexpr std::size_t kFanIn = 64;
  static constexpr std::size_t kPiece = (64u << 10) / sizeof(Entry);  // entries per read

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Run {
    std::unique_ptr<std::FILE, Close> file;
    std::vector<Entry> piece{};
    std::size_t at = 0;
  };
  static constexpr bool kAbsorbs = requires(Entry & to, const Entry& from) { Absorb(to, from); };

  void Sort() {
    std::sort(buffer_.begin(), buffer_.end());
    if constexpr (kAbsorbs) {
      std::size_t kept = 0;
      for (std::size_t i = 1; i < buffer_.size(); ++i) {
        if (!(buffer_[kept] < buffer_[i]))
          Absorb(buffer_[kept], buffer_[i]);
        else
          buffer_[++kept] = buffer_[i];
      }
      if (!buffer_.empty()) buffer_.resize(kept + 1);
    }
  }

  void Failed(const std::string& doing) {
    if (status_.ok())
      status_ = Status::Unwritten(errno, "cannot " + doing + " a temporary file in " + options_.directory +
                                             "; check for a full disk");
  }

  // Writes what `give` gives, ascending, as a run of that level; merges a level that is full into the next.
  void Spill(std::size_t level, const std::function<void(const Take&)>& give) {
    const std::string path =
        options_.directory + "/audit-" + std::to_string(::getpid()) + "-" + std::to_string(files_++) + ".tmp";
    Run run{.file = std::unique_ptr<std::FILE, Close>(std::fopen(path.c_str(), "w+b"))};
    if (!run.file) return Failed("write");
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // the file lives as long as it is open
    bool wrote = true;
    give([&](const Entry& entry) {
      wrote = wrote && std::fwrite(&entry, sizeof entry, 1, run.file.get()) == 1;
      return wrote;
    });
    if (!wrote || std::fflush(run.file.get()) != 0) return Failed("write");
    std::rewind(run.file.get());
    if (levels_.size() <= level) levels_.resize(level + 1);
    levels_[level].push_back(std::move(run));
    if (levels_[level].size() < kFanIn) return;
    std::vector<Run> full = std::move(levels_[level]);
    levels_[level].clear();
    Spill(level + 1, [&](const Take& take) { Merge(full, take, false); });
  }

  // The next entry of the run; false: there is none.
  bool Next(Run& run, Entry* entry) {
    if (run.at == run.piece.size()) {
      run.piece.resize(kPiece);
      run.piece.resize(std::fread(run.piece.data(), sizeof(Entry), kPiece, run.file.get()));
      run.at = 0;
      if (std::ferror(run.file.get()) != 0) Failed("read");
      if (run.piece.empty()) return false;
    }
    *entry = run.piece[run.at++];
    return true;
  }

  // Passes the entries of all runs, and of the sorted buffer, to `take`, ascending, until it returns false.
  void Merge(std::vector<Run>& runs, const Take& take, bool with_buffer = true) {
    using Head = std::pair<Entry, std::size_t>;
    const auto later = [](const Head& a, const Head& b) { return b.first < a.first; };
    std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
    std::size_t in_buffer = 0;
    const auto push = [&](std::size_t from) {
      Entry entry;
      if (from < runs.size()) {
        if (Next(runs[from], &entry)) heads.push({entry, from});
      } else if (with_buffer && in_buffer < buffer_.size()) {
        heads.push({buffer_[in_buffer++], from});
      }
    };
    for (std::size_t from = 0; from <= runs.size(); ++from) push(from);
    while (!heads.empty() && status_.ok()) {
      auto [entry, from] = heads.top();
      heads.pop();
      push(from);
      if constexpr (kAbsorbs)
        while (!heads.empty() && !(entry < heads.top().first)) {
          Absorb(entry, heads.top().first);
          const std::size_t other = heads.top().second;
          heads.pop();
          push(other);
        }
      if (!take(entry)) return;
    }
  }

  const SpillOptions options_;
  std::vector<Entry> buffer_;
  std::vector<std::vector<Run>> levels_;
  std::uint64_t files_ = 0;
  Status status_;
};

}  // namespace cobblestone::audit

#include "services/hub/publish/spill_sort.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <queue>
#include <tuple>
#include <utility>

namespace cobblestone::hub {
namespace {

constexpr std::size_t kChunkOfRun = 64u << 10;
constexpr std::size_t kHeadBytes = 2 * sizeof(std::uint32_t);  // sizes of key and value

Status SpillFailed(const std::string& directory) {
  const int error = errno;
  return Status::Unwritten(error,
                           directory + ": a temporary file cannot be written: " + std::strerror(error));
}

Status WriteAll(int file, std::string_view bytes, const std::string& directory) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SpillFailed(directory);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::Ok();
}

void AppendSize(std::uint32_t size, std::string* out) {
  char bytes[sizeof size];
  std::memcpy(bytes, &size, sizeof size);
  out->append(bytes, sizeof bytes);
}

}  // namespace

// ---- Reading ----------------------------------------------------------------------------------------------

struct SortedRecords::Reader::State {
  // Reads one run from its beginning to its end.
  class RunReader {
   public:
    RunReader(int file, std::uint64_t begin, std::uint64_t end) : file_(file), at_(begin), end_(end) {}

    Result<bool> Next() {
      used_ += record_;
      record_ = 0;
      if (at_ == end_ && used_ == buffer_.size()) return false;
      if (Status s = Hold(kHeadBytes); !s.ok()) return s;
      std::memcpy(&key_, buffer_.data() + used_, sizeof key_);
      std::memcpy(&value_, buffer_.data() + used_ + sizeof key_, sizeof value_);
      record_ = kHeadBytes + key_ + value_;
      if (Status s = Hold(record_); !s.ok()) return s;
      return true;
    }
    [[nodiscard]] std::string_view key() const {
      return std::string_view(buffer_).substr(used_ + kHeadBytes, key_);
    }
    [[nodiscard]] std::string_view value() const {
      return std::string_view(buffer_).substr(used_ + kHeadBytes + key_, value_);
    }

   private:
    // Makes `bytes` from used_ on available.
    Status Hold(std::size_t bytes) {
      if (buffer_.size() - used_ >= bytes) return Status::Ok();
      buffer_.erase(0, used_);
      used_ = 0;
      while (buffer_.size() < bytes) {
        const std::size_t before = buffer_.size();
        const std::size_t wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>(std::max(kChunkOfRun, bytes - before), end_ - at_));
        buffer_.resize(before + wanted);
        const ssize_t got = ::pread(file_, buffer_.data() + before, wanted, static_cast<off_t>(at_));
        if (got <= 0 && errno != EINTR) return Status::Fatal("a temporary file cannot be read");
        buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        at_ += static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
      }
      return Status::Ok();
    }

    int file_;
    std::uint64_t at_;  // of the file: behind the buffer
    std::uint64_t end_;
    std::string buffer_;
    std::size_t used_ = 0;    // where the record begins
    std::size_t record_ = 0;  // its bytes
    std::uint32_t key_ = 0;
    std::uint32_t value_ = 0;
  };

  std::vector<RunReader> runs;
  // Runs with a record, the smallest record first.
  struct Later {
    const std::vector<RunReader>* runs;
    bool operator()(std::size_t a, std::size_t b) const {
      const RunReader& x = (*runs)[a];
      const RunReader& y = (*runs)[b];
      return std::make_tuple(x.key(), x.value(), a) > std::make_tuple(y.key(), y.value(), b);
    }
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, Later> next{Later{&runs}};
  std::size_t current = 0;
  bool begun = false;

  Status Advance(std::size_t run) {
    const auto has = runs[run].Next();
    if (!has.ok()) return has.status();
    if (*has) next.push(run);
    return Status::Ok();
  }
};

SortedRecords::Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
SortedRecords::Reader::~Reader() = default;
SortedRecords::Reader::Reader(Reader&& other) noexcept = default;

Result<bool> SortedRecords::Reader::Next() {
  if (!state_->begun) {
    state_->begun = true;
    for (std::size_t run = 0; run < state_->runs.size(); ++run)
      if (Status s = state_->Advance(run); !s.ok()) return s;
  } else if (Status s = state_->Advance(state_->current); !s.ok()) {
    return s;
  }
  if (state_->next.empty()) return false;
  state_->current = state_->next.top();
  state_->next.pop();
  return true;
}
std::string_view SortedRecords::Reader::key() const { return state_->runs[state_->current].key(); }
std::string_view SortedRecords::Reader::value() const { return state_->runs[state_->current].value(); }

SortedRecords::~SortedRecords() {
  if (file_ >= 0) ::close(file_);
}
SortedRecords::SortedRecords(SortedRecords&& other) noexcept
    : file_(std::exchange(other.file_, -1)), runs_(std::move(other.runs_)), records_(other.records_) {}
SortedRecords& SortedRecords::operator=(SortedRecords&& other) noexcept {
  std::swap(file_, other.file_);
  runs_ = std::move(other.runs_);
  records_ = other.records_;
  return *this;
}

SortedRecords::Reader SortedRecords::Read() const {
  auto state = std::make_unique<Reader::State>();
  for (const Run& run : runs_) state->runs.emplace_back(file_, run.begin, run.end);
  return Reader(std::move(state));
}

// ---- Sorting ----------------------------------------------------------------------------------------------

SpillSort::SpillSort(std::string directory, std::size_t memory)
    : directory_(std::move(directory)), memory_(memory) {}

std::string_view SpillSort::KeyOf(const Entry& entry) const {
  return std::string_view(bytes_).substr(entry.at, entry.key);
}
std::string_view SpillSort::ValueOf(const Entry& entry) const {
  return std::string_view(bytes_).substr(entry.at + entry.key, entry.value);
}

Status SpillSort::Add(std::string_view key, std::string_view value) {
  entries_.push_back({.at = bytes_.size(),
                      .key = static_cast<std::uint32_t>(key.size()),
                      .value = static_cast<std::uint32_t>(value.size())});
  bytes_ += key;
  bytes_ += value;
  ++sorted_.records_;
  return bytes_.size() + entries_.size() * sizeof(Entry) < memory_ ? Status::Ok() : Spill();
}

Status SpillSort::Spill() {
  if (sorted_.file_ < 0) {
    std::string name = directory_ + "/.sort-XXXXXX";
    sorted_.file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (sorted_.file_ < 0) return SpillFailed(directory_);
    ::unlink(name.c_str());
  }
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    return std::make_pair(KeyOf(a), ValueOf(a)) < std::make_pair(KeyOf(b), ValueOf(b));
  });
  const std::uint64_t begin = sorted_.runs_.empty() ? 0 : sorted_.runs_.back().end;
  std::uint64_t end = begin;
  std::string chunk;
  for (const Entry& entry : entries_) {
    AppendSize(entry.key, &chunk);
    AppendSize(entry.value, &chunk);
    chunk += KeyOf(entry);
    chunk += ValueOf(entry);
    if (chunk.size() < kChunkOfRun) continue;
    if (Status s = WriteAll(sorted_.file_, chunk, directory_); !s.ok()) return s;
    end += chunk.size();
    chunk.clear();
  }
  if (Status s = WriteAll(sorted_.file_, chunk, directory_); !s.ok()) return s;
  sorted_.runs_.push_back({.begin = begin, .end = end + chunk.size()});
  bytes_.clear();
  entries_.clear();
  return Status::Ok();
}

Result<SortedRecords> SpillSort::Finish() {
  if (!entries_.empty())
    if (Status s = Spill(); !s.ok()) return s;
  return std::move(sorted_);
}

}  // namespace cobblestone::hub

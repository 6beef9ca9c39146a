#include "services/ledger/ledger.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/wire/control/control_codec.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/control/topics.h"

namespace cobblestone::ledger {
namespace {

using stream::IndexedLog;

// One topic, for several threads.
class Topic {
 public:
  Topic(const IndexedLogOf& log_of, stream::TopicIndex topic) : topic_(topic), log_(log_of(topic)) {}

  std::uint64_t Begin(std::uint32_t partition) {
    const std::lock_guard lock(mutex_);
    return log_->Begin({topic_, partition});
  }
  std::uint64_t End(std::uint32_t partition) {
    const std::lock_guard lock(mutex_);
    return log_->End({topic_, partition});
  }
  Result<IndexedLog::Piece> Read(std::uint32_t partition, std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    const std::pair place(partition, offset);
    if (const auto known = kept_.find(place); known != kept_.end()) return known->second;
    auto piece = log_->Read({topic_, partition}, offset);
    if (!piece.ok() || !piece->one_place || piece->first != offset) return piece;
    kept_.emplace(place, *piece);
    order_.push_back(place);
    if (order_.size() > kKept) {
      kept_.erase(order_.front());
      order_.pop_front();
    }
    return piece;
  }
  // Visits all records at the place until `visit` returns false.
  Status ReadAt(const LedgerPlace& place, const view::Ledger::Visit& visit) {
    const auto piece = Read(place.partition, place.offset);
    if (!piece.ok()) return piece.status();
    const bool there = piece->end > place.offset && piece->first <= place.offset && !piece->records.empty();
    if (!there)
      return Status::Corrupted("record " + std::to_string(place.offset) + " of partition " +
                               std::to_string(place.partition) + " of " +
                               std::string(wire::TopicName(topic_)) + " is missing");
    if (!piece->one_place) {
      (void)visit(piece->records[place.offset - piece->first]);
      return Status::Ok();
    }
    for (const std::string_view record : piece->records)
      if (!visit(record)) break;
    return Status::Ok();
  }

 private:
  const stream::TopicIndex topic_;
  std::mutex mutex_;
  const std::unique_ptr<IndexedLog> log_;  // guarded by mutex_, as are the members below
  // A place with many records is usually read again soon, for another of its records.
  static constexpr std::size_t kKept = 64;  // pieces, each of at most about a quarter of a MiB
  std::map<std::pair<std::uint32_t, std::uint64_t>, IndexedLog::Piece> kept_;
  std::deque<std::pair<std::uint32_t, std::uint64_t>> order_;
};

class TopicLedger final : public view::Ledger {
 public:
  TopicLedger(const IndexedLogOf& log_of, LedgerIndex& index)
      : index_(index),
        grants_(log_of, wire::kGrants),
        postings_(log_of, wire::kPostings),
        control_(log_of, wire::kControl),
        refused_(log_of, wire::kRefused) {}

  Result<std::vector<LedgerPlace>> GrantsOf(ProjectId project, ResultId result) override {
    return index_.Grants(project, result);
  }
  Result<std::vector<LedgerPlace>> TricklesOf(ProjectId project, ResultId result,
                                              std::size_t limit) override {
    return index_.Trickles(project, result, limit);
  }
  Result<std::vector<LedgerPlace>> PostingsOf(ProjectId project, ResultId result) override {
    return index_.Postings(project, result);
  }
  Result<std::vector<LedgerPlace>> NewestTo(ProjectId project, wire::AccountKind kind, std::uint64_t id,
                                            std::size_t limit) override {
    return index_.NewestTo(project, kind, id, limit);
  }
  Result<std::vector<LedgerPlace>> Alarms(std::size_t limit) override { return index_.Alarms(limit); }
  Status ReadGrant(const LedgerPlace& place, const Visit& visit) override {
    return grants_.ReadAt(place, visit);
  }
  Status ReadPosting(const LedgerPlace& place, const Visit& visit) override {
    return postings_.ReadAt(place, visit);
  }

  [[nodiscard]] std::uint64_t refused() override { return refused_.End(0); }
  Status ReadRefused(
      std::uint64_t from,
      const std::function<bool(std::uint64_t number, std::string_view record)>& visit) override {
    const std::uint64_t end = refused_.End(0);
    for (std::uint64_t at = std::max(from, refused_.Begin(0)); at < end;) {
      const auto piece = refused_.Read(0, at);
      if (!piece.ok()) return piece.status();
      if (piece->end == 0) break;
      std::uint64_t number = piece->first;
      for (const std::string_view record : piece->records) {
        if (number >= at && !visit(number, record)) return Status::Ok();
        if (!piece->one_place) ++number;
      }
      at = piece->end;
    }
    return Status::Ok();
  }

  Result<std::vector<credit::ScaleTable>> Epochs(ProjectId project,
                                                 const view::EpochsWanted& wanted) override {
    auto found = index_.Epochs(project);
    if (!found.ok()) return found.status();
    std::vector<LedgerPlace>& places = *found;
    places.erase(std::unique(places.begin(), places.end()), places.end());
    if (wanted.limit == 0) return std::vector<credit::ScaleTable>();
    if (wanted.before != std::numeric_limits<std::uint64_t>::max())
      if (Status s = CutAt(project, wanted.before, &places); !s.ok()) return s;
    const std::size_t n = places.size();
    const std::size_t k = std::min(n, wanted.limit);
    std::vector<credit::ScaleTable> epochs;
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t at = !wanted.evenly ? n - k + i : k == 1 ? n - 1 : i * (n - 1) / (k - 1);
      const std::size_t known = epochs.size();
      if (Status s = ReadEpochs(project, places[at], &epochs); !s.ok()) return s;
      std::erase_if(epochs, [&](const credit::ScaleTable& epoch) { return epoch.epoch >= wanted.before; });
      // Evenly spaced: one epoch of each place, the last one; of the first place the first one.
      if (wanted.evenly && epochs.size() > known + 1) {
        if (i > 0) epochs[known] = std::move(epochs.back());
        epochs.resize(known + 1);
      }
    }
    if (epochs.size() > wanted.limit)
      epochs.erase(epochs.begin(), epochs.end() - static_cast<std::ptrdiff_t>(wanted.limit));
    return epochs;
  }

 private:
  // A place may hold several epochs of a project, written in one commit.
  Status ReadEpochs(ProjectId project, const LedgerPlace& place, std::vector<credit::ScaleTable>* epochs) {
    return control_.ReadAt(place, [&](std::string_view record) {
      wire::ControlView control;
      ProjectId of;
      credit::ScaleTable table;
      if (wire::DecodeControl(record, &control) && control.kind == wire::ControlKind::kEpoch &&
          control.head.project == project && wire::DecodeEpoch(control.body, &of, &table))
        epochs->push_back(std::move(table));
      return true;
    });
  }
  // Keeps the places with a first epoch below `before`; epochs ascend with places.
  Status CutAt(ProjectId project, std::uint64_t before, std::vector<LedgerPlace>* places) {
    Status status;
    const auto end = std::partition_point(places->begin(), places->end(), [&](const LedgerPlace& place) {
      std::vector<credit::ScaleTable> epochs;
      if (status.ok()) status = ReadEpochs(project, place, &epochs);
      return !epochs.empty() && epochs.front().epoch < before;
    });
    places->erase(end, places->end());
    return status;
  }

  LedgerIndex& index_;
  Topic grants_;
  Topic postings_;
  Topic control_;
  Topic refused_;
};

}  // namespace

std::unique_ptr<view::Ledger> MakeLedger(const IndexedLogOf& log_of, LedgerIndex& index) {
  return std::make_unique<TopicLedger>(log_of, index);
}

}  // namespace cobblestone::ledger

#include "common/stream/embedded/indexed_log.h"

namespace cobblestone::stream::embedded {
namespace {

class EmbeddedLog final : public IndexedLog {
 public:
  explicit EmbeddedLog(Log& log) : log_(log) {}

  [[nodiscard]] std::uint64_t Begin(TopicPartition where) override { return log_.Begin(where); }
  [[nodiscard]] std::uint64_t End(TopicPartition where) override { return log_.DurableEnd(where); }
  Result<Piece> Read(TopicPartition where, std::uint64_t offset) override {
    const Result<BatchRef> batch = log_.Read(where, offset);
    if (!batch.ok()) return batch.status();
    if (*batch == nullptr) return Piece{};
    Piece piece{.first = (*batch)->first, .end = (*batch)->end(), .bytes = *batch};
    RecordCursor cursor((*batch)->payload);
    for (std::string_view record; cursor.Next(&record);) piece.records.push_back(record);
    return piece;
  }

 private:
  Log& log_;
};

}  // namespace

std::unique_ptr<IndexedLog> MakeIndexedLog(Log& log) { return std::make_unique<EmbeddedLog>(log); }

}  // namespace cobblestone::stream::embedded

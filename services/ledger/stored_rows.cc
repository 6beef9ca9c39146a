#include "services/ledger/stored_rows.h"

#include <utility>

namespace cobblestone::ledger {
namespace {

using stream::Key;

class StoredRows final : public view::Rows {
 public:
  explicit StoredRows(const store::Store& store, std::shared_ptr<const store::Store> held)
      : snapshot_(std::move(held)), rows_(store.Snapshot()) {}

  Result<stream::SlotMeta> Meta() const override {
    const auto bytes = rows_->Meta();
    if (bytes.status().code() == StatusCode::kNotFound) return stream::SlotMeta{};  // nothing was written yet
    if (!bytes.ok()) return bytes.status();
    return stream::DecodeSlotMeta(*bytes);
  }
  Status Get(std::uint8_t table, const Key& key, std::string* value) const override {
    char bytes[stream::kKeyBytes];
    stream::EncodeKey(table, key, bytes);
    return rows_->Get({bytes, sizeof bytes}, value);
  }
  Status Scan(std::uint8_t table, const Visit& visit) const override {
    const char prefix = static_cast<char>(table);
    return ScanPrefix({&prefix, 1}, visit);
  }
  Status ScanProject(std::uint8_t table, ProjectId project, const Visit& visit) const override {
    char bytes[stream::kKeyBytes];
    stream::EncodeKey(table, {.project = project.value, .id = 0, .sub = 0}, bytes);
    return ScanPrefix({bytes, stream::kProjectPrefixBytes}, visit);
  }
  Status ScanOf(std::uint8_t table, ProjectId project, std::uint64_t id, const Visit& visit) const override {
    char bytes[stream::kKeyBytes];
    stream::EncodeKey(table, {.project = project.value, .id = id, .sub = 0}, bytes);
    return ScanPrefix({bytes, sizeof bytes - sizeof(Key::sub)}, visit);
  }

 private:
  Status ScanPrefix(std::string_view prefix, const Visit& visit) const {
    return rows_->Scan(prefix, [&](std::string_view bytes, std::string_view value) {
      std::uint8_t id = 0;
      Key key;
      if (!stream::DecodeKey(bytes, &id, &key))
        return Status::Corrupted("a row of the state has a corrupted key");
      return visit(key, value);
    });
  }

  const std::shared_ptr<const store::Store> snapshot_;  // may be null
  const std::unique_ptr<const store::Reader> rows_;
};

}  // namespace

std::unique_ptr<const view::Rows> MakeStoredRows(const store::Store& store) {
  return std::make_unique<StoredRows>(store, nullptr);
}

std::unique_ptr<const view::Rows> MakeStoredRows(std::shared_ptr<const store::Store> store) {
  const store::Store& it = *store;
  return std::make_unique<StoredRows>(it, std::move(store));
}

}  // namespace cobblestone::ledger

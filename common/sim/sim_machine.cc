#include "common/sim/sim_machine.h"

namespace cobblestone::sim {

namespace {

class SimStore final : public store::Store {
 public:
  SimStore(std::shared_ptr<SimDisk::Rows> rows, std::shared_ptr<const bool> full)
      : rows_(std::move(rows)), full_(std::move(full)) {}

  Status Get(std::string_view key, std::string* value) const override {
    const auto found = rows_->rows.find(std::string(key));
    if (found == rows_->rows.end()) return Status::NotFound("");
    if (rows_->damaged.count(found->first) > 0) return Status::Corrupted("a row is damaged");
    *value = found->second;
    return Status::Ok();
  }
  Status ScanFrom(std::string_view prefix, std::string_view from, const Visit& visit) const override {
    for (auto it = rows_->rows.lower_bound(std::string(from)); it != rows_->rows.end(); ++it) {
      if (!it->first.starts_with(prefix)) break;
      if (rows_->damaged.count(it->first) > 0) return Status::Corrupted("a row is damaged");
      if (Status s = visit(it->first, it->second); !s.ok()) return s;
    }
    return Status::Ok();
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> Snapshot() const override {
    return std::make_unique<SimStore>(std::make_shared<SimDisk::Rows>(*rows_), full_);
  }
  Status Apply(const std::vector<store::Row>& rows, std::string_view meta) override {
    if (*full_) return Status::Retry("the disk is full");
    for (const store::Row& row : rows) {
      rows_->damaged.erase(std::string(row.key));
      if (row.deleted)
        rows_->rows.erase(std::string(row.key));
      else
        rows_->rows[std::string(row.key)] = row.value;
    }
    rows_->meta = meta;
    rows_->has_meta = true;
    return Status::Ok();
  }
  [[nodiscard]] Result<std::string> Meta() const override {
    if (!rows_->has_meta) return Status::NotFound("");
    return rows_->meta;
  }
  Status Checkpoint(const std::string&) override { return Status::Fatal("not in a simulation"); }
  Status VerifyBeyond(const std::string&) const override { return Status::Ok(); }
  [[nodiscard]] std::uint64_t disk_bytes() const override { return 0; }

 private:
  std::shared_ptr<SimDisk::Rows> rows_;
  std::shared_ptr<const bool> full_;
};

}  // namespace

Result<std::unique_ptr<store::Store>> SimDisk::Open(std::uint32_t slot) {
  if (*full_) return Status::Full("the disk is full");
  auto& rows = rows_[slot];
  if (rows == nullptr) rows = std::make_shared<Rows>();
  return std::unique_ptr<store::Store>(std::make_unique<SimStore>(rows, full_));
}

Status SimDisk::Remove(std::uint32_t slot) {
  rows_.erase(slot);
  return Status::Ok();
}

Result<std::unique_ptr<store::Store>> SimDisk::OpenCopy(std::uint32_t slot, store::Store&) {
  if (*full_) return Status::Full("the disk is full");
  return std::unique_ptr<store::Store>(
      std::make_unique<SimStore>(std::make_shared<Rows>(*rows_.at(slot)), full_));
}

std::vector<std::uint32_t> SimDisk::Slots() {
  std::vector<std::uint32_t> slots;
  for (const auto& [slot, rows] : rows_) slots.push_back(slot);
  return slots;
}

bool SimDisk::Damage(std::mt19937_64& random) {
  std::vector<std::pair<Rows*, std::string>> all;
  for (auto& [slot, rows] : rows_)
    for (const auto& [key, value] : rows->rows) all.emplace_back(rows.get(), key);
  if (all.empty()) return false;
  const auto& [rows, key] = all[random() % all.size()];
  rows->damaged.insert(key);
  return true;
}

bool SimBackground::RunOne() {
  if (dead_ || jobs_.empty()) return false;
  const std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  job();
  return true;
}

}  // namespace cobblestone::sim

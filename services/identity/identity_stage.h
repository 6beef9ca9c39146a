// IDENTITY, one partition: which accounts of all projects belong to one person (common/federation/identity). The rows are a
// function of the set of facts, so the order in which MEMBERS partitions report makes no difference.
//
// In: identity-facts. Out: nothing; readers look at the rows.
#pragma once

#include <utility>
#include <vector>

#include "common/federation/identity/identities.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "services/identity/identity_rows.h"

namespace cobblestone::identity {

// A table of the slot as Identities uses it.
template <class Row>
class StageTable final : public federation::RowTable<Row> {
 public:
  StageTable(stream::TableHost& tables, const stream::TableSpec<Row>& spec, bool resident)
      : table_(tables, spec, resident) {}

  const Row* Peek(const federation::RowKey& key) const override { return table_.Find(KeyOf(key)); }
  void Put(const federation::RowKey& key, Row row) override { table_.Mutable(KeyOf(key)) = std::move(row); }
  void Erase(const federation::RowKey& key) override { table_.Erase(KeyOf(key)); }
  [[nodiscard]] stream::TableBase* table() { return &table_; }

 private:
  mutable stream::Table<Row> table_;  // a lookup may read the store
};

class IdentityStage final : public stream::Stage {
 public:
  static std::vector<stream::TopicPartition> Inputs();

  explicit IdentityStage(stream::TableHost& tables);

  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

 private:
  StageTable<federation::UserRow> users_;
  StageTable<federation::CpidRow> cpids_;
  StageTable<federation::IdentityRow> identities_rows_;
  StageTable<federation::ProjectRow> projects_;
  StageTable<federation::SwingerRow> swingers_;
  StageTable<federation::DeletionRow> deletions_;
  federation::IdentityTables all_;
  federation::Identities identities_;
};

}  // namespace cobblestone::identity

// The engine as an audit reads it, and what reads it in the same way: each slot between two commits, and the durable
// records of the log.
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/stream/embedded/indexed_log.h"
#include "common/wire/control/topics.h"
#include "services/audit/ledger_audit.h"
#include "services/embedded/engine.h"
#include "services/history/fit.h"
#include "services/history/pipeline_history.h"
#include "services/view/slot_rows.h"

namespace cobblestone::embedded {

using audit::AuditedPipeline;
using audit::AuditedState;
using audit::AuditLedger;

namespace {

class AuditedEngine final : public AuditedPipeline {
 public:
  explicit AuditedEngine(Engine& engine) : engine_(engine) {}

  [[nodiscard]] std::uint32_t partitions() const override { return engine_.pipeline().partitions; }
  [[nodiscard]] bool lockstep() const override { return engine_.lockstep(); }
  Status Look(std::uint32_t partition, const std::function<Status(const AuditedState&)>& look) override {
    Status status;
    engine_.runner().Query(partition, [&](stream::Slot& slot) {
      const view::SlotRows rows(slot);
      AuditedState state{.claims = rows, .grants = rows, .accounts = rows, .teams = rows};
      for (std::size_t i = 0; i < slot.inputs().size(); ++i) {
        if (slot.inputs()[i].where.topic == wire::kGrants) state.grants_end = slot.next(i);
        if (slot.inputs()[i].where.topic == wire::kPostings) state.postings_end = slot.next(i);
      }
      status = look(state);
    });
    return status;
  }
  std::unique_ptr<stream::IndexedLog> LogOf(stream::TopicIndex) override {
    return stream::embedded::MakeIndexedLog(engine_.log());
  }
  Result<view::Ledger*> ledger() override { return &engine_.ledger(); }

 private:
  Engine& engine_;
};

}  // namespace

Result<nlohmann::json> Engine::Audit(
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress, std::uint32_t since_days) {
  static std::mutex one_audit;  // two at a time would write one record
  const std::lock_guard lock(one_audit);
  const auto began = std::chrono::steady_clock::now();
  AuditedEngine audited(*this);
  auto report = AuditLedger(audited, {.spill = {.directory = settings_.data_directory},
                                      .record = settings_.data_directory + "/audited",
                                      .at = options_.clock(),
                                      .since_days = since_days,
                                      .progress = progress});
  if (!report.ok()) return report.status();
  report->outcome.at = options_.clock();
  report->outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  RememberAudit(report->outcome);
  return std::move(report->answer);
}

Result<nlohmann::json> Engine::FitWorld(
    ProjectId project, AppId app,
    const std::function<void(std::uint64_t done, std::uint64_t all)>& progress) {
  AuditedEngine audited(*this);
  const auto history = history::ReadPipeline(audited, project, app, progress);
  if (!history.ok()) return history.status();
  const auto fit = history::FitOf(*history);
  if (!fit.ok()) return fit.status();
  return history::FitJson(*fit);
}

}  // namespace cobblestone::embedded

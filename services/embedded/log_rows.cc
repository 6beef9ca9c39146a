#include "services/embedded/log_rows.h"

#include <charconv>
#include <string_view>

#include "common/settings/run_settings.h"
#include "common/stream/state_codec.h"

namespace cobblestone::embedded {

using audit::AuditOutcome;
using intake::ProducerState;
using pipeline::PeriodKind;

namespace {

constexpr std::string_view kProducerRow = "producer/";
constexpr std::string_view kBatchRow = "batch/";
constexpr std::string_view kOwnerRow = "owner/";
constexpr std::string_view kTickRow = "tick/";  // by project
constexpr std::string_view kBarrierRow = "barrier";
// The kind of deployment; absent: settings::kArrivalKind.
constexpr std::string_view kKindRow = "order";
constexpr std::string_view kPeriodKindRow = "period_kind";
constexpr std::string_view kAuditRow = "audit";

std::string EncodeRow(const auto& value) {
  std::string bytes;
  stream::EncodeState(value, bytes);
  return bytes;
}

template <class Value>
Value ReadRow(const stream::embedded::Log& log, const std::string& key) {
  Value value{};
  if (const auto row = log.GetRow(key); row.ok()) {
    stream::StateReader reader(*row);
    reader(value);
  }
  return value;
}

std::string KeyOf(std::string_view row, const std::string& name) { return std::string(row) + name; }

}  // namespace

LogRow ProducerRow(const std::string& source, const ProducerState& state) {
  return {KeyOf(kProducerRow, source), EncodeRow(state)};
}

LogRow OwnerRow(const std::string& source, const std::string& owner) {
  return {KeyOf(kOwnerRow, source), owner};
}

LogRow BatchRow(const std::string& source, const ProducerState& begin) {
  return {KeyOf(kBatchRow, source), EncodeRow(begin)};
}

ProducerState ReadProducer(const stream::embedded::Log& log, const std::string& source) {
  auto state = ReadRow<ProducerState>(log, KeyOf(kProducerRow, source));
  if (auto row = log.GetRow(KeyOf(kOwnerRow, source)); row.ok()) state.owner = std::move(*row);
  return state;
}

ProducerState ReadBatchBegin(const stream::embedded::Log& log, const std::string& source) {
  return ReadRow<ProducerState>(log, KeyOf(kBatchRow, source));
}

LogRow TickRow(ProjectId project, double time) {
  return {KeyOf(kTickRow, std::to_string(project.value)), EncodeRow(time)};
}

double ReadTick(const stream::embedded::Log& log, ProjectId project) {
  return ReadRow<double>(log, KeyOf(kTickRow, std::to_string(project.value)));
}

Status ScanTicks(const stream::embedded::Log& log,
                 const std::function<void(ProjectId project, double time)>& visit) {
  return log.ScanRows(std::string(kTickRow), [&](std::string_view key, std::string_view value) {
    key.remove_prefix(kTickRow.size());
    std::uint32_t project = 0;
    std::from_chars(key.data(), key.data() + key.size(), project);
    double time = 0;
    stream::StateReader reader(value);
    reader(time);
    visit(ProjectId(project), time);
  });
}

LogRow BarrierRow(bool barrier) { return {std::string(kBarrierRow), barrier ? "1" : ""}; }

bool ReadBarrier(const stream::embedded::Log& log) {
  const auto row = log.GetRow(std::string(kBarrierRow));
  return row.ok() && !row->empty();
}

std::vector<LogRow> LockstepRows(PeriodKind period_kind) {
  return {KindRow(settings::kLockstepKind), PeriodKindRow(period_kind)};
}

LogRow PeriodKindRow(PeriodKind period_kind) { return {std::string(kPeriodKindRow), EncodeRow(period_kind)}; }

LogRow KindRow(std::string_view kind) { return {std::string(kKindRow), std::string(kind)}; }

std::string StoredKind(const stream::embedded::Log& log) {
  const auto row = log.GetRow(std::string(kKindRow));
  return row.ok() ? *row : std::string(settings::kArrivalKind);
}

PeriodKind LastPeriodKind(const stream::embedded::Log& log) {
  return ReadRow<PeriodKind>(log, std::string(kPeriodKindRow));
}

LogRow AuditRow(const AuditOutcome& outcome) { return {std::string(kAuditRow), EncodeRow(outcome)}; }

std::optional<AuditOutcome> ReadAudit(const stream::embedded::Log& log) {
  const auto row = log.GetRow(std::string(kAuditRow));
  if (!row.ok()) return std::nullopt;
  AuditOutcome outcome;
  stream::StateReader reader(*row);
  reader(outcome);
  if (!reader.ok()) return std::nullopt;
  return outcome;
}

}  // namespace cobblestone::embedded

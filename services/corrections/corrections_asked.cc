#include "services/corrections/corrections_asked.h"

#include <utility>

#include "common/wire/control/topics.h"
#include "services/ledger/ledger_records.h"

namespace cobblestone::corrections {

using ledger::ForEachRecordOf;
using ledger::IndexedLogOf;

Result<CorrectionPlan> PlanCorrections(const CorrectionRequest& request, const IndexedLogOf& log_of,
                                       const std::vector<std::uint64_t>& grants,
                                       const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const auto control = log_of(wire::kControl);
  const auto ledger = log_of(wire::kGrants);
  const auto postings = log_of(wire::kPostings);
  const auto refused = log_of(wire::kRefused);
  const auto partitions = static_cast<std::uint32_t>(grants.size());
  const bool of_host = request.target == TargetKind::kHost;
  std::vector<std::uint64_t> posted(partitions);
  const std::uint64_t refusals = refused->End({wire::kRefused, 0});
  std::uint64_t all = control->End({wire::kControl, 0}) + (of_host ? 2 : 1) * refusals;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    posted[p] = postings->End({wire::kPostings, p});
    all += (of_host ? 3 : 2) * grants[p] + posted[p];
  }
  std::uint64_t done = 0;
  std::uint64_t reported = 0;
  CorrectionReader reader(request);
  const auto read = [&](stream::IndexedLog& log, stream::TopicPartition where, std::uint64_t to,
                        bool (CorrectionReader::*take)(std::string_view)) -> Status {
    const auto end = ForEachRecordOf(
        log, where, 0, to, [&](std::uint64_t, std::string_view record) { return (reader.*take)(record); },
        [&](std::uint64_t records) {
          done += records;
          if (!progress || done - reported < 0x10000) return;
          reported = done;
          progress(done, all);
        });
    return end.status();
  };
  Status s =
      read(*control, {wire::kControl, 0}, control->End({wire::kControl, 0}), &CorrectionReader::TakeControl);
  for (std::uint32_t p = 0; of_host && s.ok() && p < partitions; ++p)
    s = read(*ledger, {wire::kGrants, p}, grants[p], &CorrectionReader::TakeHost);
  if (of_host && s.ok()) s = read(*refused, {wire::kRefused, 0}, refusals, &CorrectionReader::TakeMerge);
  for (const auto take : {&CorrectionReader::Select, &CorrectionReader::TakeGrant})
    for (std::uint32_t p = 0; s.ok() && p < partitions; ++p)
      s = read(*ledger, {wire::kGrants, p}, grants[p], take);
  for (std::uint32_t p = 0; s.ok() && p < partitions; ++p)
    s = read(*postings, {wire::kPostings, p}, posted[p], &CorrectionReader::TakePosting);
  if (s.ok()) s = read(*refused, {wire::kRefused, 0}, refusals, &CorrectionReader::TakeRefused);
  if (!s.ok()) return s;
  if (progress) progress(all, all);
  return reader.Plan();
}

}  // namespace cobblestone::corrections

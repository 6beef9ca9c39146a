// A host's (host, app version) rows as BOINC's validator and scheduler keep them: the row that a result starts
// from, the write of the row, and the reliability counts (golden README, items 14 to 20, 27 and 30). Shared by
// the policies `boinc` and `runtime`. Pure. Invariant: no stored row contains an infinite number or NaN (item
// 27: the SQL statement would fail).
#pragma once

#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// One result's copy of its (host, app version) row. The caller changes `row`, then calls Store().
class BoincRow {
 public:
  // The stored row; for a result that is not late, the row as of the start of this pass over the workunit
  // (item 16). A missing row of a version in the catalogue is taken over from another version or created (19);
  // a missing row of an anonymous version is not created (18).
  static BoincRow ForResult(const CompletionFacts& completion, const ValidationFacts& validation,
                            const Catalogue& catalogue, HostRecord& host);

  // The stored row, taken over or created as above. For events outside a pass, such as a missed deadline.
  static BoincRow ForHost(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host);

  // False: the row is missing and cannot be created; Store() does nothing.
  [[nodiscard]] bool exists() const { return exists_; }
  HostVersion row;

  // Writes the row back, unless this result caused the takeover (19) or a number of the row is not finite (27).
  void Store(HostRecord& host) const;

 private:
  static BoincRow Find(AppId app, AppVersionId version, const Catalogue& catalogue, HostRecord& host);

  bool exists_ = false;
  bool taken_over_ = false;
};

// The row that the host's next result of the version would start from: the stored row, or the row that the
// version would take over (19). Absent: the result would start from an empty row or have no row.
[[nodiscard]] std::optional<HostVersion> NextRow(const HostRecord& host, AppId app, AppVersionId version,
                                                 const Catalogue& catalogue);

// After an inconclusive validation: creates the row or takes over another version's row, nothing else.
void LookAtRow(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host);

// Items 14, 15: counts a valid result. `unreplicated`: the workunit had one replica although its app
// replicates; the run of valid results does not grow.
void CountValid(bool unreplicated, HostVersion& row);
// Item 15: counts an invalid result.
void CountInvalid(const ProjectSettings& settings, HostVersion& row);

// Item 20: adds a result's turnaround, s, to the host's mean.
void CountTurnaround(double turnaround, HostRecord& host);

// Item 30: a client error or abort (by user or project), or a missed deadline. Other outcomes have no effect.
void CountFailure(const CompletionFacts& attempt, const Catalogue& catalogue, HostRecord& host);

}  // namespace cobblestone::credit

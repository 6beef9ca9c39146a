// A host's records as BOINC's validator and scheduler keep them: which row a result starts from, what becomes
// of it, and the counts of reliability (golden README, items 14 to 20, 27 and 30). Shared by the policies
// `boinc` and `runtime`. Pure. Invariant: no stored row holds an infinite number or NaN (item 27: the SQL
// statement would fail).
#pragma once

#include <optional>

#include "common/credit/model/catalogue.h"
#include "common/credit/model/model.h"

namespace cobblestone::credit {

// One result's view of its host's record: work on `row`, then Store().
class BoincRow {
 public:
  // Takes the row of (host, app version): the stored one, or the one before this look at the workunit (item
  // 16). A missing row of a version in the catalogue is taken over or made (19), one of an anonymous version
  // is not (18).
  static BoincRow ForResult(const CompletionFacts& completion, const ValidationFacts& validation,
                            const Catalogue& catalogue, HostRecord& host);

  // The same outside of a look at a workunit: after a missed deadline.
  static BoincRow ForHost(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host);

  // False: there is no such row and none can be made; nothing is recorded.
  [[nodiscard]] bool exists() const { return exists_; }
  HostVersion row;

  // Writes the row back, unless its first result took it over (19) or a number in it is not finite (27).
  void Store(HostRecord& host) const;

 private:
  static BoincRow Find(AppId app, AppVersionId version, const Catalogue& catalogue, HostRecord& host);

  bool exists_ = false;
  bool taken_over_ = false;
};

// The row that the host's next result of the version would start from: the stored one, or the one that would be taken over
// (19). None: it would start from an empty row, or from none at all.
[[nodiscard]] std::optional<HostVersion> NextRow(const HostRecord& host, AppId app, AppVersionId version,
                                                 const Catalogue& catalogue);

// An inconclusive look: only makes or takes over the row.
void LookAtRow(const CompletionFacts& completion, const Catalogue& catalogue, HostRecord& host);

// Items 14, 15: one more valid result. `unreplicated`: the workunit went out once although its app
// replicates.
void CountValid(bool unreplicated, HostVersion& row);
// Item 15: an invalid one.
void CountInvalid(const ProjectSettings& settings, HostVersion& row);

// Item 20: the mean turnaround of a host, s.
void CountTurnaround(double turnaround, HostRecord& host);

// Item 30: a client error (aborted results too), a missed deadline. Other outcomes change nothing.
void CountFailure(const CompletionFacts& attempt, const Catalogue& catalogue, HostRecord& host);

}  // namespace cobblestone::credit

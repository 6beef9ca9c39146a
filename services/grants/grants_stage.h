// GRANTS, by workunit: awaits the claims of a workunit, settles it by its app's policy, and writes one grant per valid
// result to the ledger. Decided workunits are remembered for their window: a late result gets what the others got.
// Time: a mark that has come from every partition of claims lets workunits expire, and goes on into the ledger.
//
// In: control, claims of one partition. Out: grants, refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/credit/model/model.h"
#include "common/stream/calendar.h"
#include "common/stream/marks.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/wire/control/topics.h"
#include "services/stage/expiry.h"
#include "services/stage/project_view.h"

namespace cobblestone::grants {

// A claim that waits for the others of its look at the workunit.
struct HeldClaim {
  ResultId result;
  HostId host;
  std::uint32_t pass = 0;  // the look at the workunit that it belongs to
  bool counts = false;     // false: word that there will be no claim
  std::uint64_t end = 0;   // of its bytes
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.result, s.host, s.pass, s.counts, s.end, s.offset, s.append_time);
  }
};

// The claim of a late result; waits for the decision.
struct LateClaim {
  std::string bytes;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.bytes, s.offset, s.append_time);
  }
};

// A workunit whose claims are not all there. Claims as bytes: they go into the ledger as they came.
struct OpenWorkunit {
  double since = 0;  // event time of the earliest claim
  std::vector<HeldClaim> claims;
  std::string bytes;  // of `claims`, one after the other
  std::vector<LateClaim> late;
  std::vector<std::string> late_trickles;  // wait for the decision about their result (wire/claim_codec.h)
  std::vector<std::string> paid_before;    // so do these (credit::kClaimPaidBefore)

  // Lives until the next change.
  [[nodiscard]] std::string_view BytesOf(std::size_t claim) const {
    const std::size_t begin = claim == 0 ? 0 : claims[claim - 1].end;
    return std::string_view(bytes).substr(begin, claims[claim].end - begin);
  }
  void Add(HeldClaim claim, std::string_view claim_bytes) {
    bytes.append(claim_bytes);
    claim.end = bytes.size();
    claims.push_back(claim);
  }
  void Remove(std::size_t claim) {
    const std::size_t size = BytesOf(claim).size();
    bytes.erase(claims[claim].end - size, size);
    claims.erase(claims.begin() + static_cast<std::ptrdiff_t>(claim));
    for (; claim < claims.size(); ++claim) claims[claim].end -= size;
  }
  void Clear() {
    since = 0;
    claims.clear();
    bytes.clear();
    late.clear();
    late_trickles.clear();
    paid_before.clear();
  }

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.since, s.claims, s.bytes, s.late, AddedIn<2>(s.late_trickles), AddedIn<3>(s.paid_before));
  }
};

// What a workunit's results got.
struct Decided {
  std::uint8_t place = 0;  // in its block
  std::int32_t day = 0;    // UNIX day: forgotten when it is before the app's horizon
  std::uint64_t app = 0;
  double credit = 0;  // Cobblestones before rounding
  std::int64_t credit_micro = 0;
  std::uint64_t canonical_result = 0;
  std::uint64_t line = 0;
  std::string granted;  // its results that have their grant: varints, each the difference to the
                        // one before; two or three of them need no memory of their own

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.place, s.day, s.app, s.credit, s.credit_micro, s.canonical_result, s.line, s.granted);
  }
};

// Decided workunits of one block of adjacent numbers: one row instead of up to 32. Filed in the calendar for as long as it
// exists.
struct DecidedBlock {
  std::vector<Decided> workunits;  // ascending by place

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.workunits);
  }
};

// `order: lockstep`: a claim that waits for the next mark, there to be taken by (line, result, host): which of two hosts that
// claim one result comes first must not depend on the partitions that they come from. By number, in order of arrival.
struct SortedClaim {
  std::uint64_t line = 0;
  std::uint64_t result = 0;
  std::uint64_t host = 0;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s
  std::string bytes;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.line, s.result, s.host, s.offset, s.append_time, s.bytes);
  }
};

// `order: lockstep`; one row. What partitions of CLAIMS have sent each other since the last barrier.
struct MovedByClaims {
  std::uint64_t records = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.records);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<OpenWorkunit> kOpenTable{.id = 16, .version = 3};
inline constexpr stream::TableSpec<DecidedBlock> kDecidedTable{.id = 17, .version = 1};
inline constexpr stream::TableSpec<wire::ProjectView> kProjectsTable{.id = 18, .version = 2};
inline constexpr stream::TableSpec<SortedClaim> kSortedTable{.id = 22, .version = 1};
inline constexpr stream::TableSpec<MovedByClaims> kMovedTable{.id = 28, .version = 1};

// A project whose windows may have changed: its workunits are still being examined for expiry.
struct ChangedWindow {
  template <class Self, class F>
  static void Fields(Self&, F&& f) {
    f();
  }
};
inline constexpr stream::TableSpec<ChangedWindow> kChangedWindowsTable{.id = 78, .version = 1};

struct GrantsOptions {
  std::uint32_t partition = 0;
  std::uint32_t partitions = 1;
  bool sorted = false;                                       // `order: lockstep`
  std::size_t rows_per_commit = stage::CommitBudget::kRows;  // for tests
};

class GrantsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kClaims };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  GrantsStage(const GrantsOptions& options, stream::TableHost& tables);

  // A claim waits until the catalogue and scales under which it was made are here.
  [[nodiscard]] bool Ready(std::size_t input) const override {
    return input != kClaims || marks_.caught_up();
  }
  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] bool Unfinished() const override { return marks_.begun() || changed_windows_.rows() > 0; }
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<OpenWorkunit>& open() { return open_; }
  stream::Table<DecidedBlock>& decided() { return decided_; }
  stream::Table<wire::ProjectView>& projects() { return projects_; }
  // Each that has passed has a record in every partition of the ledger.
  stream::Marks& marks() { return marks_; }

 private:
  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnPassed(const stream::RecordView& record, stream::Emitter& out);
  void PassMarks(stream::Emitter& out);
  void Sort(const stream::RecordView& record, stream::Emitter& out);
  void TakeSorted(stream::Emitter& out);
  void Take(const stream::RecordView& record, stream::Emitter& out);
  void OnClaim(const stream::RecordView& record, stream::Emitter& out);
  bool AddTo(OpenWorkunit& open, const credit::Claim& claim, const stream::RecordView& record,
             stream::Emitter& out);
  // Settles one look at the workunit with the claims of it that are there.
  void Settle(stream::Key key, ProjectId project, WorkunitId workunit, std::uint32_t pass,
              stream::Emitter& out);
  // What the others got, unless the result has its grant; notes it in `decided`. `record`: the claim as it came.
  void GrantLate(Decided& decided, const credit::Claim& claim, const stream::RecordView& record,
                 stream::Emitter& out);
  void EmitGrant(const credit::Claim& claim, std::string_view claim_bytes, double credit, std::int64_t micro,
                 credit::Mode mode, std::uint64_t line, double time, std::uint32_t flags, double cap,
                 std::uint64_t canonical, stream::Emitter& out);
  void OnLateTrickle(const stream::RecordView& record, stream::Emitter& out);
  // The decision about the result still waits for others. By whichever host's claim: one grant there is of a result, and what its
  // trickles bring beyond it is asked of that one.
  [[nodiscard]] bool Awaits(const stream::Key& key, const OpenWorkunit& open, ResultId result) const;
  // What a result's trickles were paid whose claim knew nothing of it.
  void OnPaidBefore(const stream::RecordView& record, stream::Emitter& out);
  void SettleBefore(const credit::Claim& paid, credit::MicroCredit granted, stream::Emitter& out);
  // The workunit is decided, or comes to nothing: null. `left`: of it some wait on.
  void TakePaidBefore(const stream::Key& key, const std::vector<std::string>& all, const Decided* decided,
                      OpenWorkunit* left, stream::Emitter& out);
  // Of a trickle behind its job's end: what it makes the result worth beyond its grant.
  void PayLateTrickle(const stream::Key& key, std::string_view bytes, credit::MicroCredit granted,
                      stream::Emitter& out);
  // Of a claim that comes to no grant: what its trickles were paid becomes final.
  void SettleUnpaid(const credit::Claim& claim, stream::Emitter& out);
  // False: the commit's budget is spent, and some of what is due is left.
  bool Expire(ProjectId project, double now, stream::Emitter& out);
  std::uint64_t ExpireWorkunit(ProjectId project, const stream::Key& key, stream::Emitter& out);
  const Decided* FindDecided(ProjectId project, WorkunitId workunit);
  void RememberDecided(ProjectId project, WorkunitId workunit, const Decided& decided);
  // Lets go of up to `blocks` blocks whose days are over.
  void Forget(std::size_t blocks);

  GrantsOptions options_;
  stream::Table<OpenWorkunit> open_;
  stream::Table<DecidedBlock> decided_;
  stream::Table<wire::ProjectView> projects_;
  stream::Table<SortedClaim> sorted_;
  stream::Table<MovedByClaims> moved_;
  stream::Table<ChangedWindow> changed_windows_;  // by project
  stream::Calendar calendar_;                     // blocks, by the day after which they may go
  stream::Marks marks_;
  std::uint64_t sorted_count_ = 0;           // derived: rows of `sorted_`, which all go together
  std::vector<credit::Claim> claims_;        // reused
  std::vector<stream::RecordView> records_;  // of claims_; their bytes lie in open workunits
  credit::Claim claim_;                      // reused
  std::string bytes_;
  struct FirstDue {
    double time = 0;             // UNIX s: no open workunit expires before it
    double shortest_window = 0;  // s, of the project's apps
  };
  // By project. Derived: absent means not known, look at all open workunits.
  std::map<std::uint32_t, FirstDue> first_due_;
  stage::Expiry expiry_;
  stage::CommitBudget budget_;
};

}  // namespace cobblestone::grants

// GRANTS, by workunit: collects the claims of a workunit, settles it by its app's policy, and writes one grant
// per valid result to the ledger. Decided workunits are remembered for two of the app's longest windows
// (stage::Horizon): a late result gets the same credit as the other results.
// Time: after a watermark has arrived from every partition of CLAIMS, workunits expire, and the watermark is
// written to the ledger.
//
// In: control, claims of one partition. Out: grants, refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/credit/model/model.h"
#include "common/stream/calendar.h"
#include "common/stream/processor.h"
#include "common/stream/table.h"
#include "common/stream/watermarks.h"
#include "common/wire/control/topics.h"
#include "services/stage/expiry.h"
#include "services/stage/project_view.h"

namespace cobblestone::grants {

// A claim that waits for the other claims of its validation pass.
struct WaitingClaim {
  ResultId result;
  HostId host;
  std::uint32_t pass = 0;  // number of the validation pass
  bool counts = false;     // false: a notice that there will be no claim
  std::uint64_t end = 0;   // end of the claim in OpenWorkunit::bytes
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.result, s.host, s.pass, s.counts, s.end, s.offset, s.append_time);
  }
};

// The claim of a late result that waits for the decision of its workunit.
struct LateClaim {
  std::string bytes;
  std::uint64_t offset = 0;
  double append_time = 0;  // UNIX s

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.bytes, s.offset, s.append_time);
  }
};

// A workunit with missing claims. Claims are stored as bytes, because the ledger contains them unchanged.
struct OpenWorkunit {
  double since = 0;  // event time of the earliest claim
  std::vector<WaitingClaim> claims;
  std::string bytes;  // of `claims`, one after the other
  std::vector<LateClaim> late;
  // Late trickles (wire/ledger/claim_codec.h) and claims with kClaimPaidBefore that wait for the decision.
  std::vector<std::string> late_trickles;
  std::vector<std::string> paid_before;

  // Valid until the next change.
  [[nodiscard]] std::string_view BytesOf(std::size_t claim) const {
    const std::size_t begin = claim == 0 ? 0 : claims[claim - 1].end;
    return std::string_view(bytes).substr(begin, claims[claim].end - begin);
  }
  void Add(WaitingClaim claim, std::string_view claim_bytes) {
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
    f(s.since, s.claims, s.bytes, s.late, s.late_trickles, s.paid_before);
  }
};

// The grants of a workunit's results.
struct Decided {
  std::uint8_t place = 0;  // place in its block
  std::int32_t day = 0;    // UNIX day; the decision is forgotten when its day is before the app's horizon
  std::uint64_t app = 0;
  double credit = 0;  // Cobblestones before rounding
  std::int64_t credit_micro = 0;
  std::uint64_t canonical_result = 0;
  std::uint64_t line = 0;
  // The results with a grant: varints, each the difference to the previous result. The string object holds two or
  // three results without an allocation.
  std::string granted;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.place, s.day, s.app, s.credit, s.credit_micro, s.canonical_result, s.line, s.granted);
  }
};

// Decided workunits of one block of adjacent numbers: one row instead of up to 32. A block is filed in the
// calendar as long as it exists.
struct DecidedBlock {
  std::vector<Decided> workunits;  // ascending by place

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.workunits);
  }
};

// `order: lockstep`: a claim that waits for the next watermark, where claims are processed in the order (line,
// result, host): the order of two hosts that claim one result must not depend on their partitions. Key: a
// number in order of arrival.
struct BufferedClaim {
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

// `order: lockstep`; one row. Records that partitions of CLAIMS have sent each other since the last barrier.
struct MovedByClaims {
  std::uint64_t records = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.records);
  }
};

// Tables of a slot, as stored (numbers are unique over all stages).
inline constexpr stream::TableSpec<OpenWorkunit> kOpenTable{.id = 16, .version = 1};
inline constexpr stream::TableSpec<DecidedBlock> kDecidedTable{.id = 17, .version = 1};
inline constexpr stream::TableSpec<stage::ProjectView> kProjectsTable{.id = 18, .version = 1};
inline constexpr stream::TableSpec<BufferedClaim> kBufferedTable{.id = 22, .version = 1};
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
  bool lockstep = false;                                     // `order: lockstep`
  std::size_t rows_per_commit = stage::CommitBudget::kRows;  // for tests
};

class GrantsStage final : public stream::Stage {
 public:
  enum Input : std::size_t { kControl, kClaims };
  static std::vector<stream::TopicPartition> Inputs(std::uint32_t partition);

  GrantsStage(const GrantsOptions& options, stream::TableHost& tables);

  // Claims are read only after the `control` records under which CLAIMS made them have been applied here.
  [[nodiscard]] bool Ready(std::size_t input) const override {
    return input != kClaims || watermarks_.caught_up();
  }
  void Process(std::size_t input, const stream::RecordView& record, stream::Emitter& out) override;
  void Finish(stream::Emitter& out) override;
  [[nodiscard]] bool Unfinished() const override {
    return watermarks_.begun() || changed_windows_.rows() > 0;
  }
  Status Opened() override;
  [[nodiscard]] std::vector<stream::TableBase*> tables() override;

  stream::Table<OpenWorkunit>& open() { return open_; }
  stream::Table<DecidedBlock>& decided() { return decided_; }
  stream::Table<stage::ProjectView>& projects() { return projects_; }
  // Each watermark that has passed has a record in every partition of the ledger.
  stream::Watermarks& watermarks() { return watermarks_; }

 private:
  void OnControl(const stream::RecordView& record, stream::Emitter& out);
  void OnPassed(const stream::RecordView& record, stream::Emitter& out);
  void PassWatermarks(stream::Emitter& out);
  void Buffer(const stream::RecordView& record, stream::Emitter& out);
  void ProcessBuffered(stream::Emitter& out);
  void ProcessClaim(const stream::RecordView& record, stream::Emitter& out);
  void OnClaim(const stream::RecordView& record, stream::Emitter& out);
  bool AddTo(OpenWorkunit& open, const credit::Claim& claim, const stream::RecordView& record,
             stream::Emitter& out);
  // Settles one validation pass with those of its claims that have arrived.
  void Settle(stream::Key key, ProjectId project, WorkunitId workunit, std::uint32_t pass,
              stream::Emitter& out);
  // Grants a late result the credit of the other results, unless it already has a grant; records the grant in
  // `decided`. `record`: the claim as it arrived.
  void GrantLate(Decided& decided, const credit::Claim& claim, const stream::RecordView& record,
                 stream::Emitter& out);
  void EmitGrant(const credit::Claim& claim, std::string_view claim_bytes, double credit, std::int64_t micro,
                 credit::Mode mode, std::uint64_t line, double time, std::uint32_t flags, double cap,
                 std::uint64_t canonical, stream::Emitter& out);
  void OnLateTrickle(const stream::RecordView& record, stream::Emitter& out);
  // True while a claim of the result, from any host, waits for the decision. A result has at most one grant, and the
  // payments for its trickles are settled against this grant.
  [[nodiscard]] bool AwaitsDecision(const stream::Key& key, const OpenWorkunit& open, ResultId result) const;
  // Payments for a result's trickles that its claim does not include.
  void OnPaidBefore(const stream::RecordView& record, stream::Emitter& out);
  void SettleBefore(const credit::Claim& paid, credit::MicroCredit granted, stream::Emitter& out);
  // `decided` null: the workunit gives no grant. Entries whose result still waits for a decision are kept in `left`.
  void SettlePaidBefore(const stream::Key& key, const std::vector<std::string>& all, const Decided* decided,
                        OpenWorkunit* left, stream::Emitter& out);
  // Pays a trickle that arrived after its job's end: the part of the result's worth beyond its grant.
  void PayLateTrickle(const stream::Key& key, std::string_view bytes, credit::MicroCredit granted,
                      stream::Emitter& out);
  // For a claim without a grant: the payments for its trickles become final.
  void SettleUnpaid(const credit::Claim& claim, stream::Emitter& out);
  // False: the commit's budget is spent, and some due workunits are left.
  bool Expire(ProjectId project, double now, stream::Emitter& out);
  std::uint64_t ExpireWorkunit(ProjectId project, const stream::Key& key, stream::Emitter& out);
  const Decided* FindDecided(ProjectId project, WorkunitId workunit);
  void RememberDecided(ProjectId project, WorkunitId workunit, const Decided& decided);
  // Deletes up to `blocks` blocks whose retention has ended.
  void Forget(std::size_t blocks);

  GrantsOptions options_;
  stream::Table<OpenWorkunit> open_;
  stream::Table<DecidedBlock> decided_;
  stream::Table<stage::ProjectView> projects_;
  stream::Table<BufferedClaim> buffered_;
  stream::Table<MovedByClaims> moved_;
  stream::Table<ChangedWindow> changed_windows_;  // by project
  stream::Calendar calendar_;                     // blocks, by the day after which they may be deleted
  stream::Watermarks watermarks_;
  std::uint64_t buffered_count_ = 0;         // derived: rows of `buffered_`, which are all processed together
  std::vector<credit::Claim> claims_;        // reused
  std::vector<stream::RecordView> records_;  // of claims_; their bytes lie in open workunits
  credit::Claim claim_;                      // reused
  std::string bytes_;
  struct FirstDue {
    double time = 0;             // UNIX s: no open workunit expires before it
    double shortest_window = 0;  // s, of the project's apps
  };
  // By project. Derived: absent means unknown, so all open workunits are examined.
  std::map<std::uint32_t, FirstDue> first_due_;
  stage::Expiry expiry_;
  stage::CommitBudget budget_;
};

}  // namespace cobblestone::grants

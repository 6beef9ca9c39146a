// What a clean audit leaves for the next one (`audit --since`): how far it has read the ledger, and the sums of each
// account up to there. A file with a checksum. Its accounts are read and written one by one, so that memory does not
// grow with their number.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/stream/hash128.h"
#include "services/audit/account_balance.h"

namespace cobblestone::audit {

// How far a partition of a topic has been read, and what was there: a ledger with another record at this place is
// another ledger.
struct AuditedEnd {
  std::uint64_t next = 0;  // the next record to read
  std::uint64_t last = 0;  // offset of the last record before; hash zero: there was none
  stream::Hash128 hash;    // of the records at `last`

  friend bool operator==(const AuditedEnd&, const AuditedEnd&) = default;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.next, s.last, s.hash);
  }
};

// Records of a host that moved: sent by one partition, and read by the audit in others.
struct AuditedArrival {
  std::uint32_t from = 0;
  std::uint32_t project = 0;
  std::uint64_t host = 0;
  std::uint64_t records = 0;
  credit::MicroTotal micro = 0;
  std::uint64_t grants = 0;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.from, s.project, s.host, s.records, s.micro, s.grants);
  }
};

struct AuditRecord {
  double at = 0;                              // UNIX s, time of the audit
  double full_at = 0;                         // of the last one that read all
  std::uint64_t grants = 0;                   // final grants, from the beginning of the ledger
  std::vector<std::uint32_t> rules_versions;  // of the state, by partition; 0: it had no commit yet
  std::vector<AuditedEnd> grants_ends;
  std::vector<AuditedEnd> postings_ends;
  std::uint64_t refused_end = 0;
  std::vector<AuditedArrival> arrivals;
  std::string estimates;  // EstimateAudit::Save()
  std::string merges;     // MergeAudit::Save()

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.at, s.full_at, s.grants, s.rules_versions, s.grants_ends, s.postings_ends, s.refused_end, s.arrivals,
      s.estimates, s.merges);
  }

  // kNotFound: no such file. kCorrupted: the file does not have its checksum; nothing was visited. `visit`: the sum of
  // each account; may be empty.
  static Result<AuditRecord> Load(
      const std::string& path,
      const std::function<void(const AccountBalance::Account&, const AuditedSum&)>& visit);
};

// Writes a record beside the file that it replaces.
class AuditRecordWriter {
 public:
  explicit AuditRecordWriter(std::string path);
  ~AuditRecordWriter();  // without Finish(): the file that was there stays
  AuditRecordWriter(const AuditRecordWriter&) = delete;
  AuditRecordWriter& operator=(const AuditRecordWriter&) = delete;

  void Add(const AccountBalance::Account& account, const AuditedSum& sum);
  // Replaces the file, durably.
  Status Finish(const AuditRecord& record);

 private:
  void Write(const void* bytes, std::size_t size);

  const std::string path_;
  std::ofstream file_;
  stream::Hasher hasher_;
  std::uint64_t accounts_ = 0;
  bool finished_ = false;
};

}  // namespace cobblestone::audit

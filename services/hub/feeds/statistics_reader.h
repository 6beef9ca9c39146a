// Reads a statistics file of a BOINC project record by record: users, hosts or teams, as db_dump or this project's own
// exporter writes them.
//
// Two steps, because 95 of 100 records are those of yesterday:
//   while (reader->Next(&record)) {
//     if (record.repeated || Known(record.id, record.hash)) continue;   // the hash covers all bytes of the record
//     if (reader->ReadUser(record, &user)) stage(user);
//   }
//   if (!reader->accepted()) hold(reader->refusals());                  // and drop everything that was staged
//   else Judge(reader->summary(), ...);                                 // acceptance.h
//
// Invariant: a file is accepted as a whole or not at all. A bad record refuses the file; reading continues at the next
// line <user>, <host> or <team>, so that an operator sees more than the first problem. Nothing of a file may take
// effect before Next() has returned false and accepted() is true.
//
// Owner: one thread at a time. Memory: 2.5 MiB, and 32 bytes for each 64 neighbouring ids of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/credit/accounts/account.h"
#include "common/stream/hash128.h"
#include "services/hub/feeds/feed_input.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/feeds/figures.h"
#include "services/hub/feeds/file_problem.h"
#include "services/hub/feeds/id_set.h"
#include "services/hub/feeds/statistics_fields.h"

namespace cobblestone::hub {

enum class RecordKind : std::uint8_t { kUser, kHost, kTeam };
// "user", "host", "team".
std::string_view RecordKindName(RecordKind kind);
// What stays with an account for its life: create_time of a user, userid of a host (its owner) and of a team (its founder).
std::string_view LastingElement(RecordKind kind);

struct StatisticsRecord {
  std::uint64_t id = 0;
  CreditFigure total_credit{};
  // Of the bytes of `text`. The same contents on another day have the same hash.
  stream::Hash128 hash{};
  // An earlier record of this file, or of an earlier file of its set, has the same id: with several consents of one second
  // BOINC writes a user or host once for each. It is not counted a second time. The reader refuses other contents directly
  // behind the first; the caller, who keeps the hash of each record, compares the others.
  bool repeated = false;
  // Between the tags; a team without its members. Valid until the next call of Next().
  std::string_view text{};
  std::uint64_t line = 0;  // of the opening tag
};

// What a file says in all. Repeated records are counted in `repeated` alone.
struct FileSummary {
  RecordKind kind = RecordKind::kUser;
  std::uint64_t records = 0;
  std::uint64_t repeated = 0;
  credit::MicroTotal total_credit = 0;
  credit::MicroCredit largest_credit = 0;
  std::uint64_t largest_id = 0;
  // The most decimals of a total: 6, except in files of other exporters.
  std::uint8_t decimals = 0;
  // Of the hashes of all records, in order, and of `bytes`. Between records an accepted file has blanks only, and members
  // of teams, which nothing reads.
  stream::Hash128 contents{};
  std::uint64_t bytes = 0;

  // A file set with numbers in its names is one file: user_0.gz, user_1.gz, ...
  FileSummary& operator+=(const FileSummary& next);
};

struct ReaderLimits {
  InputLimits input{};
  // BOINC cuts texts at 255 bytes, and misc and description at 65,535.
  std::size_t longest_record = 1u << 20;
  // Reading stops behind so many problems.
  std::size_t most_problems = 1000;
};

class StatisticsReader {
 public:
  // `name` is for messages. kNotFound: the file cannot be opened. Everything else is a refusal.
  static Result<std::unique_ptr<StatisticsReader>> OpenFile(RecordKind kind, const std::string& path,
                                                            const std::string& name,
                                                            const ReaderLimits& limits = {});
  // `bytes` must outlive the reader.
  static std::unique_ptr<StatisticsReader> OverBytes(RecordKind kind, std::string_view bytes,
                                                     const std::string& name,
                                                     const ReaderLimits& limits = {});

  // Before the first Next(): the file belongs to a set, whose ids are kept there. `ids` must outlive the reader.
  void ShareIds(IdSet* ids) { ids_ = ids; }

  // The next whole record; false at the end of the file or when reading stops.
  bool Next(StatisticsRecord* record);

  // The fields of the record that Next() returned last; of the kind of this file (CHECK). False: a field is bad, and
  // the file is refused. Notes the texts for charset().
  bool ReadUser(const StatisticsRecord& record, UserFields* user);
  bool ReadHost(const StatisticsRecord& record, HostFields* host, HostPart part = HostPart::kAll);
  bool ReadTeam(const StatisticsRecord& record, TeamFields* team);

  // After Next() has returned false: no problem was found. An empty list of records is no problem here.
  [[nodiscard]] bool accepted() const { return problems_ == 0; }
  // The first 20 problems in the order of the file, and how many there were.
  [[nodiscard]] const std::vector<FileRefusal>& refusals() const { return refusals_; }
  [[nodiscard]] std::size_t problems() const { return problems_; }
  // After Next() has returned false, if accepted().
  [[nodiscard]] const FileSummary& summary() const { return summary_; }
  // Of the texts of those records whose fields were read.
  [[nodiscard]] const CharsetEvidence& texts() const { return texts_; }

 private:
  StatisticsReader(RecordKind kind, std::string name, std::unique_ptr<FeedInput> input,
                   const ReaderLimits& limits);

  // The bytes that are read and not consumed.
  [[nodiscard]] std::string_view Unread() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Reads more; false: there is no more, or the buffer is full. Views of Unread() are not valid behind it.
  bool Fill();
  // At least `count` unread bytes, or all that there are.
  std::string_view Look(std::size_t count);
  void Consume(std::size_t count);
  void SkipBlanks();
  // Consumes what is unread up to the next line that begins with one of the tags; at least one byte.
  void SkipToLine(std::string_view tag, std::string_view other);

  bool ReadStart();
  void ReadEnd();
  // The record at whose opening tag reading is. False: it is bad, and was consumed up to a place to continue.
  bool ReadRecord(StatisticsRecord* record);
  bool FindEnd(StatisticsRecord* record);
  // id, total_credit and hash.
  bool ReadHead(StatisticsRecord* record);
  void RefuseCut(std::string_view text);
  void ConsumeRecord();
  void SkipMembers();
  void Count(StatisticsRecord* record);
  void SampleHost(const StatisticsRecord& record);
  bool Finish();
  void Refuse(FileProblem problem, std::uint64_t line, std::string detail);
  void SkipBytesBetween(const std::string& begin);
  void RefuseBytes(std::string_view bytes, std::uint64_t line);
  bool Judge(const StatisticsRecord& record, const FieldProblem& found);

  const RecordKind kind_;
  const std::string name_;
  const ReaderLimits limits_;
  const std::unique_ptr<FeedInput> input_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t pending_ = 0;  // of the record that Next() returned last, consumed by the next call
  std::uint64_t pending_lines_ = 0;
  std::uint64_t line_ = 1;  // of the first unread byte
  bool started_ = false;
  bool finished_ = false;
  bool closed_ = false;      // the closing tag of the document was read
  bool in_members_ = false;  // of a team, whose own part was returned
  IdSet own_ids_;
  IdSet* ids_ = &own_ids_;
  std::uint64_t last_id_ = 0;
  stream::Hash128 last_hash_{};
  std::uint64_t sampled_hosts_ = 0;
  std::uint64_t shifted_hosts_ = 0;
  std::uint64_t first_shifted_line_ = 0;
  FileSummary summary_;
  std::unique_ptr<stream::Hasher> contents_;
  CharsetEvidence texts_;
  std::vector<FileRefusal> refusals_;
  std::size_t problems_ = 0;
};

}  // namespace cobblestone::hub

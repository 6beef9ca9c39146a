#include "services/hub/collector/edition_maker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "common/wire/events/event_codec.h"
#include "common/wire/events/events.h"
#include "common/wire/events/feed_account_codec.h"
#include "common/wire/events/feed_reason.h"
#include "common/wire/events/text_limits.h"
#include "services/hub/collector/record_file.h"
#include "services/hub/collector/record_index.h"
#include "services/hub/feeds/feed_text.h"
#include "services/hub/feeds/next_step.h"

namespace cobblestone::hub {

namespace {

constexpr std::uint64_t kReportEvery = 16u << 20;  // bytes
constexpr std::size_t kProblemsShown = 3;

// The first byte of what pass one stages for an account: its event, if its texts are the same in every charset, else its record.
constexpr char kStagedEvent = 'E';
constexpr char kStagedRecord = 'R';

wire::AccountKind KindOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kUser: return wire::AccountKind::kUser;
    case RecordKind::kHost: return wire::AccountKind::kHost;
    case RecordKind::kTeam: break;
  }
  return wire::AccountKind::kTeam;
}

// A record whose id an earlier record of the set has. The index, once it is written, has the hash of the earlier record.
struct Repetition {
  std::uint64_t id = 0;
  std::uint64_t hash = 0;
  std::uint64_t line = 0;
  std::uint64_t file = 0;  // index in EditionRequest::files
};

// Pass one over the files of one kind.
struct ReadKind {
  FileSummary summary;
  IdSet ids;  // of all files of the set
  std::optional<RecordChanges> changes;
  CharsetEvidence texts;
  std::vector<std::string> problems;
  std::vector<std::uint64_t> gone;
  std::uint64_t changed = 0;
};

class Maker {
 public:
  explicit Maker(const EditionRequest& request) : request_(request) {}

  Result<MadeEdition> Make() {
    made_.memory = request_.memory;
    accepted_ = request_.memory;
    made_.accepted = true;
    if (Status s = OpenIndexes(); !s.ok()) return s;
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
      if (Status s = Read(n); !s.ok()) return s;
    made_.confirmable = !made_.accepted && confirmable_;
    if (!made_.accepted) AddNextStep();
    if (Status s = WriteEvents(); !s.ok()) return s;
    if (made_.accepted) made_.memory = std::move(accepted_);
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool Has(std::size_t n) const { return !request_.files[n].empty(); }
  [[nodiscard]] std::string ChangedPath(std::size_t n) const {
    return request_.work + "/" + std::string(RecordKindName(kRecordKinds[n])) + ".changed";
  }

  [[nodiscard]] std::string RepeatedPath(RecordKind kind) const {
    return request_.work + "/" + std::string(RecordKindName(kind)) + ".repeated";
  }
  static std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  void Hold(const std::string& reason) {
    made_.accepted = false;
    if (!made_.reason.empty()) made_.reason += "; ";
    made_.reason += reason;
  }

  void AddNextStep() {
    const bool unread = std::any_of(made_.refused.begin(), made_.refused.end(), [](bool one) { return one; });
    steps_.Add(HowItEnds(unread         ? HeldEnd::kByProject
                         : confirmable_ ? HeldEnd::kByItself
                                        : HeldEnd::kByOperator,
                         request_.project));
    made_.next_step = steps_.Text();
  }

  // The first few are shown.
  void NoteProblem(const FileRefusal& problem, ReadKind& read) {
    if (read.problems.size() >= kProblemsShown) return;
    read.problems.push_back(problem.Text());
    steps_.Add(NextStep(problem.problem));
  }

  // Without one of the indexes the accounts that are gone are unknown: then all accounts are sent. The files whose index is
  // there are compared with it all the same.
  Status OpenIndexes() {
    for (std::size_t n = 0; n < kRecordKinds.size(); ++n) {
      if (!Has(n)) continue;
      auto index = RecordIndex::OpenIntact(request_.indexes + "/" + IndexName(kRecordKinds[n]));
      if (!index.ok()) return index.status();
      if (*index) read_[n].changes.emplace();
      if (*index) indexes_[n] = std::move(**index);
      if (!*index) made_.whole = true;
    }
    return Status::Ok();
  }

  Status Read(std::size_t n) {
    const RecordKind kind = kRecordKinds[n];
    if (!Has(n)) return Status::Ok();
    auto writer = RecordIndexWriter::Create(request_.work + "/" + IndexName(kind));
    if (!writer.ok()) return writer.status();
    auto staged = RecordFile::Create(ChangedPath(n));
    if (!staged.ok()) return staged.status();
    ReadKind& read = read_[n];
    read.summary.kind = kind;
    for (std::size_t file = 0; file < request_.files[n].size(); ++file)
      if (Status s = ReadFile(n, file, *writer, *staged); !s.ok()) return s;
    if (read.changes) {
      read.changes->missing = indexes_[n].unseen();
      if (read.changes->ManyChanged(request_.limits))
        indexes_[n].ForEach(
            [&](const IndexedRecord& record) { read.changes->totals.NoteOld(record.total_micro); });
      if (!made_.whole)
        indexes_[n].ForEachUnseen([&](const IndexedRecord& record) { read.gone.push_back(record.id); });
    }
    if (Status s = writer->Finish(); !s.ok()) return s;
    if (Status s = staged->FinishTemporary(); !s.ok()) return s;
    if (Status s = CompareRepetitions(n); !s.ok()) return s;
    Judge(n);
    return Status::Ok();
  }

  Status NoteRepetition(RecordKind kind, const Repetition& repetition) {
    if (!repetitions_) {
      auto file = RecordFile::Create(RepeatedPath(kind));
      if (!file.ok()) return file.status();
      repetitions_.emplace(std::move(*file));
    }
    repetitions_->Add({reinterpret_cast<const char*>(&repetition), sizeof repetition});
    return Status::Ok();
  }

  // One record a second time is harmless. Two different records of one id do not add up, and either may be the right one.
  Status CompareRepetitions(std::size_t n) {
    if (!repetitions_) return Status::Ok();
    const RecordKind kind = kRecordKinds[n];
    const Status written = std::exchange(repetitions_, std::nullopt)->FinishTemporary();
    if (!written.ok()) return written;
    auto index = RecordIndex::Open(request_.work + "/" + IndexName(kind));
    if (!index.ok()) return index.status();
    auto file = RecordFileReader::Open(RepeatedPath(kind));
    if (!file.ok()) return file.status();
    std::string_view bytes;
    auto found = file->Next(&bytes);
    for (; found.ok() && *found; found = file->Next(&bytes)) {
      Repetition repetition;
      std::memcpy(&repetition, bytes.data(), sizeof repetition);
      const IndexedRecord* first = index->Find(repetition.id);
      if (first != nullptr && SameBytes(first->hash, repetition.hash)) continue;
      NoteProblem({.problem = FileProblem::kTwoContents,
                   .file = NameOf(request_.files[n][repetition.file]),
                   .line = repetition.line,
                   .detail = "id " + std::to_string(repetition.id)},
                  read_[n]);
    }
    std::remove(RepeatedPath(kind).c_str());
    return found.ok() ? Status::Ok() : found.status();
  }

  Status ReadFile(std::size_t n, std::size_t file, RecordIndexWriter& writer, RecordFile& staged) {
    const RecordKind kind = kRecordKinds[n];
    const std::string& path = request_.files[n][file];
    RecordIndex& index = indexes_[n];
    ReadKind& read = read_[n];
    auto reader = StatisticsReader::OpenFile(kind, path, NameOf(path));
    if (!reader.ok()) return reader.status();
    (*reader)->ShareIds(&read.ids);
    StatisticsRecord record;
    while ((*reader)->Next(&record)) {
      if (record.repeated) {
        if (Status s = NoteRepetition(
                kind, {.id = record.id, .hash = record.hash.low, .line = record.line, .file = file});
            !s.ok())
          return s;
        continue;
      }
      const IndexedRecord* before = index.Find(record.id);
      if (read.changes)
        read.changes->Note(record.id, before == nullptr ? std::nullopt : std::optional(before->total_micro),
                           record.total_credit.micro);
      Report(record.text.size());
      const bool unchanged = before != nullptr && SameBytes(before->hash, record.hash.low);
      if (unchanged) writer.Add(*before);
      if (unchanged && !made_.whole) continue;
      plain_ = true;
      if (!ReadAccount(kind, **reader, record)) continue;  // the file is refused, and its index is not used
      if (!unchanged) {
        const RecordMarks marks = AccountMarks(kind);
        writer.Add({.id = record.id,
                    .hash = MarkedHash(record.hash.low, marks),
                    .total_micro = record.total_credit.micro});
        if (before != nullptr) CountMarks(kind, MarksOf(before->hash), marks, read);
      }
      if (plain_) {
        bytes_.assign(1, kStagedEvent);
        AppendAccount(&bytes_);
      } else {
        bytes_.assign(1, kStagedRecord);
        bytes_ += record.text;
      }
      staged.Add(bytes_);
      ++read.changed;
    }
    for (const FileRefusal& problem : (*reader)->refusals()) NoteProblem(problem, read);
    if ((*reader)->accepted()) read.summary += (*reader)->summary();
    read.texts += (*reader)->texts();
    return Status::Ok();
  }

  // Of account_.
  [[nodiscard]] RecordMarks AccountMarks(RecordKind kind) const {
    const bool user = kind == RecordKind::kUser;
    const auto lasting = user ? static_cast<std::uint64_t>(account_.create_time) : account_.owner;
    return {.lasting = lasting == 0 ? std::uint8_t{0} : MarkOf(std::to_string(lasting)),
            .cross_project_id = MarkOf(account_.cross_project_id)};
  }

  // A user who hides the computers takes their owner and their ids out of the file. A user's own values always stay.
  static void CountMarks(RecordKind kind, RecordMarks before, RecordMarks now, ReadKind& read) {
    if (!read.changes) return;
    const auto other = [kind](std::uint8_t mark_before, std::uint8_t mark) {
      return mark_before != 0 && mark != mark_before && (mark != 0 || kind == RecordKind::kUser);
    };
    read.changes->replaced += other(before.lasting, now.lasting) ? 1 : 0;
    read.changes->other_ids += other(before.cross_project_id, now.cross_project_id) ? 1 : 0;
  }

  // To account_. False: a field is bad, which refuses the file.
  bool ReadAccount(RecordKind kind, StatisticsReader& reader, const StatisticsRecord& record) {
    switch (kind) {
      case RecordKind::kUser: {
        UserFields user;
        if (!reader.ReadUser(record, &user)) return false;
        SetUser(user);
        return true;
      }
      case RecordKind::kHost: {
        HostFields host;
        if (!reader.ReadHost(record, &host, HostPart::kAccount)) return false;
        SetHost(host);
        return true;
      }
      case RecordKind::kTeam: break;
    }
    TeamFields team;
    if (!reader.ReadTeam(record, &team)) return false;
    SetTeam(team);
    return true;
  }

  void Judge(std::size_t n) {
    const ReadKind& read = read_[n];
    KindMemory& memory = made_.memory[n];
    const std::string name(RecordKindName(kRecordKinds[n]));
    made_.sums.push_back({.kind = KindOf(kRecordKinds[n]),
                          .accounts = read.summary.records,
                          .total_micro = read.summary.total_credit,
                          .changed = read.changed + read.gone.size()});
    AddNotShown(kRecordKinds[n], read.summary, made_.sums.back());
    if (!read.problems.empty()) {
      std::string reason;
      for (const std::string& problem : read.problems) reason += (reason.empty() ? "" : "; ") + problem;
      made_.refused[n] = true;
      confirmable_ = false;
      return Hold(reason);
    }
    const Judgement judgement =
        JudgeFile({.summary = read.summary,
                   .tables_before = request_.tables_before,
                   .tables_after = request_.tables_after,
                   .changes = read.changes,
                   .fetched = request_.fetched},
                  memory.accepted ? &*memory.accepted : nullptr, memory.held ? &*memory.held : nullptr,
                  memory.released ? &*memory.released : nullptr, request_.limits);
    if (!judgement.accepted) {
      if (!memory.held || memory.held->contents != read.summary.contents)
        memory.held = {.contents = read.summary.contents, .fetched = request_.fetched};
      memory.released.reset();  // a release is for other contents
      confirmable_ =
          confirmable_ && std::all_of(judgement.holds.begin(), judgement.holds.end(),
                                      [](const hub::Hold& hold) { return Confirmable(hold.reason); });
      for (const hub::Hold& hold : judgement.holds) steps_.Add(NextStep(hold.reason));
      return Hold(name + "s: " + judgement.Text());
    }
    if (judgement.released || judgement.confirmed) {
      if (!made_.reason.empty()) made_.reason += "; ";
      made_.reason += (judgement.released ? "released by an operator: " : "confirmed by a second fetch: ") +
                      judgement.Text();
    }
    released_ = released_ || judgement.released;
    accepted_[n] = {.accepted = AcceptedFile{.summary = read.summary,
                                             .update_time = Published(),
                                             .announced = Announced(kRecordKinds[n])}};
  }

  // tables.xml counts the users before the export leaves out those without consent. A difference within the rounding of
  // its total, which is a sum of doubles, is none.
  void AddNotShown(RecordKind kind, const FileSummary& summary, wire::FeedSum& sum) const {
    if (kind != RecordKind::kUser || !request_.tables_after || !request_.tables_after->total_credit) return;
    const std::uint64_t announced = request_.tables_after->users.value_or(0);
    const credit::MicroTotal total = request_.tables_after->total_credit->micro;
    const auto rounding =
        static_cast<credit::MicroTotal>(static_cast<double>(total) * request_.limits.sum_differs) +
        static_cast<credit::MicroTotal>(summary.records) + 1;
    if (announced <= summary.records || total <= summary.total_credit + rounding) return;
    sum.not_shown = announced - summary.records;
    sum.not_shown_micro = total - summary.total_credit;
  }

  [[nodiscard]] std::uint64_t Published() const {
    return request_.tables_after ? request_.tables_after->update_time : 0;
  }
  [[nodiscard]] std::optional<std::uint64_t> Announced(RecordKind kind) const {
    if (!request_.tables_after) return std::nullopt;
    switch (kind) {
      case RecordKind::kUser: return request_.tables_after->users;
      case RecordKind::kHost: return request_.tables_after->hosts;
      case RecordKind::kTeam: break;
    }
    return request_.tables_after->teams;
  }

  // ---- Pass two ---------------------------------------------------------------------------------------------------

  // An edition belongs to the day on which its files were exported, which is never after the fetch.
  [[nodiscard]] double Time() const {
    const auto published = static_cast<double>(Published());
    return published > 0 ? std::min(published, request_.fetched) : request_.fetched;
  }

  Status WriteEvents() {
    auto out = RecordFile::Create(request_.work + "/" + kEventsName);
    if (!out.ok()) return out.status();
    if (made_.accepted) {
      AddEdition(*out, wire::EditionState::kBegun);
      for (std::size_t n = 0; n < kRecordKinds.size(); ++n)
        if (Has(n))
          if (Status s = AddAccounts(n, *out); !s.ok()) return s;
      // Readers see the edition once it is complete: every account must have been processed before.
      out->Add(wire::EncodeEvent(
          {.head = {.id = request_.edition, .project = {}, .time = Time()}, .body = wire::Barrier{}}));
      AddEdition(*out, wire::EditionState::kComplete);
    } else {
      AddEdition(*out, wire::EditionState::kHeld);
    }
    made_.events = out->count();
    return out->Finish();
  }

  void AddEdition(RecordFile& out, wire::EditionState state) {
    wire::FeedEdition edition{.edition = request_.edition,
                              .state = state,
                              .published_time = static_cast<double>(Published()),
                              .whole = made_.whole};
    if (state != wire::EditionState::kBegun) {
      edition.sums = made_.sums;
      edition.reason = wire::ReasonWithStep(made_.reason, made_.next_step);
      edition.released = released_;
    }
    const std::uint64_t id = 2 * request_.edition + (state == wire::EditionState::kBegun ? 0 : 1);
    out.Add(wire::EncodeEvent(
        {.head = {.id = id, .project = request_.project, .time = Time()}, .body = std::move(edition)}));
  }

  // The event of account_.
  void AppendAccount(std::string* out) {
    account_.edition = request_.edition;
    wire::EncodeFeedAccount({.id = request_.edition, .project = request_.project, .time = Time()}, account_,
                            out);
  }

  Status AddAccounts(std::size_t n, RecordFile& out) {
    const RecordKind kind = kRecordKinds[n];
    charset_ = read_[n].texts.Decide();
    auto changed = RecordFileReader::Open(ChangedPath(n));
    if (!changed.ok()) return changed.status();
    std::string_view staged;
    auto found = changed->Next(&staged);
    for (; found.ok() && *found; found = changed->Next(&staged)) {
      const std::string_view bytes = staged.substr(1);
      if (staged[0] == kStagedEvent) {
        out.Add(bytes);
      } else {
        SetAccount(kind, bytes);
        AddAccount(out);
      }
    }
    if (!found.ok()) return found.status();
    for (const std::uint64_t id : read_[n].gone) {
      account_ = {.kind = KindOf(kind), .account = id, .gone = true};
      AddAccount(out);
    }
    std::remove(ChangedPath(n).c_str());
    return Status::Ok();
  }

  void AddAccount(RecordFile& out) {
    bytes_.clear();
    AppendAccount(&bytes_);
    out.Add(bytes_);
  }

  // Whether every charset reads the text as it stands, without references.
  static bool IsPlain(std::string_view escaped) {
    bool plain = true;
    for (const char c : escaped)
      plain &= static_cast<int>(c >= ' ') & static_cast<int>(c != '&') & static_cast<int>(c != '\x7f');
    return plain;
  }

  // In pass one the charset is not known yet: then only plain texts count, and plain_ says if there was another one. What is
  // longer than an event may be is cut: the hub would refuse the event, and the edition would lack the account.
  void AppendText(std::string_view escaped, std::string* to, std::size_t limit) {
    if (IsPlain(escaped)) {
      *to += escaped;
    } else {
      plain_ = false;
      *to += ToUtf8(TextBytes(escaped), charset_);
    }
    CutUtf8(limit, to);
  }

  // The record was read without a problem in pass one.
  void SetAccount(RecordKind kind, std::string_view record) {
    switch (kind) {
      case RecordKind::kUser: {
        UserFields user;
        (void)ReadUserFields(record, &user);
        return SetUser(user);
      }
      case RecordKind::kHost: {
        HostFields host;
        (void)ReadHostFields(record, &host, HostPart::kAccount);
        return SetHost(host);
      }
      case RecordKind::kTeam: break;
    }
    TeamFields team;
    (void)ReadTeamFields(record, &team);
    SetTeam(team);
  }

  // The texts keep their memory from account to account.
  template <class Fields>
  void SetCommon(wire::AccountKind kind, const Fields& from) {
    account_.kind = kind;
    account_.account = from.id;
    account_.gone = false;
    account_.total_micro = from.total_credit.micro;
    account_.recent = CreditOf(from.recent_average);
    account_.recent_time =
        std::min(from.recent_average_time, request_.fetched);  // else it would not decay until then
    account_.create_time = from.create_time;
    account_.team = account_.owner = 0;
    for (std::string* text : {&account_.name, &account_.country, &account_.url, &account_.cross_project_id,
                              &account_.description})
      text->clear();
  }

  void SetUser(const UserFields& user) {
    SetCommon(wire::AccountKind::kUser, user);
    AppendText(user.name, &account_.name, wire::kMaxName);
    AppendText(user.country, &account_.country, wire::kMaxName);
    AppendText(user.url, &account_.url, wire::kMaxText);
    account_.cross_project_id = user.cpid;
    account_.team = user.team;
  }

  void SetTeam(const TeamFields& team) {
    SetCommon(wire::AccountKind::kTeam, team);
    AppendText(team.name, &account_.name, wire::kMaxName);
    AppendText(team.country, &account_.country, wire::kMaxName);
    AppendText(team.url, &account_.url, wire::kMaxText);
    account_.owner = team.founder;
  }

  void SetHost(const HostFields& host) {
    SetCommon(wire::AccountKind::kHost, host);
    for (const std::string_view part : {host.vendor, host.model, host.os_name, host.os_version}) {
      if (part.empty()) continue;
      if (!account_.description.empty()) account_.description += ' ';
      AppendText(part, &account_.description, wire::kMaxText);
    }
    account_.cross_project_id = host.cpid;
    account_.owner = host.user;
  }

  static double CreditOf(const CreditFigure& figure) { return static_cast<double>(figure.micro) / 1e6; }

  void Report(std::size_t bytes) {
    read_bytes_ += bytes;
    if (!request_.progress || read_bytes_ < reported_ + kReportEvery) return;
    reported_ = read_bytes_;
    request_.progress(read_bytes_);
  }

  const EditionRequest& request_;
  MadeEdition made_;
  NextSteps steps_;
  bool released_ = false;
  bool confirmable_ = true;
  std::array<KindMemory, kRecordKinds.size()> accepted_;
  std::array<RecordIndex, kRecordKinds.size()> indexes_;
  std::array<ReadKind, kRecordKinds.size()> read_;
  std::optional<RecordFile> repetitions_;  // of the kind that is being read
  Charset charset_ = Charset::kUtf8;
  bool plain_ = true;
  wire::FeedAccount account_;  // reused, as is bytes_
  std::string bytes_;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace

std::string IndexName(RecordKind kind) { return std::string(RecordKindName(kind)) + ".index"; }

Result<MadeEdition> MakeEdition(const EditionRequest& request) { return Maker(request).Make(); }

}  // namespace cobblestone::hub

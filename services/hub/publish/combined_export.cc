#include "services/hub/publish/combined_export.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/credit/accounts/account.h"
#include "common/credit/model/constants.h"
#include "common/federation/identity/facts.h"
#include "common/stream/bytes.h"
#include "services/export/files/output_file.h"
#include "services/export/files/publish.h"
#include "services/export/records.h"
#include "services/export/text.h"
#include "services/export/workers.h"
#include "services/hub/snapshot/hash_tree.h"
#include "services/hub/snapshot/records.h"

namespace cobblestone::hub {
namespace {

constexpr int kCompressors = 1;
constexpr char kKeyEnd = '\0';  // between the parts of a sort key

// A number that depends on the name alone: 60 bits of its hash, so that it is positive in any reader.
std::int64_t NumberOf(std::string_view kind, std::string_view name) {
  const Hash hash = Sha256Of(std::string(kind) + " " + std::string(name));
  return static_cast<std::int64_t>(stream::LoadOrdered<std::uint64_t>(hash.data()) >> 4);
}

std::string LowerCase(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string CreditText(credit::MicroTotal micro) {
  const bool negative = micro < 0;
  std::string digits = MicroText(negative ? -micro : micro);
  if (digits.size() < 7) digits.insert(0, 7 - digits.size(), '0');
  digits.insert(digits.size() - 6, ".");
  return (negative ? "-" : "") + digits;
}

// What the accounts of one name have together.
struct Group {
  std::string name;
  credit::MicroTotal total = 0;
  double recent = 0;  // at the time of the hub
  double create_time = 0;
  SortedAccount largest;    // the account with the most credit; of equal ones the first
  std::size_t project = 0;  // of `largest`
  std::uint64_t accounts = 0;

  void Add(std::size_t of_project, SortedAccount sorted, double now) {
    const wire::FeedAccount& account = sorted.account;
    total += account.total_micro;
    recent += credit::DecayedAverage({.value = account.recent, .time = account.recent_time}, now,
                                     credit::kRecentAverageHalfLife);
    if (account.create_time > 0 && (create_time == 0 || account.create_time < create_time))
      create_time = account.create_time;
    if (accounts++ != 0 && account.total_micro <= largest.account.total_micro) return;
    largest = std::move(sorted);
    project = of_project;
  }
};

class RecordText {
 public:
  explicit RecordText(const std::string& tag) : tag_(tag), text_("<" + tag + ">\n") {}
  void Text(const char* name, std::string_view value) {
    Open(name);
    exports::AppendEscaped(exports::Cut(value), &text_);
    Close(name);
  }
  void Whole(const char* name, std::int64_t value) {
    Open(name);
    exports::AppendWhole(value, &text_);
    Close(name);
  }
  void Figures(const Group& group, double now) {
    Whole("create_time", static_cast<std::int64_t>(group.create_time));
    Text("total_credit", CreditText(group.total));
    Open("expavg_credit");
    exports::AppendFixed(group.recent, &text_);
    Close("expavg_credit");
    Open("expavg_time");
    exports::AppendFixed(now, &text_);
    Close("expavg_time");
  }
  std::string Finish() { return std::move(text_) + "</" + tag_ + ">\n"; }

 private:
  void Open(const char* name) { text_ += std::string(" <") + name + ">"; }
  void Close(const char* name) { text_ += std::string("</") + name + ">\n"; }

  const std::string tag_;
  std::string text_;
};

class Combiner {
 public:
  Combiner(const HubReader& hub, const HubAccounts& accounts, const CombinedJob& job, std::string directory)
      : hub_(hub), accounts_(accounts), job_(job), directory_(std::move(directory)), workers_(kCompressors) {}

  Result<CombinedFigures> Write() {
    if (Status s = WriteUsers(); !s.ok()) return s;
    if (Status s = WriteTeams(); !s.ok()) return s;
    if (Status s = WriteHosts(); !s.ok()) return s;
    if (Status s = WriteTables(); !s.ok()) return s;
    return figures_;
  }

 private:
  // A record of the output.
  using Combine = std::function<Result<std::string>(const Group& group)>;
  // The name under which the account is added up; empty: it is in no record.
  using NameOfAccount = std::function<Result<std::string>(std::size_t project, const SortedAccount& account)>;

  // Adds up the accounts of all projects by name, and writes one record for each name.
  Status WriteGroups(const SortedRecords& records, const std::string& file, const NameOfAccount& name_of,
                     const Combine& combine, std::uint64_t* count) {
    const auto named = SortByName(records, name_of);
    if (!named.ok()) return named.status();
    auto out = exports::OutputFile::Create(directory_, file, exports::Compression::kGzip, 0, workers_);
    if (!out.ok()) return out.status();
    if (Status s = (*out)->Append(exports::FileHead(file + "s")); !s.ok()) return s;
    auto reader = named->Read();
    Group group;
    const auto write = [&]() -> Status {
      if (group.accounts == 0) return Status::Ok();
      const auto record = combine(group);
      if (!record.ok()) return record.status();
      ++*count;
      return (*out)->Append(*record);
    };
    for (;;) {
      const auto has = reader.Next();
      if (!has.ok()) return has.status();
      if (!*has) break;
      const std::string_view name = reader.key().substr(0, reader.key().size() - kPlaceBytes);
      if (group.accounts == 0 || name != group.name) {
        if (Status s = write(); !s.ok()) return s;
        group = {.name = std::string(name)};
      }
      group.Add(stream::LoadOrdered<std::uint32_t>(reader.key().data() + name.size() + 1),
                DecodeSorted(reader.value()), hub_.time());
    }
    if (Status s = write(); !s.ok()) return s;
    if (Status s = (*out)->Append(exports::FileTail(file + "s")); !s.ok()) return s;
    const auto finished = (*out)->Finish();
    return finished.status();
  }

  Result<SortedRecords> SortByName(const SortedRecords& records, const NameOfAccount& name_of) {
    SpillSort sort(job_.scratch);
    AccountReader reader(records);
    for (std::size_t project = 0; project < hub_.projects().size(); ++project) {
      for (;;) {
        const auto has = reader.Next(project);
        if (!has.ok()) return has.status();
        if (!*has) break;
        auto name = name_of(project, reader.account());
        if (!name.ok()) return name.status();
        if (name->empty()) continue;
        std::replace(name->begin(), name->end(), kKeyEnd, ' ');
        *name += kKeyEnd;
        stream::AppendOrdered(*name, static_cast<std::uint32_t>(project));
        stream::AppendOrdered(*name, reader.account().account.account);
        if (Status s = sort.Add(*name, EncodeSorted(reader.account())); !s.ok()) return s;
      }
    }
    return sort.Finish();
  }

  Status WriteUsers() {
    return WriteGroups(
        accounts_.users, "user",
        [](std::size_t, const SortedAccount& account) -> Result<std::string> { return account.person; },
        [&](const Group& group) { return PersonRecord(group); }, &figures_.users);
  }

  Result<std::string> PersonRecord(const Group& group) {
    const wire::FeedAccount& shown = group.largest.account;
    total_ += group.total;
    RecordText record("user");
    record.Whole("id", NumberOf("person", group.name));
    record.Text("name", shown.name);
    record.Figures(group, hub_.time());
    record.Text("cpid", group.largest.person_cpid);
    record.Text("country", shown.country.empty() ? "None" : shown.country);
    if (!shown.url.empty()) record.Text("url", shown.url);
    if (shown.team != 0) {
      const auto team = hub_.Find(wire::AccountKind::kTeam, group.project, shown.team);
      if (!team.ok()) return team.status();
      if (*team && !(*team)->name.empty()) record.Whole("teamid", NumberOf("team", LowerCase((*team)->name)));
    }
    return record.Finish();
  }

  Status WriteTeams() {
    return WriteGroups(
        accounts_.teams, "team",
        [](std::size_t, const SortedAccount& account) -> Result<std::string> {
          return LowerCase(account.account.name);
        },
        [&](const Group& group) -> Result<std::string> {
          const wire::FeedAccount& shown = group.largest.account;
          RecordText record("team");
          record.Whole("id", NumberOf("team", group.name));
          record.Text("name", shown.name);
          record.Figures(group, hub_.time());
          record.Text("country", shown.country.empty() ? "None" : shown.country);
          if (!shown.url.empty()) record.Text("url", shown.url);
          return record.Finish();
        },
        &figures_.teams);
  }

  // A host is one at all projects if its cross-project id and its owner are: different machines of different people have
  // been seen with the same id.
  Status WriteHosts() {
    return WriteGroups(
        accounts_.hosts, "host",
        [&](std::size_t project, const SortedAccount& host) -> Result<std::string> {
          // What hosts have at an account manager is in their records of the projects.
          if (hub_.projects()[project].row.project.account_manager) return std::string();
          const auto cpid = federation::ParseCpid(host.account.cross_project_id);
          if (!cpid) return std::string();
          const auto owner = OwnerOf(project, host.account.owner);
          if (!owner.ok()) return owner.status();
          return federation::CpidText(*cpid) + " " + *owner;
        },
        [&](const Group& group) -> Result<std::string> {
          const wire::FeedAccount& shown = group.largest.account;
          const std::string owner = group.name.substr(group.name.find(' ') + 1);
          RecordText record("host");
          record.Whole("id", NumberOf("host", group.name));
          if (!owner.empty()) record.Whole("userid", NumberOf("person", owner));
          record.Figures(group, hub_.time());
          record.Text("p_model", shown.description);
          record.Text("host_cpid", LowerCase(shown.cross_project_id));
          return record.Finish();
        },
        &figures_.hosts);
  }

  // The person; empty: the owner is hidden, has shown no id, or is an account manager.
  Result<std::string> OwnerOf(std::size_t project, std::uint64_t user) {
    if (user == 0) return std::string();
    const auto owner = hub_.Find(wire::AccountKind::kUser, project, user);
    if (!owner.ok()) return owner.status();
    if (!*owner) return std::string();
    const auto person = hub_.PersonOf(project, user, (*owner)->create_time);
    if (!person.ok()) return person.status();
    return person->name;
  }

  Status WriteTables() {
    std::string text = exports::FileHead("tables");
    const auto add = [&](const char* name, const std::string& value) {
      text += std::string("    <") + name + ">" + value + "</" + name + ">\n";
    };
    add("update_time", std::to_string(static_cast<std::int64_t>(hub_.time())));
    add("nusers_total", std::to_string(figures_.users));
    add("nteams_total", std::to_string(figures_.teams));
    add("nhosts_total", std::to_string(figures_.hosts));
    add("total_credit", CreditText(total_));
    text += exports::FileTail("tables");
    auto out =
        exports::OutputFile::Create(directory_, "tables.xml", exports::Compression::kNone, 0, workers_);
    if (!out.ok()) return out.status();
    if (Status s = (*out)->Append(text); !s.ok()) return s;
    const auto finished = (*out)->Finish();
    return finished.status();
  }

  static constexpr std::size_t kPlaceBytes = 1 + sizeof(std::uint32_t) + sizeof(std::uint64_t);

  const HubReader& hub_;
  const HubAccounts& accounts_;
  const CombinedJob& job_;
  const std::string directory_;
  exports::Workers workers_;
  CombinedFigures figures_;
  credit::MicroTotal total_ = 0;
};

}  // namespace

Result<CombinedFigures> WriteCombined(const HubReader& hub, const HubAccounts& accounts,
                                      const CombinedJob& job) {
  auto publication = exports::Publication::Begin({.final_directory = job.directory,
                                                  .archive_directory = {},
                                                  .delete_old = true,
                                                  .now = static_cast<std::int64_t>(hub.time()),
                                                  .report = [](const std::string&) {}});
  if (!publication.ok()) return publication.status();
  auto figures = Combiner(hub, accounts, job, publication->directory()).Write();
  if (!figures.ok()) return figures.status();
  auto old = publication->Publish();
  if (!old.ok()) return old.status();
  return figures;
}

}  // namespace cobblestone::hub

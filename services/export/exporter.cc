#include "services/export/exporter.h"

#include <algorithm>

#include "services/export/filters.h"
#include "services/export/records.h"
#include "services/export/selection.h"
#include "services/export/strict_xml.h"
#include "services/export/text.h"

namespace cobblestone::exports {
namespace {

constexpr int kMaxWarnings = 20;
constexpr std::uint64_t kProgressRows = 256;

// Counts in tables.xml. A count of 0 is not written, like that of a table that the spec does not contain.
struct Counts {
  std::uint64_t users = 0;
  std::uint64_t teams = 0;
  std::uint64_t hosts = 0;
  std::uint64_t users_deleted = 0;
  std::uint64_t hosts_deleted = 0;
  double total_credit = 0;
};

struct SortKey {
  double credit = 0;
  std::int64_t id = 0;
};

class Exporter {
 public:
  Exporter(Source& source, const Spec& spec, const ExportOptions& options)
      : source_(source),
        spec_(spec),
        options_(options),
        settings_(options.settings),
        workers_(std::max(options.threads, 1) - 1),
        place_{.directory = options.directory,
               .now = options.now,
               .workers = &workers_,
               .known = options.known} {}

  Result<Manifest> Write() {
    manifest_.time = options_.now;
    manifest_.source = source_.Describe();
    manifest_.base = options_.base;
    CountRows();
    Status status;
    for (const Enumeration& enumeration : spec_.enumerations) {
      if (status = WriteTable(enumeration); !status.ok()) return status;
    }
    if (status = WriteBadges(); !status.ok()) return status;
    if (status = WriteWorks(); !status.ok()) return status;
    if (status = WriteText("tables.xml", TablesText()); !status.ok()) return status;
    if (status = WriteText("db_dump.xml", spec_.text); !status.ok()) return status;
    if (options_.ledger) {
      manifest_.ledger = options_.ledger;
      manifest_.ledger->users.exported = exported_users_;
      manifest_.ledger->teams.exported = exported_teams_;
      manifest_.ledger->hosts.exported = exported_hosts_;
    }
    if (suppressed_ > 0 && options_.warn)
      options_.warn("and " + std::to_string(suppressed_) + " more hosts with unknown owners");
    Manifest manifest = manifest_;
    if (status = WriteText(kManifestName, ManifestText(manifest_)); !status.ok()) return status;
    return manifest;
  }

 private:
  void CountRows() {
    const RowCounts rows = source_.RowsExpected();
    for (const Enumeration& enumeration : spec_.enumerations) {
      const std::uint64_t passes = enumeration.sort == Sort::kNone || enumeration.sort == Sort::kId ? 1 : 2;
      if (enumeration.table == Table::kUser) rows_expected_ += passes * rows.users;
      if (enumeration.table == Table::kTeam) rows_expected_ += passes * rows.teams;
      if (enumeration.table == Table::kHost) rows_expected_ += passes * rows.hosts;
    }
    if (settings_.credit_by_app) rows_expected_ += rows.users + rows.teams;
  }
  void Progress() {
    if (++rows_done_ % kProgressRows == 0 && options_.progress) options_.progress(rows_done_, rows_expected_);
  }

  Status WriteTable(const Enumeration& enumeration) {
    switch (enumeration.table) {
      case Table::kUser: return WriteUsers(enumeration);
      case Table::kTeam: return WriteTeams(enumeration);
      case Table::kHost: return WriteHosts(enumeration);
      case Table::kUserDeleted:
        return WriteDeleted(enumeration, "user", &counts_.users_deleted, AppendUserDeleted,
                            [&](const Take<Deleted>& take) { return source_.UsersDeleted(take); });
      case Table::kHostDeleted:
        return WriteDeleted(enumeration, "host", &counts_.hosts_deleted, AppendHostDeleted,
                            [&](const Take<Deleted>& take) { return source_.HostsDeleted(take); });
    }
    return Status::Ok();
  }

  // Passes the shown rows to `put` in the order of the enumeration, and to `count` once each, in order of id.
  template <class Row, class Scan, class Find>
  Status InOrder(Sort sort, Scan scan, Find find, const std::function<void(const Row&)>& count,
                 const Take<Row>& put) {
    const bool by_credit = sort == Sort::kTotalCredit || sort == Sort::kExpavgCredit;
    std::vector<SortKey> keys;
    Status status = scan([&](const Row& row) {
      Progress();
      if (!IsShown(row)) return Status::Ok();
      count(row);
      if (!by_credit) return put(row);
      keys.push_back(
          {.credit = sort == Sort::kTotalCredit ? row.total_credit : row.expavg_credit, .id = row.id});
      return Status::Ok();
    });
    if (!status.ok() || !by_credit) return status;
    // Descending by credit; equal credit by id, an order that upstream leaves to the database.
    std::stable_sort(keys.begin(), keys.end(),
                     [](const SortKey& a, const SortKey& b) { return a.credit > b.credit; });
    Row row;
    for (const SortKey& key : keys) {
      Progress();
      const auto found = find(key.id, &row);
      if (!found.ok()) return found.status();
      if (!*found)
        return Status::Fatal("a row with number " + std::to_string(key.id) +
                             " has disappeared: the source has changed");
      if (status = put(row); !status.ok()) return status;
    }
    return Status::Ok();
  }

  // A table that is written twice has the same accounts each time.
  template <class Row>
  static void CountExported(const Row& row, ExportedTotal& exported) {
    ++exported.accounts;
    exported.total += row.balance;
  }

  Status WriteUsers(const Enumeration& enumeration) {
    OutputSet outputs(place_, enumeration, "user", FileHead("users"), FileTail("users"));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    counts_.users = 0;
    counts_.total_credit = 0;
    exported_users_ = {};
    status = InOrder<User>(
        enumeration.sort, [&](const Take<User>& take) { return source_.Users(take); },
        [&](std::int64_t id, User* user) { return source_.FindUser(id, user); },
        [&](const User& user) {
          ++counts_.users;
          counts_.total_credit += user.total_credit;
        },
        [&](const User& user) {
          const std::uint32_t copies = CopiesOf(source_, user.id);
          if (copies == 0) return Status::Ok();
          CountExported(user, exported_users_);
          record_.clear();
          AppendUser(user, settings_, &record_);
          return outputs.Put({.first = user.id}, record_, record_, copies);
        });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  Status WriteTeams(const Enumeration& enumeration) {
    OutputSet outputs(place_, enumeration, "team", FileHead("teams"), FileTail("teams"));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    exported_teams_ = {};
    status = InOrder<Team>(
        enumeration.sort, [&](const Take<Team>& take) { return source_.Teams(take); },
        [&](std::int64_t id, Team* team) { return source_.FindTeam(id, team); },
        [&](const Team&) { ++counts_.teams; }, [&](const Team& team) { return PutTeam(team, outputs); });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  Status PutTeam(const Team& team, OutputSet& outputs) {
    const auto found = source_.FindUser(team.userid, &founder_);
    if (!found.ok()) return found.status();
    const User* const founder = *found ? &founder_ : nullptr;
    CountExported(team, exported_teams_);
    record_.clear();
    detailed_.clear();
    if (outputs.WantsPlain()) AppendTeam(team, founder, "", settings_, &record_);
    if (outputs.WantsDetail()) {
      members_.clear();
      Status status = source_.Members(team.id, [&](const User& member) {
        AppendUser(member, settings_, &members_);
        return Status::Ok();
      });
      if (!status.ok()) return status;
      AppendTeam(team, founder, members_, settings_, &detailed_);
    }
    return outputs.Put({.first = team.id}, record_, detailed_, 1);
  }

  Status WriteHosts(const Enumeration& enumeration) {
    OutputSet outputs(place_, enumeration, "host", FileHead("hosts"), FileTail("hosts"));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    counts_.hosts = 0;
    exported_hosts_ = {};
    status = InOrder<Host>(
        enumeration.sort, [&](const Take<Host>& take) { return source_.Hosts(take); },
        [&](std::int64_t id, Host* host) { return source_.FindHost(id, host); },
        [&](const Host&) { ++counts_.hosts; },
        [&](const Host& host) {
          const std::uint32_t copies = CopiesOf(source_, host.userid);
          return copies == 0 ? Status::Ok() : PutHost(host, copies, outputs);
        });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  Status PutHost(const Host& host, std::uint32_t copies, OutputSet& outputs) {
    CountExported(host, exported_hosts_);
    record_.clear();
    detailed_.clear();
    if (outputs.WantsPlain()) AppendHost(host, {}, settings_, &record_);
    if (outputs.WantsDetail()) {
      const Owner owner = source_.OwnerOf(host.userid);
      if (!owner.exists) WarnOfOwner(host);
      AppendHost(host, {.detail = true, .shows_owner = owner.exists && owner.shows_hosts}, settings_,
                 &detailed_);
    }
    return outputs.Put({.first = host.id}, record_, detailed_, copies);
  }

  void WarnOfOwner(const Host& host) {
    if (!options_.warn) return;
    if (++warnings_ > kMaxWarnings) {
      ++suppressed_;
      return;
    }
    options_.warn("unknown user " + std::to_string(host.userid) + ", the owner of host " +
                  std::to_string(host.id) + "; the host is written without an owner");
  }

  template <class Append, class Scan>
  Status WriteDeleted(const Enumeration& enumeration, const std::string& tag, std::uint64_t* count,
                      Append append, Scan scan) {
    const std::string root = tag + "s_deleted";
    OutputSet outputs(place_, enumeration, tag, FileHead(root), FileTail(root));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    status = scan([&](const Deleted& deleted) {
      ++*count;
      record_.clear();
      append(deleted, settings_, &record_);
      return outputs.Put({.first = deleted.id}, record_, record_, 1);
    });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  // Not in the spec: both files exist if the project has any badge.
  Status WriteBadges() {
    if (source_.catalogue().badges.empty()) return Status::Ok();
    Status status =
        WriteBadgesOf("user", [&](const Take<BadgeHeld>& take) { return source_.UserBadges(take); });
    if (!status.ok()) return status;
    return WriteBadgesOf("team", [&](const Take<BadgeHeld>& take) { return source_.TeamBadges(take); });
  }
  template <class Scan>
  Status WriteBadgesOf(const std::string& table, Scan scan) {
    const std::string name = "badge_" + table;
    OutputSet outputs(place_, GzipOf(name), name, FileHead(name + "s"), FileTail(name + "s"));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    status = scan([&](const BadgeHeld& badge) {
      record_.clear();
      AppendBadgeHeld(badge, table, &record_);
      return outputs.Put({.first = badge.holder, .second = badge.badge}, record_, record_, 1);
    });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  // The files by app: all accounts with credit, deleted or not.
  Status WriteWorks() {
    if (!settings_.credit_by_app) return Status::Ok();
    Status status = WriteWork<User>(
        "user", [&](const Take<User>& take) { return source_.Users(take); },
        [&](std::int64_t id, std::vector<AppCredit>* credit) { return source_.CreditOfUser(id, credit); });
    if (!status.ok()) return status;
    return WriteWork<Team>(
        "team", [&](const Take<Team>& take) { return source_.Teams(take); },
        [&](std::int64_t id, std::vector<AppCredit>* credit) { return source_.CreditOfTeam(id, credit); });
  }
  template <class Row, class Scan, class CreditOfRow>
  Status WriteWork(const std::string& table, Scan scan, CreditOfRow credit_of) {
    OutputSet outputs(place_, GzipOf(table + "_work"), table, "<" + table + "s>\n", FileTail(table + "s"));
    Status status = outputs.Begin();
    if (!status.ok()) return status;
    std::vector<AppCredit> credit;
    status = scan([&](const Row& row) {
      Progress();
      if (!(row.total_credit > 0)) return Status::Ok();
      if (Status read = credit_of(row.id, &credit); !read.ok()) return read;
      record_.clear();
      AppendWork(table, row.id, credit, source_.catalogue().subprojects, settings_, &record_);
      return outputs.Put({.first = row.id}, record_, record_, 1);
    });
    return status.ok() ? outputs.Finish(&manifest_) : status;
  }

  static Enumeration GzipOf(const std::string& name) {
    return {.filename = name, .outputs = {{.compression = Compression::kGzip}}};
  }

  std::string TablesText() const {
    std::string text = FileHead("tables");
    const auto count = [&](const char* tag, std::uint64_t number) {
      if (number > 0) text += std::string("    <") + tag + ">" + std::to_string(number) + "</" + tag + ">\n";
    };
    text += "    <update_time>" + std::to_string(options_.now) + "</update_time>\n";
    if (settings_.credit_by_app) text += "    <credit_by_app/>\n";
    count("nusers_total", counts_.users);
    count("nteams_total", counts_.teams);
    count("nhosts_total", counts_.hosts);
    count("nusers_deleted_total", counts_.users_deleted);
    count("nhosts_deleted_total", counts_.hosts_deleted);
    if (counts_.total_credit != 0) {
      text += "    <total_credit>";
      AppendFixed(counts_.total_credit, &text);
      text += "</total_credit>\n";
    }
    const auto raw = [&](const std::string& indent, const char* tag, const std::string& value) {
      text += indent + "<" + tag + ">";
      AppendRaw(Cut(value), settings_.strict_xml, &text);
      text += std::string("</") + tag + ">\n";
    };
    text += "    <applications>\n";
    for (const App& app : source_.catalogue().apps) {
      text += "        <application>\n";
      raw("            ", "name", app.user_friendly_name);
      text += "        </application>\n";
    }
    text += "    </applications>\n    <badges>\n";
    for (const Badge& badge : source_.catalogue().badges) {
      text += "       <badge>\n           <id>";
      AppendId(badge.id, &text);
      text += "</id>\n";
      raw("           ", "name", badge.name);
      raw("           ", "title", badge.title);
      raw("           ", "image_url", badge.image_url);
      text += "       </badge>\n";
    }
    return text + "    </badges>\n" + FileTail("tables");
  }

  Status WriteText(const std::string& name, const std::string& text) {
    auto file = OutputFile::Create(options_.directory, name, Compression::kNone, options_.now, workers_);
    if (!file.ok()) return file.status();
    if (Status status = (*file)->Append(text); !status.ok()) return status;
    auto figures = (*file)->Finish();
    if (!figures.ok()) return figures.status();
    manifest_.files.push_back(*std::move(figures));
    return Status::Ok();
  }

  Source& source_;
  const Spec& spec_;
  const ExportOptions& options_;
  const Settings& settings_;
  Workers workers_;
  OutputPlace place_;
  Counts counts_;
  ExportedTotal exported_users_;
  ExportedTotal exported_teams_;
  ExportedTotal exported_hosts_;
  Manifest manifest_;
  std::uint64_t rows_expected_ = 0;
  std::uint64_t rows_done_ = 0;
  int warnings_ = 0;
  int suppressed_ = 0;
  // Members only to reuse their memory.
  std::string record_;
  std::string detailed_;
  std::string members_;
  User founder_;
};

}  // namespace

Result<Manifest> WriteExport(Source& source, const Spec& spec, const ExportOptions& options) {
  return Exporter(source, spec, options).Write();
}

}  // namespace cobblestone::exports

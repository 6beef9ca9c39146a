// Locates the rows in one pass over the file.
#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "services/export/entities_file.h"
#include "services/export/entities_index.h"
#include "services/export/entities_rows.h"

namespace cobblestone::exports {
namespace {

constexpr std::string_view kConsentName = "STATSEXPORT";
constexpr std::uint64_t kProgressStep = 1U << 20U;

// The id of a row that begins with its id, as rows usually do; none: parse the row to find the id.
std::optional<std::int64_t> LeadingNumber(std::string_view row, std::string_view name) {
  const std::string start = "{\"" + std::string(name) + "\":";
  if (!row.starts_with(start)) return std::nullopt;
  row.remove_prefix(start.size());
  row.remove_prefix(std::min(row.find_first_not_of(' '), row.size()));
  std::int64_t number = 0;
  const auto end = std::from_chars(row.data(), row.data() + row.size(), number);
  const bool whole =
      end.ec == std::errc() && end.ptr != row.data() + row.size() && (*end.ptr == ',' || *end.ptr == '}');
  return whole ? std::optional(number) : std::nullopt;
}

// True for true, a nonzero number, or a text that begins with one; "0; 1 in variant d" is false.
bool IsOn(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  return value.is_string() && std::atoi(value.get_ref<const std::string&>().c_str()) != 0;
}

}  // namespace

class EntitiesFile::Loader {
 public:
  Loader(EntitiesFile& entities, const EntitiesOptions& options) : entities_(entities), options_(options) {}

  Status Load() {
    // Its own window, because rows are read during the scan.
    auto scanned = RandomFile::Open(entities_.file_.path());
    if (!scanned.ok()) return scanned.status();
    Status status = ScanJson(*scanned, [&](const JsonPiece& piece) { return TakePiece(piece); });
    if (!status.ok()) return status;
    for (const auto& [name, index] :
         std::map<std::string, Index*>{{"users", &entities_.users_},
                                       {"teams", &entities_.teams_},
                                       {"hosts", &entities_.hosts_},
                                       {"users_deleted", &entities_.users_deleted_},
                                       {"hosts_deleted", &entities_.hosts_deleted_}}) {
      if (status = Order(*index, name); !status.ok()) return status;
    }
    for (Index* index :
         {&entities_.badge_user_, &entities_.badge_team_, &entities_.credit_user_, &entities_.credit_team_})
      Sort(*index);
    std::sort(entities_.members_.begin(), entities_.members_.end());
    const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
    std::sort(entities_.catalogue_.apps.begin(), entities_.catalogue_.apps.end(), by_id);
    std::sort(entities_.catalogue_.badges.begin(), entities_.catalogue_.badges.end(), by_id);
    CountConsents();
    return Status::Ok();
  }

 private:
  Status TakePiece(const JsonPiece& piece) {
    piece_ = &piece;
    if (options_.progress && piece.offset >= reported_ + kProgressStep) {
      reported_ = piece.offset;
      options_.progress(reported_, entities_.file_.size());
    }
    const std::string_view section = piece.section;
    if (section == "config") return Status::Ok();
    if (!piece.is_row) {
      if (!kTables.contains(section)) return Unknown(section);
      return Bad("'" + std::string(section) + "' must be an array of rows");
    }
    if (section == "users") return AddUser();
    if (section == "hosts") return Add(entities_.hosts_, "id");
    if (section == "teams") return Add(entities_.teams_, "id");
    if (section == "users_deleted") return Add(entities_.users_deleted_, "userid");
    if (section == "hosts_deleted") return Add(entities_.hosts_deleted_, "hostid");
    if (section == "badge_user") return Add(entities_.badge_user_, "user_id");
    if (section == "badge_team") return Add(entities_.badge_team_, "team_id");
    if (section == "credit_user") return Add(entities_.credit_user_, "userid");
    if (section == "credit_team") return Add(entities_.credit_team_, "teamid");
    if (section == "apps") return Keep(entities_.catalogue_.apps, kAppColumns);
    if (section == "badges") return Keep(entities_.catalogue_.badges, kBadgeColumns);
    if (section == "consents") return Keep(consents_, kConsentColumns);
    if (section == "consent_types") return AddConsentType();
    if (section == "subprojects") return AddSubproject();
    return Unknown(section);
  }

  inline static const std::set<std::string_view> kTables = {
      "users",      "teams",      "hosts",         "users_deleted", "hosts_deleted",
      "badge_user", "badge_team", "badges",        "credit_user",   "credit_team",
      "apps",       "consents",   "consent_types", "subprojects"};

  Status AddUser() {
    UserGlance user;
    if (Status status = Row(kUserGlanceColumns, &user); !status.ok()) return status;
    if (user.teamid != 0) entities_.members_.emplace_back(user.teamid, user.id);
    return AddEntry(entities_.users_, user.id, user.show_hosts != 0);
  }
  Status Add(Index& index, std::string_view name) {
    if (const auto number = LeadingNumber(piece_->text, name)) return AddEntry(index, *number, false);
    const std::array<Column<Holder>, 1> columns = {{{name, &Holder::id}}};
    Holder holder;
    if (Status status = Row(columns, &holder); !status.ok()) return status;
    return AddEntry(index, holder.id, false);
  }
  Status AddEntry(Index& index, std::int64_t id, bool flag) {
    const auto place = PackPlace({.offset = piece_->offset, .length = piece_->text.size(), .flag = flag});
    if (!place) return Bad("the file is too large for this program (64 GiB)");
    index.push_back({.id = id, .place = *place});
    return Status::Ok();
  }
  template <class Rows, class Columns>
  Status Keep(Rows& rows, const Columns& columns) {
    return Row(columns, &rows.emplace_back());
  }
  template <class Columns, class RowType>
  Status Row(const Columns& columns, RowType* row) {
    const std::string error = ReadJsonRow(piece_->text, columns, row);
    return error.empty() ? Status::Ok() : Bad(error);
  }

  Status AddConsentType() {
    const auto json = nlohmann::json::parse(piece_->text, nullptr, false);
    if (!json.is_object() || !json.contains("id") || !json["id"].is_number_integer() ||
        !json.contains("shortname"))
      return Bad("a consent type must have 'id', 'shortname' and 'enabled'");
    if (json["shortname"] != kConsentName) return Status::Ok();
    consent_types_.insert(json["id"].get<std::int64_t>());
    consent_enabled_ = consent_enabled_ || IsOn(json.value("enabled", nlohmann::json(0)));
    return Status::Ok();
  }
  Status AddSubproject() {
    const auto json = nlohmann::json::parse(piece_->text, nullptr, false);
    const auto whole = [](const nlohmann::json& value) { return value.is_number_integer(); };
    if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
        !json.contains("appids") || !json["appids"].is_array() ||
        !std::all_of(json["appids"].begin(), json["appids"].end(), whole))
      return Bad("a subproject must have 'name' (a string) and 'appids' (an array of whole numbers)");
    entities_.catalogue_.subprojects.push_back(
        {.name = json["name"].get<std::string>(), .apps = json["appids"].get<std::vector<std::int64_t>>()});
    return Status::Ok();
  }

  Status Unknown(std::string_view section) {
    auto& names = entities_.unknown_sections_;
    if (std::find(names.begin(), names.end(), section) == names.end()) names.emplace_back(section);
    return Status::Ok();
  }

  // Sorts, and reports an id that appears twice: the row to export would be undefined.
  Status Order(Index& index, const std::string& name) {
    Sort(index);
    const auto twice = std::adjacent_find(index.begin(), index.end(),
                                          [](const Entry& a, const Entry& b) { return a.id == b.id; });
    if (twice == index.end()) return Status::Ok();
    const std::uint64_t line = entities_.file_.LineOf(UnpackPlace((twice + 1)->place).offset);
    return Status::InvalidArgument(entities_.file_.path() + ", line " + std::to_string(line) + ": '" + name +
                                   "' has the number " + std::to_string(twice->id) + " twice");
  }
  static void Sort(Index& index) {
    const auto less = [](const Entry& a, const Entry& b) { return a.id < b.id; };
    if (!std::is_sorted(index.begin(), index.end(), less)) std::stable_sort(index.begin(), index.end(), less);
    index.shrink_to_fit();
  }

  void CountConsents() {
    entities_.catalogue_.has_consent_type = !consent_types_.empty();
    entities_.catalogue_.consent_enabled = consent_enabled_;
    entities_.catalogue_.consent_wanted =
        !consent_types_.empty() && options_.statsexport_enabled.value_or(consent_enabled_);
    std::erase_if(consents_, [&](const ConsentRow& row) { return !consent_types_.contains(row.type); });
    // Per user, the newest second first.
    std::sort(consents_.begin(), consents_.end(), [](const ConsentRow& a, const ConsentRow& b) {
      return a.user != b.user ? a.user < b.user : a.time > b.time;
    });
    for (std::size_t i = 0; i < consents_.size();) {
      ConsentGiven copies{.user = consents_[i].user};
      const std::int64_t newest = consents_[i].time;
      for (; i < consents_.size() && consents_[i].user == copies.user; ++i)
        copies.copies += consents_[i].time == newest && consents_[i].flag == 1 ? 1 : 0;
      entities_.consent_.push_back(copies);
    }
    consents_.clear();
  }

  Status Bad(const std::string& what) {
    return Status::InvalidArgument(entities_.file_.path() + ", line " +
                                   std::to_string(entities_.file_.LineOf(piece_->offset)) + ": " + what);
  }

  EntitiesFile& entities_;
  const EntitiesOptions& options_;
  const JsonPiece* piece_ = nullptr;
  std::uint64_t reported_ = 0;
  std::vector<ConsentRow> consents_;
  std::set<std::int64_t> consent_types_;
  bool consent_enabled_ = false;
};

Result<std::unique_ptr<EntitiesFile>> EntitiesFile::Open(const std::string& path,
                                                         const EntitiesOptions& options) {
  auto file = RandomFile::Open(path);
  if (!file.ok()) return file.status();
  std::unique_ptr<EntitiesFile> entities(new EntitiesFile(std::move(*file)));
  if (Status status = Loader(*entities, options).Load(); !status.ok()) return status;
  return entities;
}

}  // namespace cobblestone::exports

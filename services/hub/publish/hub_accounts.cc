#include "services/hub/publish/hub_accounts.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/stream/bytes.h"
#include "common/stream/state_codec.h"

namespace cobblestone::hub {
namespace {

std::string SortKeyOf(std::size_t project, std::uint64_t id) {
  std::string key;
  stream::AppendOrdered(key, static_cast<std::uint32_t>(project));
  stream::AppendOrdered(key, id);
  return key;
}

Result<SortedRecords> SortKind(const HubReader& hub, wire::AccountKind kind, const std::string& scratch,
                               std::vector<double>* direct) {
  SpillSort sort(scratch);
  Status read = hub.Accounts(kind,
                             [&](std::size_t project, std::uint64_t id, const members::MemberRow& row,
                                 const wire::FeedAccount& seen) -> Status {
                               SortedAccount sorted{.account = seen, .person = {}, .person_cpid = {}};
                               sorted.account.account = id;
                               if (kind == wire::AccountKind::kUser) {
                                 auto person = hub.PersonOf(project, id, seen.create_time);
                                 if (!person.ok()) return person.status();
                                 sorted.person = std::move(person->name);
                                 sorted.person_cpid = std::move(person->cpid);
                               }
                               if (seen.edition == 0)
                                 (*direct)[project] = std::max((*direct)[project], row.stamp.time);
                               return sort.Add(SortKeyOf(project, id), EncodeSorted(sorted));
                             });
  if (!read.ok()) return read;
  return sort.Finish();
}

}  // namespace

std::string EncodeSorted(const SortedAccount& account) {
  std::string bytes;
  stream::EncodeState(account, bytes);
  return bytes;
}

SortedAccount DecodeSorted(std::string_view bytes) {
  SortedAccount account;
  stream::StateReader reader(bytes);
  reader(account);
  COBBLESTONE_CHECK(reader.done(), "a record of this process cannot be decoded");
  return account;
}

Result<bool> AccountReader::Next(std::size_t project) {
  while (!ended_ && (!held_ || project_ < project)) {
    const auto has = reader_.Next();
    if (!has.ok()) return has.status();
    ended_ = !*has;
    held_ = *has;
    if (held_) {
      project_ = stream::LoadOrdered<std::uint32_t>(reader_.key().data());
      account_ = DecodeSorted(reader_.value());
    }
  }
  if (!held_ || project_ != project) return false;
  held_ = false;
  return true;
}

Result<HubAccounts> SortAccounts(const HubReader& hub, const std::string& scratch) {
  std::vector<double> direct(hub.projects().size());
  auto users = SortKind(hub, wire::AccountKind::kUser, scratch, &direct);
  if (!users.ok()) return users.status();
  auto hosts = SortKind(hub, wire::AccountKind::kHost, scratch, &direct);
  if (!hosts.ok()) return hosts.status();
  auto teams = SortKind(hub, wire::AccountKind::kTeam, scratch, &direct);
  if (!teams.ok()) return teams.status();
  return HubAccounts{.users = std::move(*users),
                     .hosts = std::move(*hosts),
                     .teams = std::move(*teams),
                     .direct = std::move(direct)};
}

}  // namespace cobblestone::hub

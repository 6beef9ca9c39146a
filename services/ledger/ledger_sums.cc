#include "services/ledger/ledger_sums.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>
#include <tuple>

#include "common/stream/hash128.h"
#include "common/stream/state_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/control/watermark_codec.h"
#include "common/wire/ledger/account_codec.h"
#include "common/wire/ledger/grant_codec.h"
#include "services/ledger/ledger_records.h"

namespace cobblestone::ledger {
namespace {

using stream::IndexedLog;

constexpr std::string_view kMagic = "cobblestone ledger sums 2\n";
constexpr std::size_t kMaxUnsettled = 1'000'000;
constexpr std::uint64_t kProgressRecords = 1 << 16;

auto OrderOf(const LedgerSums::Entry& entry) { return std::tie(entry.project, entry.account, entry.id); }

bool GoesOnTo(const std::vector<std::uint64_t>& from, const std::vector<std::uint64_t>& to) {
  return from.size() == to.size() && std::equal(from.begin(), from.end(), to.begin(), std::less_equal<>());
}

}  // namespace

LedgerSums::ProjectTotals& LedgerSums::Of(ProjectId project) {
  for (ProjectTotals& known : totals_)
    if (known.project == project.value) return known;
  return totals_.emplace_back(ProjectTotals{.project = project.value});
}

LedgerSums::ProjectTotals LedgerSums::TotalsOf(ProjectId project) const {
  for (const ProjectTotals& known : totals_)
    if (known.project == project.value) return known;
  return {.project = project.value};
}

void LedgerSums::Add(ProjectId project, LedgerAccount account, std::uint64_t id, credit::MicroTotal micro) {
  entries_.push_back({.project = project.value, .account = account, .id = id, .micro = micro});
  if (entries_.size() - settled_ >= kMaxUnsettled) Settle();
}

void LedgerSums::Settle() {
  const auto before = [](const Entry& a, const Entry& b) { return OrderOf(a) < OrderOf(b); };
  const auto fresh = entries_.begin() + static_cast<std::ptrdiff_t>(settled_);
  std::sort(fresh, entries_.end(), before);
  std::inplace_merge(entries_.begin(), fresh, entries_.end(), before);
  auto last = entries_.begin();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry == last) continue;
    if (OrderOf(*entry) == OrderOf(*last)) {
      last->micro += entry->micro;
    } else {
      *++last = *entry;
    }
  }
  if (!entries_.empty()) entries_.erase(last + 1, entries_.end());
  settled_ = entries_.size();
}

bool LedgerSums::TakeGrant(std::string_view record) {
  wire::GrantHead head;
  if (!wire::DecodeGrantHead(record, &head)) return false;
  if (head.kind == wire::GrantKind::kWatermark || head.kind == wire::GrantKind::kEstimate ||
      wire::IsNote(head.kind))
    return true;
  ProjectTotals& all = Of(head.project);
  if (wire::IsHostMove(head.kind)) {
    wire::Grant grant;
    if (!wire::DecodeGrant(record, &grant)) return false;
    if (!grant.transfer) return true;  // an announcement
    const credit::MicroTotal micro =
        head.kind == wire::GrantKind::kHostAccount ? grant.transfer->account.total_micro : head.credit_micro;
    all.hosts.moved += micro;
    Add(head.project, LedgerAccount::kHost, head.host.value, micro);
    return true;
  }
  if (head.kind == wire::GrantKind::kHostMerged) {
    wire::Grant grant;
    if (!wire::DecodeGrant(record, &grant)) return false;
    // Both hosts need an entry, even without grants: control_totals.cc subtracts the merged credit there.
    for (const HostId host : {head.host, grant.into}) Add(head.project, LedgerAccount::kHost, host.value, 0);
    return true;
  }
  if (head.kind == wire::GrantKind::kOpening) {
    if (head.host) {
      all.hosts.opening += head.credit_micro;
      Add(head.project, LedgerAccount::kHost, head.host.value, head.credit_micro);
    } else if (head.user) {
      all.users.opening += head.credit_micro;
      Add(head.project, LedgerAccount::kUser, head.user.value, head.credit_micro);
    } else {
      Add(head.project, LedgerAccount::kTeamOpening, head.team.value, head.credit_micro);
    }
    return true;
  }
  all.hosts.granted += head.credit_micro;
  Add(head.project, LedgerAccount::kHost, head.host.value, head.credit_micro);
  if (!head.user) return true;
  all.users.granted += head.credit_micro;
  Add(head.project, LedgerAccount::kUser, head.user.value, head.credit_micro);
  return true;
}

Status LedgerSums::ReadOn(IndexedLog& log, stream::TopicPartition where, std::uint64_t to,
                          const std::function<void(std::uint64_t)>& step) {
  const bool grants = where.topic == wire::kGrants;
  std::uint64_t& at = (grants ? places_.grants : places_.postings)[where.partition];
  const auto end = ForEachRecordOf(
      log, where, at, to,
      [&](std::uint64_t, std::string_view record) {
        return grants ? TakeGrant(record) : TakePosting(record);
      },
      step);
  if (!end.ok()) return end.status();
  if (*end < to)
    return Status::Corrupted("partition " + std::to_string(where.partition) + " of " +
                             std::string(wire::TopicName(where.topic)) + " ends at " + std::to_string(*end) +
                             ", but the state has read the partition up to " + std::to_string(to));
  at = to;
  return Status::Ok();
}

Status LedgerSums::ReadLate(IndexedLog& log, std::uint32_t partition) {
  const stream::TopicPartition where{wire::kGrants, partition};
  const std::uint64_t from = places_.grants[partition];
  const std::uint64_t to = log.End(where);
  if (to < from)
    return Status::Retry("cannot read the end of the ledger; check that the cluster is reachable");
  const auto end = ForEachRecordOf(
      log, where, from, to,
      [this](std::uint64_t, std::string_view record) {
        wire::GrantHead head;
        if (!wire::DecodeGrantHead(record, &head)) return false;
        if (head.kind == wire::GrantKind::kOpening && !head.host && !head.user)
          late_.push_back({.project = head.project.value,
                           .account = LedgerAccount::kTeamOpening,
                           .id = head.team.value,
                           .micro = head.credit_micro});
        return true;
      },
      nullptr);
  return end.status();
}

bool LedgerSums::TakePosting(std::string_view record) {
  if (wire::IsPassedPosting(record)) return true;
  wire::Posting posting;
  if (!wire::DecodePosting(record, &posting)) return false;
  Of(posting.project).teams.granted += posting.credit_micro;
  Add(posting.project, LedgerAccount::kTeam, posting.team.value, posting.credit_micro);
  return true;
}

Status LedgerSums::ReadUpTo(const IndexedLogOf& log_of, const LedgerPlaces& to, const Progress& progress) {
  late_.clear();
  places_.grants.resize(to.grants.size());
  places_.postings.resize(to.postings.size());
  std::uint64_t all = 0;
  for (std::size_t p = 0; p < to.grants.size(); ++p) all += to.grants[p] - places_.grants[p];
  for (std::size_t p = 0; p < to.postings.size(); ++p) all += to.postings[p] - places_.postings[p];
  std::uint64_t done = 0;
  std::uint64_t reported = 0;
  const auto step = [&](std::uint64_t records) {
    done += records;
    if (!progress || done - reported < kProgressRecords) return;
    reported = done;
    progress(done, all);
  };
  const auto grants = log_of(wire::kGrants);
  for (std::uint32_t p = 0; p < to.grants.size(); ++p) {
    if (Status s = ReadOn(*grants, {wire::kGrants, p}, to.grants[p], step); !s.ok()) return s;
    if (Status s = ReadLate(*grants, p); !s.ok()) return s;
  }
  const auto postings = log_of(wire::kPostings);
  for (std::uint32_t p = 0; p < to.postings.size(); ++p)
    if (Status s = ReadOn(*postings, {wire::kPostings, p}, to.postings[p], step); !s.ok()) return s;
  Settle();
  return Status::Ok();
}

Result<LedgerSums> LedgerSums::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream read;
  if (!file || !(read << file.rdbuf())) return Status::NotFound(path + " cannot be read");
  const std::string text = std::move(read).str();
  const std::string_view bytes(text);
  LedgerSums sums;
  stream::Hash128 hash;
  constexpr std::size_t kBegin = kMagic.size() + sizeof hash;
  if (bytes.size() >= kBegin && bytes.starts_with(kMagic)) {
    std::memcpy(&hash, bytes.data() + kMagic.size(), sizeof hash);
    stream::StateReader reader(bytes.substr(kBegin));
    if (hash == stream::HashBytes(bytes.substr(kBegin))) reader(sums);
    sums.settled_ = sums.entries_.size();
    if (reader.done()) return sums;
  }
  return Status::Corrupted(path + " is corrupted");
}

Status LedgerSums::Save(const std::string& path) const {
  std::string bytes;
  stream::EncodeState(*this, bytes);
  const stream::Hash128 hash = stream::HashBytes(bytes);
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << kMagic;
  file.write(reinterpret_cast<const char*>(&hash), sizeof hash);
  file << bytes;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(fresh, path, error);
  if (!file || error) return Status::Unwritten(errno, "cannot write " + path + "; check for a full disk");
  return Status::Ok();
}

Status KeepLedgerSums(const std::string& path, const IndexedLogOf& log_of, const LedgerPlaces& to,
                      bool from_start, const LedgerSums::Progress& progress) {
  LedgerSums sums;
  if (!from_start) {
    auto kept = LedgerSums::Load(path);  // on an error, reads the whole ledger
    if (kept.ok() && GoesOnTo(kept->places().grants, to.grants) &&
        GoesOnTo(kept->places().postings, to.postings))
      sums = std::move(*kept);
  }
  if (Status s = sums.ReadUpTo(log_of, to, progress); !s.ok()) return s;
  return sums.Save(path);
}

}  // namespace cobblestone::ledger

#include "common/wire/ledger/host_transfer.h"

#include "common/wire/events/event_fields.h"
#include "common/wire/int128_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kAppsField = 11;
constexpr std::uint32_t kDaysField = 12;
constexpr std::uint32_t kJoinedField = 17;

bool ReadApp(std::string_view bytes, credit::AppSum* sum) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): sum->app = AppId(r.Varint()); break;
      case VarintTag(2): low = r.Sint(); break;
      case VarintTag(3): sum->grants = r.Varint(); break;
      case VarintTag(4): high = r.Sint(); break;
      default: r.Skip(tag); break;
    }
  }
  sum->micro = JoinHalves(low, high);
  return r.ok();
}

bool ReadDay(std::string_view bytes, credit::DaySum* sum) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): sum->day = r.Sint(); break;
      case VarintTag(2): low = r.Sint(); break;
      case VarintTag(3): high = r.Sint(); break;
      case VarintTag(4): sum->grants = r.Varint(); break;
      default: r.Skip(tag); break;
    }
  }
  sum->micro = JoinHalves(low, high);
  return r.ok();
}

// Reads a packed field.
bool ReadHosts(std::string_view bytes, std::vector<HostId>* hosts) {
  ProtoReader r(bytes);
  while (!r.done()) hosts->emplace_back(r.Varint());
  return r.ok();
}

}  // namespace

void EncodeHostTransfer(const HostTransfer& transfer, std::string* out) {
  const credit::Account& account = transfer.account;
  char buffer[10 * kMaxScalarField];
  ProtoWriter w(buffer);
  w.Uint(1, transfer.from_partition);
  w.Uint(2, transfer.number);
  w.Uint(3, static_cast<std::uint64_t>(transfer.share_of));
  w.Sint(4, LowHalf(account.total_micro));
  w.Sint(5, HighHalf(account.total_micro));
  w.Sint(6, LowHalf(account.opening_micro));
  w.Sint(7, HighHalf(account.opening_micro));
  w.Double(8, account.recent.value);
  w.Double(9, account.recent.time);
  w.Uint(10, account.grants);
  out->append(w.written());
  for (const credit::AppSum& app : account.apps) {
    char one[4 * kMaxScalarField];
    ProtoWriter a(one);
    a.Uint(1, app.app.value);
    a.Sint(2, LowHalf(app.micro));
    a.Uint(3, app.grants);
    a.Sint(4, HighHalf(app.micro));
    AppendMessage(kAppsField, a.written(), out);
  }
  for (const credit::DaySum& day : account.days) {
    char one[4 * kMaxScalarField];
    ProtoWriter d(one);
    d.Sint(1, day.day);
    d.Sint(2, LowHalf(day.micro));
    d.Sint(3, HighHalf(day.micro));
    d.Uint(4, day.grants);
    AppendMessage(kDaysField, d.written(), out);
  }
  ProtoWriter last(buffer);
  last.Sint(13, LowHalf(account.provisional_micro));
  last.Sint(14, HighHalf(account.provisional_micro));
  last.Sint(15, LowHalf(account.owed_micro));
  last.Sint(16, HighHalf(account.owed_micro));
  out->append(last.written());
  if (transfer.joined.empty()) return;
  std::string joined;
  for (const HostId host : transfer.joined) {
    ProtoWriter one(buffer);
    one.Varint(host.value);
    joined.append(one.written());
  }
  AppendMessage(kJoinedField, joined, out);
}

bool DecodeHostTransfer(std::string_view bytes, HostTransfer* transfer) {
  *transfer = {};
  credit::Account& account = transfer->account;
  std::int64_t total[2] = {0, 0};
  std::int64_t opening[2] = {0, 0};
  std::int64_t provisional[2] = {0, 0};
  std::int64_t owed[2] = {0, 0};
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): transfer->from_partition = r.Uint32(); break;
      case VarintTag(2): transfer->number = r.Varint(); break;
      case VarintTag(3): transfer->share_of = NarrowEnum<GrantKind>(r.Varint()); break;
      case VarintTag(4): total[0] = r.Sint(); break;
      case VarintTag(5): total[1] = r.Sint(); break;
      case VarintTag(6): opening[0] = r.Sint(); break;
      case VarintTag(7): opening[1] = r.Sint(); break;
      case DoubleTag(8): account.recent.value = r.Double(); break;
      case DoubleTag(9): account.recent.time = r.Double(); break;
      case VarintTag(10): account.grants = r.Varint(); break;
      case BytesTag(kAppsField):
        if (!ReadApp(r.Bytes(), &account.apps.emplace_back())) return false;
        break;
      case BytesTag(kDaysField):
        if (!ReadDay(r.Bytes(), &account.days.emplace_back())) return false;
        break;
      case VarintTag(13): provisional[0] = r.Sint(); break;
      case VarintTag(14): provisional[1] = r.Sint(); break;
      case VarintTag(15): owed[0] = r.Sint(); break;
      case VarintTag(16): owed[1] = r.Sint(); break;
      case BytesTag(kJoinedField):
        if (!ReadHosts(r.Bytes(), &transfer->joined)) return false;
        break;
      case VarintTag(kJoinedField): transfer->joined.emplace_back(r.Varint()); break;
      default: r.Skip(tag); break;
    }
  }
  account.total_micro = JoinHalves(total[0], total[1]);
  account.opening_micro = JoinHalves(opening[0], opening[1]);
  account.provisional_micro = JoinHalves(provisional[0], provisional[1]);
  account.owed_micro = JoinHalves(owed[0], owed[1]);
  return r.ok();
}

}  // namespace cobblestone::wire

#include "common/wire/events/feed_account_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/credit/accounts/corrected_day.h"
#include "common/wire/events/event_fields.h"
#include "common/wire/int128_fields.h"
#include "common/wire/proto_reader.h"
#include "common/wire/proto_writer.h"

namespace cobblestone::wire {
namespace {

constexpr std::uint32_t kField = static_cast<std::uint32_t>(EventKind::kFeedAccount);
constexpr std::size_t kHeadSize = 4 * kMaxScalarField;  // id, project, time; tag and length of the account
constexpr std::size_t kScalarsSize = 11 * kMaxScalarField;  // of the account

// Of a text with its tag and length.
std::size_t SizeOf(std::string_view text) { return text.empty() ? 0 : kMaxScalarField + text.size(); }

void WriteText(std::uint32_t field, std::string_view text, ProtoWriter* w) {
  if (!text.empty()) w->Message(field, text);
}

std::string CorrectionsOf(const FeedAccount& account) {
  std::string all;
  for (const credit::CorrectedDay& one : account.corrections) {
    char bytes[4 * kMaxScalarField];
    ProtoWriter w(bytes);
    w.Sint(1, one.came);
    w.Sint(2, one.about);
    w.Sint(3, LowHalf(one.micro));
    w.Sint(4, HighHalf(one.micro));
    AppendMessage(17, w.written(), &all);
  }
  return all;
}

bool IsAscii(std::string_view text) {
  std::uint64_t all = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    all |= word;
  }
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return (all & 0x8080808080808080u) == 0;
}

// False: not ASCII.
bool ReadText(ProtoReader* r, std::string* text) {
  const std::string_view bytes = r->Bytes();
  text->assign(bytes);
  return IsAscii(bytes);
}

bool ReadAccount(std::string_view bytes, FeedAccount* a) {
  ProtoReader r(bytes);
  bool ascii = true;
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): a->kind = NarrowEnum<AccountKind>(r.Varint()); break;
      case VarintTag(2): a->account = r.Varint(); break;
      case VarintTag(3): a->edition = r.Varint(); break;
      case VarintTag(4): a->gone = r.Bool(); break;
      case VarintTag(5): a->total_micro = r.Sint(); break;
      case DoubleTag(6): a->recent = r.Double(); break;
      case DoubleTag(7): a->recent_time = r.Double(); break;
      case DoubleTag(8): a->create_time = r.Double(); break;
      case BytesTag(9): ascii = ReadText(&r, &a->name) && ascii; break;
      case BytesTag(10): ascii = ReadText(&r, &a->country) && ascii; break;
      case BytesTag(11): ascii = ReadText(&r, &a->url) && ascii; break;
      case BytesTag(12): ascii = ReadText(&r, &a->cross_project_id) && ascii; break;
      case VarintTag(13): a->team = r.Varint(); break;
      case VarintTag(14): a->owner = r.Varint(); break;
      case BytesTag(15): ascii = ReadText(&r, &a->description) && ascii; break;
      case VarintTag(16): a->erased = r.Bool(); break;
      case BytesTag(17): return false;
      default: r.Skip(tag); break;
    }
  }
  return ascii && r.ok();
}

void Clear(FeedAccount* a) {
  a->kind = AccountKind::kUnknown;
  a->account = a->edition = a->team = a->owner = 0;
  a->gone = a->erased = false;
  a->total_micro = 0;
  a->recent = a->recent_time = a->create_time = 0;
  for (std::string* text : {&a->name, &a->country, &a->url, &a->cross_project_id, &a->description})
    text->clear();
  a->corrections.clear();
}

}  // namespace

void EncodeFeedAccount(const EventHead& head, const FeedAccount& a, std::string* out) {
  const std::string corrections = CorrectionsOf(a);
  const std::size_t begin = out->size();
  const std::size_t most = kHeadSize + kScalarsSize + SizeOf(a.name) + SizeOf(a.country) + SizeOf(a.url) +
                           SizeOf(a.cross_project_id) + SizeOf(a.description) + corrections.size();
  out->resize(begin + most);
  // The head comes first, but its last number is the size of the rest: the rest is written behind the space for the
  // longest head, and moved.
  char* const at = out->data() + begin;
  ProtoWriter w(at + kHeadSize);
  w.Uint(1, static_cast<std::uint64_t>(a.kind));
  w.Uint(2, a.account);
  w.Uint(3, a.edition);
  w.Bool(4, a.gone);
  w.Sint(5, a.total_micro);
  w.Double(6, a.recent);
  w.Double(7, a.recent_time);
  w.Double(8, a.create_time);
  WriteText(9, a.name, &w);
  WriteText(10, a.country, &w);
  WriteText(11, a.url, &w);
  WriteText(12, a.cross_project_id, &w);
  w.Uint(13, a.team);
  w.Uint(14, a.owner);
  WriteText(15, a.description, &w);
  w.Bool(16, a.erased);
  ProtoWriter h(at);
  h.Uint(1, head.id);
  h.Uint(2, head.project.value);
  h.Double(3, head.time);
  h.MessageHead(kField, w.size() + corrections.size());
  std::memmove(at + h.size(), at + kHeadSize, w.size());
  out->resize(begin + h.size() + w.size());
  out->append(corrections);
}

bool DecodeFeedAccount(std::string_view bytes, EventHead* head, FeedAccount* account) {
  *head = {};
  bool found = false;
  ProtoReader r(bytes);
  while (const std::uint32_t tag = r.NextTag()) {
    switch (tag) {
      case VarintTag(1): head->id = r.Varint(); break;
      case VarintTag(2): head->project = ProjectId(r.Uint32()); break;
      case DoubleTag(3): head->time = r.Double(); break;
      case BytesTag(kField):
        if (found) return false;  // repeated: generated code merges both
        found = true;
        Clear(account);
        if (!ReadAccount(r.Bytes(), account)) return false;
        break;
      default: return false;
    }
  }
  return found && r.ok();
}

}  // namespace cobblestone::wire

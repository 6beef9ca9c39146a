#include "common/stream/runtime/journal.h"

#include <cstring>

namespace cobblestone::stream {
namespace {

void PutVarint(std::string& out, std::uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}

void PutField(std::string& out, std::uint32_t field, std::uint64_t v) {
  if (v == 0) return;
  PutVarint(out, field << 3);
  PutVarint(out, v);
}

void PutFixed(std::string& out, std::uint32_t field, std::uint64_t v) {
  if (v == 0) return;
  PutVarint(out, (field << 3) | 1);
  out.append(reinterpret_cast<const char*>(&v), 8);
}

struct Reader {
  const char* at;
  const char* end;
  bool ok = true;

  std::uint64_t Varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      const auto b = static_cast<unsigned char>(*at++);
      v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    ok = false;
    return 0;
  }
  std::uint64_t Fixed() {
    std::uint64_t v = 0;
    if (end - at < 8) {
      ok = false;
      return 0;
    }
    std::memcpy(&v, at, 8);
    at += 8;
    return v;
  }
};

}  // namespace

std::string EncodeJournalEntry(const JournalEntry& entry) {
  std::string out;
  out.reserve(64 + entry.chunks.size() * 16);
  PutField(out, 1, entry.sequence);
  std::string chunk;
  for (const JournalChunk& c : entry.chunks) {
    chunk.clear();
    PutField(chunk, 1, c.input);
    PutField(chunk, 2, c.first);
    PutField(chunk, 3, c.end);
    PutField(chunk, 4, c.count);
    PutVarint(out, (2 << 3) | 2);
    PutVarint(out, chunk.size());
    out += chunk;
  }
  PutFixed(out, 3, entry.hash.low);
  PutFixed(out, 4, entry.hash.high);
  for (const JournalSkip& skip : entry.skipped) {
    PutVarint(out, 5 << 3);
    PutVarint(out, std::uint64_t{skip.input} << 48 | skip.offset);
  }
  PutField(out, 6, entry.rules_version);
  if (!entry.build.empty()) {
    PutVarint(out, (7 << 3) | 2);
    PutVarint(out, entry.build.size());
    out += entry.build;
  }
  PutField(out, 8, entry.checkpoint_sequence);
  PutField(out, 9, entry.checkpoint_end);
  return out;
}

Result<JournalEntry> DecodeJournalEntry(std::string_view bytes) {
  JournalEntry entry;
  Reader in{bytes.data(), bytes.data() + bytes.size()};
  while (in.ok && in.at < in.end) {
    switch (in.Varint()) {
      case 1 << 3: entry.sequence = in.Varint(); break;
      case (2 << 3) | 2: {
        const std::uint64_t n = in.Varint();
        if (n > static_cast<std::uint64_t>(in.end - in.at)) {
          in.ok = false;
          break;
        }
        Reader part{in.at, in.at + n};
        in.at += n;
        JournalChunk c;
        while (part.ok && part.at < part.end) {
          switch (part.Varint()) {
            case 1 << 3: c.input = static_cast<std::uint32_t>(part.Varint()); break;
            case 2 << 3: c.first = part.Varint(); break;
            case 3 << 3: c.end = part.Varint(); break;
            case 4 << 3: c.count = static_cast<std::uint32_t>(part.Varint()); break;
            default: part.ok = false;
          }
        }
        in.ok = in.ok && part.ok;
        entry.chunks.push_back(c);
        break;
      }
      case (3 << 3) | 1: entry.hash.low = in.Fixed(); break;
      case (4 << 3) | 1: entry.hash.high = in.Fixed(); break;
      case 5 << 3: {
        const std::uint64_t skip = in.Varint();
        entry.skipped.push_back({.input = static_cast<std::uint32_t>(skip >> 48),
                                 .offset = skip & ((std::uint64_t{1} << 48) - 1)});
        break;
      }
      case (7 << 3) | 2: {
        const std::uint64_t n = in.Varint();
        if (n > static_cast<std::uint64_t>(in.end - in.at)) {
          in.ok = false;
          break;
        }
        entry.build.assign(in.at, n);
        in.at += n;
        break;
      }
      case 6 << 3: entry.rules_version = static_cast<std::uint32_t>(in.Varint()); break;
      case 8 << 3: entry.checkpoint_sequence = in.Varint(); break;
      case 9 << 3: entry.checkpoint_end = in.Varint(); break;
      default: in.ok = false;
    }
  }
  if (!in.ok) return Status::Corrupted("a journal entry cannot be decoded");
  return entry;
}

}  // namespace cobblestone::stream

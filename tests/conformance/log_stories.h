// Shared by the tests of the log: three topics, units whose bytes follow from their number, and functions that read a
// whole log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/stream/embedded/log.h"

namespace cobblestone::stream::embedded {

inline constexpr TopicIndex kClaims = 0;
inline constexpr TopicIndex kGrants = 1;
inline constexpr TopicIndex kNotes = 2;

inline std::vector<TopicSpec> StoryTopics() {
  return {{.name = "claims", .partitions = 2, .retention = Retention::kTrimmed},
          {.name = "grants", .partitions = 2, .retention = Retention::kForever},
          {.name = "notes", .partitions = 1, .retention = Retention::kTrimmed}};
}

inline LogOptions StoryOptions(const std::string& path) {
  LogOptions options;
  options.path = path;
  options.topics = StoryTopics();
  options.clock = [] { return 1.7e9; };
  options.steady = [] { return 0.0; };
  return options;
}

// Incompressible bytes, the same for the same seed.
inline std::string Noise(std::uint64_t seed, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + 8);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  while (text.size() < bytes) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    for (int shift = 0; shift < 64; shift += 8) text.push_back(static_cast<char>(x >> shift));
  }
  text.resize(bytes);
  return text;
}

inline LogOutput Output(TopicPartition where, const std::vector<std::string>& records) {
  LogOutput output{.where = where};
  for (const std::string& record : records) {
    AppendRecord(output.payload, record);
    ++output.count;
  }
  return output;
}

// Unit n: one record "<n>:<noise>" in claims/0, two in grants/1, and the row "last" = n.
inline std::string StoryRecord(std::uint64_t unit, std::size_t bytes) {
  return std::to_string(unit) + ":" + Noise(unit, bytes);
}

inline LogUnit StoryUnit(std::uint64_t unit, std::size_t bytes) {
  const std::string record = StoryRecord(unit, bytes);
  LogUnit result;
  result.outputs.push_back(Output({kClaims, 0}, {record}));
  result.outputs.push_back(Output({kGrants, 1}, {record, record}));
  result.rows.emplace_back("last", std::to_string(unit));
  return result;
}

inline std::vector<std::string> RecordsOf(const Batch& batch) {
  std::vector<std::string> records;
  RecordCursor cursor(batch.payload);
  for (std::string_view record; cursor.Next(&record);) records.emplace_back(record);
  return records;
}

// All records from Begin() on; an error as one record with the message.
inline std::vector<std::string> AllRecords(Log& log, TopicPartition where) {
  std::vector<std::string> records;
  for (std::uint64_t at = log.Begin(where); at < log.End(where);) {
    const Result<BatchRef> batch = log.Read(where, at);
    if (!batch.ok() || *batch == nullptr) {
      records.push_back("ERROR " + (batch.ok() ? std::string("no batch") : batch.status().message()));
      return records;
    }
    for (std::string& record : RecordsOf(**batch)) records.push_back(std::move(record));
    at = (*batch)->end();
  }
  return records;
}

// The number of whole units 1, 2, ... in the log; a message if the log holds anything else.
struct StoryLength {
  std::uint64_t units = 0;
  std::string wrong{};
};

inline StoryLength MeasureStory(Log& log, std::size_t bytes) {
  const std::vector<std::string> claims = AllRecords(log, {kClaims, 0});
  const std::vector<std::string> grants = AllRecords(log, {kGrants, 1});
  StoryLength length{.units = claims.size()};
  if (grants.size() != 2 * claims.size()) {
    length.wrong = std::to_string(claims.size()) + " claims and " + std::to_string(grants.size()) + " grants";
    return length;
  }
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string expected = StoryRecord(i + 1, bytes);
    if (claims[i] != expected || grants[2 * i] != expected || grants[2 * i + 1] != expected) {
      length.wrong = "unit " + std::to_string(i + 1) + " has other bytes: " + claims[i].substr(0, 200);
      return length;
    }
  }
  const Result<std::string> last = log.GetRow("last");
  const std::string expected = std::to_string(claims.size());
  if (!claims.empty() && (!last.ok() || *last != expected)) {
    length.wrong =
        "the row has " + (last.ok() ? *last : last.status().message()) + ", the records " + expected;
  }
  return length;
}

}  // namespace cobblestone::stream::embedded

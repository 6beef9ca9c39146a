// A small pipeline on the embedded runner, for tests of the runner alone: slot k reads partition k of `notes`, counts
// each text in a table, and emits "<text>#<count><salt>" to partition k of `echoes`. It has no credit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/stream/embedded/runner.h"
#include "common/stream/state_codec.h"
#include "common/stream/table.h"
#include "tests/conformance/log_stories.h"

namespace cobblestone::stream::embedded {

inline constexpr std::uint32_t kEchoSlots = 2;
inline constexpr TopicIndex kEchoNotes = 0;
inline constexpr TopicIndex kEchoes = 1;
inline constexpr TopicIndex kEchoJournal = 2;

inline std::vector<TopicSpec> EchoTopics() {
  return {{.name = "notes", .partitions = kEchoSlots, .retention = Retention::kTrimmed},
          {.name = "echoes", .partitions = kEchoSlots, .retention = Retention::kForever},
          {.name = "journal", .partitions = kEchoSlots, .retention = Retention::kTrimmed}};
}

struct EchoRow {
  std::uint64_t count = 0;
  std::string salt;

  template <class Self, class F>
  static void Fields(Self& s, F&& f) {
    f(s.count, s.salt);
  }
};

// Additions of the stage to a text, by default none. A salt that is not a function of the text makes the stage
// non-deterministic.
struct EchoSalts {
  std::function<std::string(std::string_view text)> output;  // to an output
  std::function<std::string(std::string_view text)> state;   // to a table row
};

class EchoStage final : public Stage {
 public:
  EchoStage(TableHost& host, std::uint32_t slot, EchoSalts salts)
      : rows_(host, {.id = 1}, false), slot_(slot), salts_(std::move(salts)) {
    rows_.MarkHot();
  }

  void Process(std::size_t, const RecordView& record, Emitter& out) override {
    EchoRow& row = rows_.Mutable({.project = 1, .id = HashBytes(record.value).low});
    ++row.count;
    if (salts_.state) row.salt = salts_.state(record.value);
    out.Emit(kEchoes, slot_,
             std::string(record.value) + "#" + std::to_string(row.count) +
                 (salts_.output ? salts_.output(record.value) : ""));
  }
  std::vector<TableBase*> tables() override { return {&rows_}; }

 private:
  Table<EchoRow> rows_;
  std::uint32_t slot_;
  EchoSalts salts_;
};

// One commit per record; only Runner::Stop() writes state.
inline RunnerOptions EchoOptions(const std::string& directory) {
  RunnerOptions options;
  options.directory = directory;
  options.topics = EchoTopics();
  options.journal = kEchoJournal;
  options.commit_interval = std::chrono::microseconds(0);
  options.commit_records = 1;
  options.flush_interval = std::chrono::hours(1);
  options.checkpoint_interval = std::chrono::hours(1);
  options.peek_time = [](TopicIndex, std::string_view) { return 0.0; };
  options.clock = [] { return 1.7e9; };
  return options;
}

inline LogOptions EchoLogOptions(const std::string& directory) {
  LogOptions options = StoryOptions(directory + "/log");
  options.topics = EchoTopics();
  return options;
}

// Log and runner in one directory. Destruction without Stop() leaves the files of a kill: a log whose journal is
// ahead of the state.
struct EchoWorld {
  std::unique_ptr<Log> log;
  std::unique_ptr<Runner> runner;
  Status status;  // of the open
  std::vector<std::string> reports;

  EchoWorld(const LogOptions& log_options, const RunnerOptions& options, EchoSalts salts = {}) {
    auto opened = Log::Open(log_options);
    if (!opened.ok()) {
      status = opened.status();
      return;
    }
    log = *std::move(opened);
    auto running = Runner::Open(
        options, *log, kEchoSlots,
        [&](std::uint32_t k) {
          SlotParts parts{.tables = std::make_unique<TableHost>(), .slot = nullptr};
          parts.slot = std::make_unique<Slot>(SlotOptions{.id = k, .topics = EchoTopics()}, *parts.tables);
          parts.slot->AddStage(std::make_unique<EchoStage>(*parts.tables, k, salts), {{kEchoNotes, k}});
          return parts;
        },
        [this](const std::string& what) { reports.push_back(what); });
    status = running.status();
    if (running.ok()) runner = *std::move(running);
  }
  explicit EchoWorld(const std::string& directory, EchoSalts salts = {})
      : EchoWorld(EchoLogOptions(directory), EchoOptions(directory), std::move(salts)) {}

  // Appends each text as a separate record to `notes`; returns when all are processed and durable.
  void Send(std::uint32_t slot, const std::vector<std::string>& texts) {
    std::uint64_t ticket = 0;
    for (const std::string& text : texts)
      ticket = log->Append({.outputs = {Output({kEchoNotes, slot}, {text})}});
    log->WaitDurable(ticket);
    runner->WaitIdle();
  }
};

}  // namespace cobblestone::stream::embedded

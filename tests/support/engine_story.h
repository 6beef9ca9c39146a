// A test fixture that sends events to an engine one by one. Each event is ingested and fully processed before the
// next.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "common/wire/events/event_codec.h"
#include "services/embedded/engine.h"
#include "tests/support/job_events.h"
#include "tests/support/temp_dir.h"

namespace cobblestone::testing {

// Three partitions on two threads, with project 1; a derived SetUp may change the settings before it opens the
// engine.
class EngineStory : public ::testing::Test {
 protected:
  static constexpr double kStart = 1.7e9;
  static constexpr double kDay = 86400;
  static constexpr ProjectId kProject{1};

  EngineStory() {
    settings_.data_directory = temp_ / "data";
    settings_.partitions = 3;
    settings_.threads = 2;
  }
  void SetUp() override { Open(); }

  void Open() {
    auto engine = embedded::Engine::Open(
        settings_, [](const std::string&) {}, options_);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
    engine_->Start();
  }
  // Writes all state, and reads it again.
  void Reopen() {
    ASSERT_TRUE(engine_->Stop().ok());
    engine_.reset();
    Open();
  }
  void Send(double time, wire::EventBody body) {
    intake::AppendBlock block{.source = "story", .first_line = id_, .own_ticks = true};
    block.lines.push_back(
        {.envelope = wire::EncodeEvent(
             {.head = {.id = ++id_, .project = kProject, .time = time}, .body = std::move(body)})});
    block.barrier = wire::PeekRouting(block.lines[0].envelope)->key == wire::KeyKind::kBroadcast;
    const auto appended = engine_->Append(block);
    ASSERT_TRUE(appended.ok()) << appended.status().message();
    engine_->WaitIdle();
    ASSERT_TRUE(engine_->failure().ok()) << engine_->failure().message();
  }
  // A valid result, worth `credit` Cobblestones.
  void Granted(double time, std::uint64_t result, std::uint64_t host, double credit, std::uint64_t app = 1) {
    wire::Completion completion = CompletionOf(result, host, result, time);
    credit::ValidationFacts validation = ValidationOf(result, host, result, credit);
    completion.facts.app = validation.app = AppId(app);
    Send(time, completion);
    Send(time, validation);
  }

  TempDir temp_;
  settings::RunSettings settings_;
  embedded::EngineOptions options_;
  std::unique_ptr<embedded::Engine> engine_;
  std::uint64_t id_ = 0;  // of the last event
};

}  // namespace cobblestone::testing

// The scales that a tick computes do not depend on the partition of a sample or on the order of arrival. This also
// holds for two hosts that claim the same result.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/wire/control/sample_source.h"
#include "common/wire/control/scale_codec.h"
#include "common/wire/control/topics.h"
#include "common/wire/events/event_codec.h"
#include "services/pipeline/pipeline.h"

namespace cobblestone {

using pipeline::MakeSlot;
using pipeline::PipelineSlot;

namespace {

constexpr double kStart = 1.7e9;
constexpr std::uint32_t kPartitions = 2;

class Coordinator {
 public:
  Coordinator() : parts_(MakeSlot(kPartitions, {.partitions = kPartitions, .future_limit = 1e12})) {
    EXPECT_TRUE(parts_.slot->Open(nullptr).ok());
    wire::AppVersionChange version;
    version.row.id = 5;
    version.row.app = AppId(1);
    Event(wire::AppChange{.app = AppId(1), .name = "app"});
    Event(version);
  }

  void Event(wire::EventBody body) {
    ++events_;
    Take(0, wire::EncodeEvent(
                {.head = {.id = events_, .project = ProjectId(1), .time = kStart}, .body = std::move(body)}));
  }
  void Samples(std::uint32_t partition, const std::vector<credit::Sample>& samples) {
    std::string bytes;
    wire::EncodeSampleBatch(ProjectId(1), samples, &bytes);
    wire::AppendSampleSource(partition, 0, &bytes);
    Take(1, bytes);
  }
  // Ends the period in every partition and returns the coordinator's control record.
  std::string Tick() {
    Event(wire::Tick{.time = kStart + 3600});
    const std::uint64_t watermark = parts_.stages.coordinator->projects()
                                        .Find({.project = 1, .id = 0, .sub = 0})
                                        ->ticks.front()
                                        .watermark;
    (void)parts_.slot->Finish();
    for (std::uint32_t p = 0; p < kPartitions; ++p) {
      std::string bytes;
      wire::AppendSampleSource(p, watermark, &bytes);
      Take(1, bytes);
    }
    auto commit = parts_.slot->Finish();
    EXPECT_TRUE(commit.ok());
    for (const stream::SlotOutput& out : commit->outputs)
      if (out.where.topic == wire::kControl) return out.payload;
    return "";
  }

 private:
  void Take(std::size_t input, std::string_view bytes) {
    EXPECT_TRUE(parts_.slot
                    ->Process(input, {.where = parts_.slot->inputs()[input].where,
                                      .offset = parts_.slot->next(input),
                                      .append_time = kStart,
                                      .line = 0,
                                      .value = bytes})
                    .ok());
  }

  PipelineSlot parts_;
  std::uint64_t events_ = 0;
};

// Each host claims the same results, at the same time and by the same validation.
std::vector<credit::Sample> Contested(std::uint64_t host) {
  std::vector<credit::Sample> samples;
  for (std::uint64_t result = 1; result <= 40; ++result)
    samples.push_back({.time = kStart + 10,
                       .validation_id = 7,
                       .result = ResultId(result),
                       .app = AppId(1),
                       .version = AppVersionId(5),
                       .flags = credit::kSamplePfc | credit::kSampleCredit,
                       .pfc = 1e12 * static_cast<double>(result) / static_cast<double>(3 + host),
                       .credit = 0.1 * static_cast<double>(host),
                       .credit_start = kStart,
                       .weight = 1,
                       .line = 9,
                       .host = HostId(host)});
  return samples;
}

TEST(CoordinatorSamples, TheScalesDoNotDependOnTheOrderOfArrival) {
  Coordinator one;
  one.Samples(0, Contested(1));
  one.Samples(1, Contested(2));
  const std::string epoch = one.Tick();
  ASSERT_NE(epoch, "");
  Coordinator other;
  other.Samples(1, Contested(2));
  other.Samples(0, Contested(1));
  EXPECT_EQ(other.Tick(), epoch);
  Coordinator less;
  less.Samples(0, Contested(1));
  EXPECT_NE(less.Tick(), epoch) << "the samples have no effect";
}

}  // namespace
}  // namespace cobblestone

// The same files from the state of a pipeline that has adopted the rows: from the live state, and from the state
// on disk after a restart of the program.
#include <gtest/gtest.h>

#include <utility>

#include "services/access/ingest.h"
#include "services/adoption/adoption.h"
#include "services/embedded/engine.h"
#include "services/export/state/state_source.h"
#include "tests/golden/export_variants.h"

namespace cobblestone::statistics {

using access::ClientOf;
using access::Ingest;
using access::IngestSummary;
using embedded::Engine;
using exports::EntitiesFile;
using exports::FiguresOf;
using exports::Settings;
using exports::Source;
using exports::StateSource;

namespace {

constexpr ProjectId kProject{5};

// A pipeline that has adopted the rows of one file.
class Adopted {
 public:
  explicit Adopted(std::string entities) : entities_(std::move(entities)) {
    settings_.data_directory = dir_ / "data";
    settings_.partitions = 3;
    Open();
    if (engine_ != nullptr) Adopt();
  }
  // Stops the engine and opens it again without starting it.
  void Reopen() {
    ASSERT_TRUE(engine_->Stop().ok());
    engine_.reset();
    Open();
  }

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] const std::string& entities() const { return entities_; }

 private:
  void Adopt() {
    engine_->Start();
    auto file = EntitiesFile::Open(entities_, {});
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto client = ClientOf(*engine_);
    IngestSummary summary;
    const Status sent = Ingest(*client, adoption::StreamOf(**file, {.project = kProject}, 0),
                               {.source = "rows"}, {}, &summary);
    ASSERT_TRUE(sent.ok()) << sent.message();
    ASSERT_TRUE(client->WaitIdle().ok());
  }
  void Open() {
    auto engine = Engine::Open(settings_, [](const std::string&) {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = std::move(*engine);
  }

  const std::string entities_;
  testing::TempDir dir_;
  settings::RunSettings settings_;
  std::unique_ptr<Engine> engine_;
};

class ExportStateGolden : public ::testing::TestWithParam<const char*> {
 protected:
  // Adopts each file once, because many variants have the same file.
  static Adopted& Of(const std::string& entities) {
    if (last_ == nullptr || last_->entities() != entities) last_ = std::make_unique<Adopted>(entities);
    return *last_;
  }
  static void TearDownTestSuite() { last_.reset(); }
  static OpenRows From(view::State& (Engine::*state)(), bool reopened) {
    return
        [state, reopened](const std::string& entities, const Settings& settings) -> std::unique_ptr<Source> {
          Adopted& adopted = Of(entities);
          if (reopened) adopted.Reopen();
          auto rows =
              StateSource::Open((adopted.engine().*state)(),
                                {.project = kProject, .statsexport_enabled = settings.statsexport_enabled});
          EXPECT_TRUE(rows.ok()) << rows.status().message();
          return rows.ok() ? std::move(*rows) : nullptr;
        };
  }

 private:
  static std::unique_ptr<Adopted> last_;
};

std::unique_ptr<Adopted> ExportStateGolden::last_;

TEST_P(ExportStateGolden, EveryFileOfTheVariantIsEqual) {
  ExpectVariant(GetParam(), From(&Engine::live_state, false));
}

TEST_P(ExportStateGolden, EveryFileIsEqualFromTheStateOnDiskAfterARestart) {
  ExpectVariant(GetParam(), From(&Engine::stored_state, true));
}

INSTANTIATE_TEST_SUITE_P(Variants, ExportStateGolden, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param); });

TEST(FiguresOf, ATotalIsTheExactOpeningPlusTheLaterGrants) {
  const wire::OpeningFigures opening{.total_credit = 1e-7, .expavg_credit = 5, .expavg_time = -1};
  credit::Account account{.opening_micro = 0, .total_micro = 0, .recent = {.value = 5, .time = 0}};
  EXPECT_EQ(FiguresOf(account, opening), opening);
  account.total_micro = 2500000;
  account.grants = 1;
  account.recent = {.value = 7, .time = 9};
  EXPECT_EQ(FiguresOf(account, opening),
            (wire::OpeningFigures{.total_credit = 1e-7 + 2.5, .expavg_credit = 7, .expavg_time = 9}));
  EXPECT_EQ(FiguresOf(account, std::nullopt).total_credit, 2.5);
  account.opening_micro = 500000;
  EXPECT_EQ(FiguresOf(account, wire::OpeningFigures{.total_credit = 1e30}).total_credit, 1e30);
  EXPECT_EQ(FiguresOf(account, wire::OpeningFigures{.total_credit = 0.5}).total_credit, 2.5);
}

}  // namespace
}  // namespace cobblestone::statistics

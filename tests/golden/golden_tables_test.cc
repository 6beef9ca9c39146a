// The tables of single functions: running averages, recent average, low average, operations to credit.

#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/credit/accounts/account.h"
#include "common/credit/model/average.h"
#include "common/credit/model/constants.h"
#include "common/credit/model/flops.h"
#include "common/credit/model/low_average.h"
#include "tests/golden/comparison.h"
#include "tests/golden/golden_file.h"

namespace cobblestone::golden {
namespace {

using nlohmann::json;

const std::string kData = std::string(COBBLESTONE_SOURCE_DIR) + "/tests/golden/data/";

// Runs `check` on each line of a table with its answer.
template <class Check>
Comparison ForEachLine(const std::string& table, Check check) {
  const std::vector<json> input = ReadLines(kData + table + ".in.jsonl");
  const std::vector<json> output = ReadLines(kData + table + ".out.jsonl");
  EXPECT_EQ(input.size(), output.size());
  Comparison compare;
  for (std::size_t k = 0; k < input.size() && k < output.size(); ++k) {
    EXPECT_EQ(input[k].at("i"), output[k].at("i"));
    compare.At(input[k].at("i").get<std::uint64_t>(), table.c_str());
    check(compare, input[k], output[k]);
  }
  std::printf("%-26s values %9llu  different %llu  through exp %llu\n", table.c_str(),
              static_cast<unsigned long long>(compare.compared()),
              static_cast<unsigned long long>(compare.different()),
              static_cast<unsigned long long>(compare.different_through_exp()));
  for (const std::string& difference : compare.first_differences()) ADD_FAILURE() << difference;
  EXPECT_EQ(compare.different(), 0U);
  return compare;
}

TEST(GoldenTables, RecentAverageEqualsBoinc) {
  const Comparison compare =
      ForEachLine("s11_update_average", [](Comparison& c, const json& in, const json& out) {
        credit::RecentAverage average{.value = Number(in, "avg"), .time = Number(in, "avg_time")};
        credit::UpdateAverage(Number(in, "now"), Number(in, "work_start_time"), Number(in, "work"),
                              Number(in, "half_life"), average);
        c.Value("avg", average.value, out.at("avg"), Kind::kThroughExp);
        c.Value("avg_time", average.time, out.at("avg_time"));
      });
  EXPECT_EQ(compare.compared(), 800U);
}

void CompareStep(Comparison& c, const credit::Average& plain, const credit::AverageVar& with_variance,
                 const json& step) {
  c.Value("n", plain.n, step.at("n"));
  c.Value("avg", plain.mean, step.at("avg"));
  c.Value("v_n", with_variance.n, step.at("v_n"));
  c.Value("v_avg", with_variance.mean, step.at("v_avg"));
  c.Value("v_var", with_variance.var, step.at("v_var"));
  c.Value("v_q", with_variance.q, step.at("v_q"));
}

TEST(GoldenTables, RunningAveragesEqualBoincStepByStep) {
  const Comparison compare = ForEachLine("s11b_average", [](Comparison& c, const json& in, const json& out) {
    const credit::AverageRule rule{.samples = Number(in, "n_threshold"),
                                   .weight = Number(in, "sample_weight"),
                                   .limit = Number(in, "sample_limit"),
                                   .refuse_non_finite = false};
    credit::Average plain;
    credit::AverageVar with_variance;
    const json& samples = in.at("samples");
    const json& steps = out.at("steps");
    c.True("number of steps", samples.size() == steps.size());
    for (std::size_t k = 0; k < samples.size(); ++k) {
      const double sample = Number(samples.at(k));
      // BOINC calls both cut and refused samples 'truncated'.
      const bool first = credit::AddSample(rule, sample, plain) != credit::SampleTaken::kAsIs;
      const bool second = credit::AddSample(rule, sample, with_variance) != credit::SampleTaken::kAsIs;
      c.Value("truncated", first ? 1 : 0, steps.at(k).at("truncated"));
      c.Value("v_truncated", second ? 1 : 0, steps.at(k).at("v_truncated"));
      CompareStep(c, plain, with_variance, steps.at(k));
    }
  });
  EXPECT_EQ(compare.compared(), 12882U);
}

TEST(GoldenTables, OperationsGiveTheSameCreditAsBoinc) {
  const credit::Constants constants;
  const Comparison compare =
      ForEachLine("s11c_fpops_to_credit", [&](Comparison& c, const json& in, const json& out) {
        c.Value("fpops_to_credit", credit::CreditOfFlops(Number(in, "fpops"), constants),
                out.at("fpops_to_credit"));
        c.Value("cpu_time_to_credit",
                credit::CreditOfFlops(Number(in, "cpu_time") * Number(in, "cpu_flops_sec"), constants),
                out.at("cpu_time_to_credit"));
      });
  EXPECT_EQ(compare.compared(), 136U);
}

TEST(GoldenTables, LowAverageEqualsBoinc) {
  const Comparison compare =
      ForEachLine("s12_low_average", [](Comparison& c, const json& in, const json& out) {
        std::vector<double> values;
        for (const json& value : in.at("values")) values.push_back(Number(value));
        c.Value("low_average", credit::LowAverage(values), out.at("low_average"));
      });
  EXPECT_EQ(compare.compared(), 214U);
}

}  // namespace
}  // namespace cobblestone::golden

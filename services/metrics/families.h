// Metric families of one scrape, and their text (Prometheus' exposition format 0.0.4).
//
//   Families all;
//   auto lag = all.Gauge("cobblestone_task_lag_records", "Records that wait on the inputs of a slot.");
//   lag.Add({{"slot", "3"}}, 17);
//
// Names follow Prometheus' conventions: base units, _total for values that only grow. Threads: one at a time.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

#include "common/base/histogram.h"

namespace cobblestone::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Families {
 public:
  // One family; valid as long as its Families.
  class Family {
   public:
    void Add(const Labels& labels, double value);
    void Add(double value) { Add({}, value); }

   private:
    friend class Families;
    Family(Families& all, std::size_t at) : all_(all), at_(at) {}
    Families& all_;
    std::size_t at_;
  };
  class HistogramFamily {
   public:
    void Add(const Labels& labels, const LatencyCounts& counts);

   private:
    friend class Families;
    HistogramFamily(Families& all, std::size_t at) : all_(all), at_(at) {}
    Families& all_;
    std::size_t at_;
  };

  // Each name once. `help` is one sentence.
  Family Counter(std::string name, std::string help);
  Family Gauge(std::string name, std::string help);
  HistogramFamily Histogram(std::string name, std::string help);

  [[nodiscard]] std::string Text() const;

 private:
  std::size_t Make(std::string name, std::string help, prometheus::MetricType type);
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace cobblestone::metrics

#include "services/metrics/families.h"

#include <limits>

#include <prometheus/text_serializer.h>

#include "common/base/check.h"

namespace cobblestone::metrics {
namespace {

prometheus::ClientMetric With(const Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({.name = name, .value = value});
  return metric;
}

}  // namespace

void Families::Family::Add(const Labels& labels, double value) {
  prometheus::ClientMetric metric = With(labels);
  prometheus::MetricFamily& family = all_.families_[at_];
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void Families::HistogramFamily::Add(const Labels& labels, const LatencyCounts& counts) {
  prometheus::ClientMetric metric = With(labels);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < counts.counts.size(); ++i) {
    all += counts.counts[i];
    metric.histogram.bucket.push_back({.cumulative_count = all,
                                       .upper_bound = i < kLatencyBounds.size()
                                                          ? kLatencyBounds[i]
                                                          : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = all;
  metric.histogram.sample_sum = counts.sum;
  all_.families_[at_].metric.push_back(std::move(metric));
}

Families::Family Families::Counter(std::string name, std::string help) {
  return {*this, Make(std::move(name), std::move(help), prometheus::MetricType::Counter)};
}

Families::Family Families::Gauge(std::string name, std::string help) {
  return {*this, Make(std::move(name), std::move(help), prometheus::MetricType::Gauge)};
}

Families::HistogramFamily Families::Histogram(std::string name, std::string help) {
  return {*this, Make(std::move(name), std::move(help), prometheus::MetricType::Histogram)};
}

std::size_t Families::Make(std::string name, std::string help, prometheus::MetricType type) {
  for (const auto& family : families_)
    COBBLESTONE_CHECK(family.name != name, "metric family defined twice: " + name);
  families_.push_back({.name = std::move(name), .help = std::move(help), .type = type});
  return families_.size() - 1;
}

std::string Families::Text() const { return prometheus::TextSerializer().Serialize(families_); }

}  // namespace cobblestone::metrics

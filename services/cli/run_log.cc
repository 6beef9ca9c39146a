#include "services/cli/run_log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

namespace cobblestone::cli {
namespace {

spdlog::level::level_enum LevelOf(settings::LogLevel level) {
  switch (level) {
    case settings::LogLevel::kError: return spdlog::level::err;
    case settings::LogLevel::kWarn: return spdlog::level::warn;
    case settings::LogLevel::kInfo: return spdlog::level::info;
    case settings::LogLevel::kDebug: return spdlog::level::debug;
  }
  return spdlog::level::info;
}

std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// An own logger, outside of spdlog's registry: two in one process (tests) must not conflict.
RunLog::RunLog(const settings::LogSettings& settings)
    : format_(settings.format),
      logger_(std::make_shared<spdlog::logger>("cobblestone",
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_level(LevelOf(settings.level));
  logger_->flush_on(spdlog::level::debug);
  // UTC in both formats: logs of several machines are compared.
  logger_->set_pattern(format_ == settings::LogFormat::kJson
                           ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                           : "%Y-%m-%d %H:%M:%S.%eZ %-7l %v",
                       spdlog::pattern_time_type::utc);
}

RunLog::~RunLog() = default;

void RunLog::Debug(const std::string& what, const nlohmann::json& values) {
  logger_->debug("{}", Message(what, values));
}
void RunLog::Info(const std::string& what, const nlohmann::json& values) {
  logger_->info("{}", Message(what, values));
}
void RunLog::Warn(const std::string& what, const nlohmann::json& values) {
  logger_->warn("{}", Message(what, values));
}
void RunLog::Error(const std::string& what, const nlohmann::json& values) {
  logger_->error("{}", Message(what, values));
}

std::string RunLog::Message(const std::string& what, const nlohmann::json& values) const {
  if (format_ == settings::LogFormat::kJson) {
    std::string text = "\"message\":" + Dump(what);
    for (const auto& [name, value] : values.items()) text += "," + Dump(name) + ":" + Dump(value);
    return text;
  }
  std::string text = what;
  for (const auto& [name, value] : values.items())
    text += " " + name + "=" + (value.is_string() ? value.get<std::string>() : Dump(value));
  return text;
}

}  // namespace cobblestone::cli

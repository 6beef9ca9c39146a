// Log of the running program, on standard error: one line per event, as text for people or as a JSON object for
// machines. Each event is a constant sentence with its values beside it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/settings/run_settings.h"

namespace spdlog {
class logger;
}

namespace cobblestone::cli {

// Threads: any.
class RunLog {
 public:
  explicit RunLog(const settings::LogSettings& settings);
  ~RunLog();

  void Debug(const std::string& what, const nlohmann::json& values = {});
  void Info(const std::string& what, const nlohmann::json& values = {});
  void Warn(const std::string& what, const nlohmann::json& values = {});
  void Error(const std::string& what, const nlohmann::json& values = {});

 private:
  [[nodiscard]] std::string Message(const std::string& what, const nlohmann::json& values) const;

  settings::LogFormat format_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace cobblestone::cli

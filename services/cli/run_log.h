// What the running program says about itself, on standard error: a line of text for people, or one JSON
// object a line for machines. Each event is a sentence that does not vary, and its values beside it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/settings/run_settings.h"

namespace spdlog {
class logger;
}

namespace cobblestone {

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

}  // namespace cobblestone

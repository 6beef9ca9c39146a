// Answers (JSON) as words and tables for people. Whoever computes with them takes --json: numbers here are
// rounded to ten digits. A field that is absent is left out, and one that is not known here is shown under
// its own name, so that an answer may grow.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cobblestone {

// Engine::Explain(): how each grant of the result came about, step by step, or what the result waits for.
std::string ExplainText(const nlohmann::json& answer);
// Engine::Account(), HostVersion(), Scales(), Tasks(), Audit().
std::string AccountText(const nlohmann::json& answer);
std::string HostVersionText(const nlohmann::json& answer);
std::string ScalesText(const nlohmann::json& answer);
std::string KafkaTasksText(const nlohmann::json& answer);
std::string TasksText(const nlohmann::json& answer);
std::string AuditText(const nlohmann::json& answer);
// Engine::RefusedList(), RefusedShow().
std::string RefusedListText(const nlohmann::json& answer);
std::string RefusedText(const nlohmann::json& answer);

// "2026-03-01 12:00:00 UTC"; the number itself where it is no time that a calendar knows.
std::string UtcText(double unix_seconds);
// "1,234,567.5", "4.2e+12", "inf"; text as it is.
std::string NumberText(const nlohmann::json& value);
// Six decimals; what rounds to 0 has no sign.
std::string FixedText(double value);

}  // namespace cobblestone

// Answers (JSON) as text and tables for people. Programs should use --json: numbers here are rounded to ten digits.
// An absent field is left out, and an unknown field is shown under its own name, so that answers may gain fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cobblestone::cli {

// Engine::questions().Explain(): how each grant of the result was computed, step by step, or what the result waits
// for.
std::string ExplainText(const nlohmann::json& answer);
// Answers of view::Questions (Account, HostVersions, Scales), Tasks() and Audit().
std::string AccountText(const nlohmann::json& answer);
std::string HostVersionText(const nlohmann::json& answer);
std::string ScalesText(const nlohmann::json& answer);
std::string KafkaTasksText(const nlohmann::json& answer);
std::string TasksText(const nlohmann::json& answer);
std::string AuditText(const nlohmann::json& answer);
// view::Questions::RefusedList(), RefusedShow().
std::string RefusedListText(const nlohmann::json& answer);
std::string RefusedText(const nlohmann::json& answer);
// {"dry_run", "resubmitted": [...], "left": [...]}, as in /refused/resubmit (services/access/refused_question.h).
std::string ResubmitText(const nlohmann::json& answer);

// "2026-03-01 12:00:00 UTC"; the number itself if it is outside the calendar's range.
std::string UtcText(double unix_seconds);
// "1,234,567.5", "4.2e+12", "inf"; text unchanged.
std::string NumberText(const nlohmann::json& value);
// Six decimals; a value that rounds to 0 has no sign.
std::string FixedText(double value);

}  // namespace cobblestone::cli

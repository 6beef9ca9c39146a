// Reads the parameters of one question (question.h). Threads: one at a time.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "common/base/status.h"
#include "services/access/question.h"

namespace cobblestone::access {

// A parameter that is missing or wrong has the value 0 or none; status() is the first error.
class Parameters {
 public:
  explicit Parameters(const Question& question) : question_(question) {}

  // Present and not empty.
  [[nodiscard]] bool Has(const std::string& name) const {
    const auto found = question_.parameters.find(name);
    return found != question_.parameters.end() && !found->second.empty();
  }

  template <class Number>
  Number Required(const std::string& name) {
    return Read<Number>(name, std::nullopt);
  }
  template <class Number>
  Number Optional(const std::string& name, Number otherwise) {
    return Read<Number>(name, otherwise);
  }

  // At most `most`.
  std::uint64_t Limited(const std::string& name, std::uint64_t otherwise, std::uint64_t most) {
    const auto number = Optional<std::uint64_t>(name, otherwise);
    if (number > most) Fail(name + " must be at most " + std::to_string(most));
    return number;
  }

  std::string Text(const std::string& name) {
    if (Has(name)) return question_.parameters.find(name)->second;
    Fail("the parameter " + name + " is missing");
    return {};
  }

  // "A,B"; empty if the parameter is missing.
  [[nodiscard]] std::set<std::string, std::less<>> Names(const std::string& name) const {
    std::set<std::string, std::less<>> names;
    const std::string text = Has(name) ? question_.parameters.find(name)->second : std::string();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.size(), text.find(',', at));
      names.insert(text.substr(at, end - at));
      at = end + 1;
    }
    return names;
  }

  // "17,4,0"
  std::vector<std::uint64_t> Numbers(const std::string& name) {
    std::vector<std::uint64_t> numbers;
    const std::string text = Text(name);
    const char* at = text.data();
    const char* const all = at + text.size();
    while (status_.ok() && at != all) {
      const auto [end, error] = std::from_chars(at, all, numbers.emplace_back());
      if (error != std::errc() || (end != all && *end != ','))
        Fail(name + " must be numbers separated by commas, not '" + text + "'");
      at = end == all ? end : end + 1;
    }
    return numbers;
  }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = Status::InvalidArgument(question_.path + ": " + what);
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  template <class Number>
  Number Read(const std::string& name, std::optional<Number> otherwise) {
    const auto found = question_.parameters.find(name);
    if (found == question_.parameters.end()) {
      if (!otherwise) Fail("the parameter " + name + " is missing");
      return otherwise.value_or(Number{});
    }
    const std::string& text = found->second;
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      Fail(name + " must be a number, not '" + text + "'");
    return number;
  }

  const Question& question_;
  Status status_;
};

}  // namespace cobblestone::access

#include "services/cli/verb.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <utility>

namespace cobblestone::cli {

const Option& Option::Required() const {
  option_->required();
  return *this;
}

const Option& Option::Type(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

const Option& Option::ShowDefault() const {
  option_->capture_default_str();
  return *this;
}

const Option& Option::Group(const std::string& name) const {
  option_->group(name);
  return *this;
}

const Option& Option::OneEach() const {
  option_->allow_extra_args(false);
  return *this;
}

const Option& Option::Excludes(const std::string& name) const {
  option_->excludes(name);
  return *this;
}

const Option& Option::OneOf(std::vector<std::string> values) const {
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

const Option& Option::Positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

const Option& Option::NotNegative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

const Option& Option::Between(int least, int greatest) const {
  option_->check(CLI::Range(least, greatest));
  return *this;
}

const Option& Option::Between(double least, double greatest) const {
  option_->check(CLI::Range(least, greatest));
  return *this;
}

template <class Value>
Option Verb::Add(const std::string& names, Value& value, const std::string& text) {
  return Option(app_->add_option(names, value, text));
}
template Option Verb::Add(const std::string&, std::string&, const std::string&);
template Option Verb::Add(const std::string&, std::vector<std::string>&, const std::string&);
template Option Verb::Add(const std::string&, std::optional<std::string>&, const std::string&);
template Option Verb::Add(const std::string&, std::vector<std::uint32_t>&, const std::string&);
template Option Verb::Add(const std::string&, int&, const std::string&);
template Option Verb::Add(const std::string&, std::uint32_t&, const std::string&);
template Option Verb::Add(const std::string&, std::uint64_t&, const std::string&);
template Option Verb::Add(const std::string&, std::int64_t&, const std::string&);
template Option Verb::Add(const std::string&, double&, const std::string&);
template Option Verb::Add(const std::string&, std::optional<std::uint64_t>&, const std::string&);
template Option Verb::Add(const std::string&, std::optional<std::int64_t>&, const std::string&);
template Option Verb::Add(const std::string&, std::optional<double>&, const std::string&);

Option Verb::Flag(const std::string& names, bool& value, const std::string& text) {
  return Option(app_->add_flag(names, value, text));
}

Option Verb::FlagOff(const std::string& names, bool& value, const std::string& text) {
  return Option(app_->add_flag_callback(
      names, [&value] { value = false; }, text));
}

void Verb::Footer(const std::string& text) { app_->footer(text); }

Verb Verb::Sub(const std::string& name, const std::string& what) {
  app_->require_subcommand(1);
  return Verb(app_->add_subcommand(name, what));
}

void Verb::OnParsed(std::function<void()> callback) { app_->callback(std::move(callback)); }

}  // namespace cobblestone::cli

// How a verb declares its options. Only verb.cc and main.cc, which parses, include CLI11: each file that includes it
// compiles all of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace cobblestone::cli {

// An option just added; each function changes it and returns it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option& Required() const;
  // What stands for the value in the help text, such as FILE.
  const Option& Type(const std::string& name) const;
  // The help text shows the value that the variable had when the option was added.
  const Option& ShowDefault() const;
  // The heading in the help text.
  const Option& Group(const std::string& name) const;
  // The option takes one value each time it is given, and may be given several times.
  const Option& OneEach() const;
  // Not together with the option of that name.
  const Option& Excludes(const std::string& name) const;
  // Other values are refused when the command line is parsed.
  const Option& OneOf(std::vector<std::string> values) const;
  const Option& Positive() const;
  const Option& NotNegative() const;
  const Option& Between(int least, int greatest) const;
  const Option& Between(double least, double greatest) const;

 private:
  CLI::Option* option_;
};

// The options of one verb, or the verbs below it. Variables must outlive the parsing.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}

  // `names`: "--long", "-s,--long", or NAME for a positional argument. Value: std::string, a number, an optional of these, or
  // a vector of these for a list; verb.cc instantiates the function for each type in use.
  template <class Value>
  Option Add(const std::string& names, Value& value, const std::string& text);
  // Sets the variable to true.
  Option Flag(const std::string& names, bool& value, const std::string& text);
  // Sets the variable to false.
  Option FlagOff(const std::string& names, bool& value, const std::string& text);
  // Text below the options.
  void Footer(const std::string& text);
  // A verb below this one; one of them must be named.
  Verb Sub(const std::string& name, const std::string& what);
  // Called when the verb was named and its options are set.
  void OnParsed(std::function<void()> callback);

 private:
  CLI::App* app_;
};

// The command line, and the verb that it names: `chosen` is set during parsing and called afterwards.
struct Program {
  explicit Program(CLI::App* app) : root(app) {}

  Verb root;
  std::function<int()> chosen;
};

// A verb below `parent` whose options live in one struct: `add` declares them, `run` gets them filled in.
template <class Options>
Verb AddVerb(Program& program, Verb& parent, const std::string& name, const std::string& what,
             const std::function<void(Verb&, Options&)>& add, int (*run)(const Options&)) {
  Verb verb = parent.Sub(name, what);
  const auto options = std::make_shared<Options>();
  add(verb, *options);
  verb.OnParsed([&program, options, run] { program.chosen = [options, run] { return run(*options); }; });
  return verb;
}
template <class Options>
Verb AddVerb(Program& program, const std::string& name, const std::string& what,
             const std::function<void(Verb&, Options&)>& add, int (*run)(const Options&)) {
  return AddVerb<Options>(program, program.root, name, what, add, run);
}

}  // namespace cobblestone::cli

// Reads C++ and CMake text just far enough to hold rules against it: no preprocessor, no macro, no condition.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cobblestone::layering {

// The text with comments and the contents of string and character literals blanked, line breaks kept: what is found in
// it is code, at the line where the file has it. Include directives keep their path.
std::string CodeOnly(std::string_view text);

// The comments and string literals of C++: code becomes ';', comment marks and quotes become blanks, and line breaks stay. A
// literal without a blank is a name and becomes ';' too. So a sentence in adjacent comment lines or literals is one text.
std::string ProseOnly(std::string_view text);

// A document without fenced blocks and code spans, with the same lines: what stands there is neither link nor prose.
std::string WithoutCode(const std::string& text);

struct Include {
  int line;          // from 1
  std::string path;  // as written, without quotes or brackets
  bool quoted;       // "path", not <path>
};
std::vector<Include> IncludesOf(std::string_view text);

struct CMakeCall {
  int line;  // of the name, from 1
  std::string name;
  std::vector<std::string> arguments;  // quotes removed; parentheses inside dropped
};
// In order of the text. An argument with ${x} stands there once for each value that set(x ...) or foreach(x ...) above
// it gives, as if a loop were written out; a variable that the text does not set stays as it is.
std::vector<CMakeCall> CMakeCallsOf(std::string_view text);

// The line, from 1, in which a position of the text lies.
int LineOf(std::string_view text, size_t position);

}  // namespace cobblestone::layering

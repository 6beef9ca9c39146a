// Sums and prints numbers like the PHP script that writes the files by app (PHP 8, setting `precision`
// 14): a value of the database is an integer if it is whole and below 1e15, and a sum is an integer as
// long as all its values are.
// Rules: tests/golden/export/README.md, 'Elements'. Exponents are used from 1e14 on, where 14 digits no longer
// suffice, as in PHP 8.2.
#pragma once

#include <cstdint>
#include <string>

namespace cobblestone::exports {

class PhpNumber {
 public:
  // Adds a value of a column of type double.
  void Add(double value);
  // Adds a value of an integer column. If the sum exceeds 64 bits, it becomes a double, as in PHP.
  void AddWhole(std::int64_t value);
  [[nodiscard]] bool IsZero() const { return is_whole_ ? whole_ == 0 : number_ == 0; }
  [[nodiscard]] std::string Text() const;

 private:
  bool is_whole_ = true;
  std::int64_t whole_ = 0;
  double number_ = 0;
};

}  // namespace cobblestone::exports

// Sums and numbers as the PHP script of the files by app makes and prints them (PHP 8, setting `precision` 14): a value of
// the database is an integer if it is whole and below 1e15 there, and a sum is one as long as all its values are. Rules:
// tests/golden/export/README.md, 'Elements'; the exponent begins where 14 digits no longer reach (1e14), as PHP 8.2 has it.
#pragma once

#include <cstdint>
#include <string>

namespace cobblestone::statistics {

class PhpNumber {
 public:
  // A column of type double.
  void Add(double value);
  // A column of integers. Beyond 64 bits the sum becomes a double, as in PHP.
  void AddWhole(std::int64_t value);
  [[nodiscard]] bool IsZero() const { return is_whole_ ? whole_ == 0 : number_ == 0; }
  [[nodiscard]] std::string Text() const;

 private:
  bool is_whole_ = true;
  std::int64_t whole_ = 0;
  double number_ = 0;
};

}  // namespace cobblestone::statistics

// Rows in which stages keep the older blocks of histories (common/credit/accounts/day_history.h): by the account's
// key, with the number of the row in `sub`. If a key has several histories, history n starts at row n * kBlockRows.
#pragma once

#include <cstdint>
#include <vector>

#include "common/credit/accounts/day_history.h"
#include "common/stream/table.h"

namespace cobblestone::stage {

template <class Sum>
using DayTable = stream::Table<credit::DayBlock<Sum>>;

inline stream::Key DayKey(const stream::Key& key, std::uint32_t history, std::uint32_t row) {
  return {.project = key.project, .id = key.id, .sub = history * credit::kBlockRows + row};
}

template <class Sum>
void FileOlderDays(const stream::Key& key, std::vector<Sum>& days, DayTable<Sum>& table,
                   std::uint32_t history = 0) {
  credit::FileOlderBlocks(days, [&](std::uint32_t row) -> credit::DayBlock<Sum>& {
    return table.Mutable(DayKey(key, history, row));
  });
}

template <class Sum>
void AddOlderDays(const stream::Key& key, std::vector<Sum>& days, DayTable<Sum>& table,
                  std::uint32_t history = 0) {
  credit::AddOlderBlocks(days, [&](std::uint32_t row) { return table.Find(DayKey(key, history, row)); });
}

// Completes `days` to the whole history, and erases its rows.
template <class Sum>
void TakeOlderDays(const stream::Key& key, std::vector<Sum>& days, DayTable<Sum>& table,
                   std::uint32_t history = 0) {
  AddOlderDays(key, days, table, history);
  for (std::uint32_t row = 0; row < credit::kBlockRows; ++row) table.Erase(DayKey(key, history, row));
}

}  // namespace cobblestone::stage

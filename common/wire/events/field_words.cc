#include "common/wire/events/field_words.h"

#include <algorithm>
#include <tuple>

namespace cobblestone::wire {
namespace {

bool IsNewer(const Word& word, const EarlierFields& than) {
  return std::tie(word.time, word.id) > std::tie(than.time, than.id);
}

bool IsNewest(const Word& word, const Word& newest) { return StandingOf(word, newest) == Standing::kNews; }

}  // namespace

FieldMask NewsIn(const Word& word, FieldMask told, const Word& newest, const FieldWords& earlier) {
  if (IsNewest(word, newest)) return told;
  if (word.id == newest.id) return 0;
  FieldMask news = 0;
  for (const EarlierFields& one : earlier)
    if (IsNewer(word, one)) news |= one.fields & told;
  return news;
}

void TellFields(const Word& word, FieldMask told, FieldMask all, Word* newest, FieldWords* earlier) {
  const FieldMask news = NewsIn(word, told, *newest, *earlier);
  EarlierFields kept{.fields = news, .time = word.time, .id = word.id};
  const bool is_newest = IsNewest(word, *newest);
  if (is_newest) kept = {.fields = all & ~told, .time = newest->time, .id = newest->id};
  for (EarlierFields& one : *earlier) {
    one.fields &= ~news;
    if (is_newest) kept.fields &= ~one.fields;
  }
  std::erase_if(*earlier, [](const EarlierFields& one) { return one.fields == 0; });
  if (is_newest) *newest = word;
  if (kept.fields == 0) return;
  const auto older = [](const EarlierFields& a, const EarlierFields& b) {
    return std::tie(a.time, a.id) < std::tie(b.time, b.id);
  };
  const auto place = std::upper_bound(earlier->begin(), earlier->end(), kept, older);
  if (place != earlier->begin() && std::prev(place)->id == kept.id && std::prev(place)->time == kept.time)
    std::prev(place)->fields |= kept.fields;
  else
    earlier->insert(place, kept);
}

}  // namespace cobblestone::wire

// The letters that a search treats as equal.
#include <gtest/gtest.h>

#include "services/view/folded.h"

namespace cobblestone::view {
namespace {

TEST(Folded, LettersOfAnyAlphabetLoseTheirCaseAndKeepTheirAccents) {
  EXPECT_EQ(Folded("Élodie MÜLLER-42"), "élodie müller-42");
  EXPECT_EQ(Folded("Équipe Ñ"), "équipe ñ");
  EXPECT_EQ(Folded("ИВАН Ωmega"), "иван ωmega");
  EXPECT_EQ(Folded("ΣΊΣΥΦΟΣ"), Folded("σίσυφος")) << "the final sigma has its own small letter";
  EXPECT_EQ(Folded("\U00010400"), "\U00010428") << "Deseret, four bytes";
  EXPECT_EQ(Folded("漢字 🚀"), "漢字 🚀");
}

TEST(Folded, InvalidUtf8StaysUnchanged) {
  for (const char* text :
       {"\xff", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_EQ(Folded(std::string(text) + "É"), std::string(text) + "é");
}

}  // namespace
}  // namespace cobblestone::view

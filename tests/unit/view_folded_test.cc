// What a search takes for the same letters.
#include <gtest/gtest.h>

#include "services/view/folded.h"

namespace cobblestone::view {
namespace {

TEST(Folded, LettersOfAnyAlphabetLoseTheirCaseAndKeepTheirAccents) {
  EXPECT_EQ(Folded("Élodie MÜLLER-42"), "élodie müller-42");
  EXPECT_EQ(Folded("Équipe Ñ"), "équipe ñ");
  EXPECT_EQ(Folded("ИВАН Ωmega"), "иван ωmega");
  EXPECT_EQ(Folded("ΣΊΣΥΦΟΣ"), Folded("σίσυφος")) << "the last sigma has a small letter of its own";
  EXPECT_EQ(Folded("\U00010400"), "\U00010428") << "Deseret, four bytes";
  EXPECT_EQ(Folded("漢字 🚀"), "漢字 🚀");
}

TEST(Folded, BytesThatAreNoUtf8StayAsTheyAre) {
  for (const char* text :
       {"\xff", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_EQ(Folded(std::string(text) + "É"), std::string(text) + "é");
}

}  // namespace
}  // namespace cobblestone::view

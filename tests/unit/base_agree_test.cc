// Two copies of one figure agree within one part in a million.
#include "common/base/agree.h"

#include <gtest/gtest.h>

#include <limits>

namespace cobblestone {
namespace {

TEST(FiguresAgree, WithinAMillionthOfTheLargerFigure) {
  for (const double figure : {2074913952.8992097, 1e-300, 1e300, -3e9, std::numeric_limits<double>::max()}) {
    EXPECT_TRUE(FiguresAgree(figure, figure));
    EXPECT_TRUE(FiguresAgree(figure, figure * (1 - 0.99e-6))) << figure;
    EXPECT_TRUE(FiguresAgree(figure * (1 - 0.99e-6), figure)) << figure;
    EXPECT_FALSE(FiguresAgree(figure, figure * (1 - 1.01e-6))) << figure;
    EXPECT_FALSE(FiguresAgree(figure * (1 - 1.01e-6), figure)) << figure;
    EXPECT_FALSE(FiguresAgree(figure, -figure)) << figure;
    EXPECT_FALSE(FiguresAgree(figure, 0)) << figure;
  }
  EXPECT_TRUE(FiguresAgree(0, -0.0));
}

TEST(FiguresAgree, AsPrintedByADatabaseOrStoredInAFloat) {
  EXPECT_TRUE(FiguresAgree(2074913952.8992097, 2074913952.89921));
  EXPECT_TRUE(FiguresAgree(7779469895.497862, static_cast<float>(7779469895.497862)));
}

}  // namespace
}  // namespace cobblestone

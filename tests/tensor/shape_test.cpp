#include "tensor/shape.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilewright {
namespace {

TEST(Shape, BroadcastFollowsNumpy) {
  EXPECT_EQ(broadcast_shapes({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_THROW(broadcast_shapes({2, 3}, {4, 3}), Error);
  EXPECT_EQ(broadcast_strides({3, 1}, {1, 1}, {5, 3, 4}), (Strides{0, 1, 0}));
}

TEST(Shape, ViewOfATransposeNeedsACopyUnlessDimsStayTogether) {
  Strides out;
  EXPECT_TRUE(view_strides({2, 6}, {6, 1}, {2, 2, 3}, out));
  EXPECT_EQ(out, (Strides{6, 3, 1}));
  EXPECT_FALSE(view_strides({6, 2}, {1, 6}, {12}, out));
  EXPECT_TRUE(view_strides({6, 2}, {1, 6}, {2, 3, 2}, out));
  EXPECT_EQ(out, (Strides{3, 1, 6}));
  EXPECT_TRUE(view_strides({2, 1, 3}, {3, 77, 1}, {6}, out));
  EXPECT_EQ(out, (Strides{1}));
}

TEST(Shape, ContiguousIgnoresStridesOfSingletonDims) {
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
}

}  // namespace
}  // namespace tilewright

#include "backends/host/linear/panels.h"

#include <gtest/gtest.h>

#include "backends/host/linear/kernel_table.h"
#include "linear/reference_fixture.h"

namespace tilewright::backends::host {
namespace {

TEST(Panels, UnpackGivesTheRowsBack) {
  std::mt19937 random(1);
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (long N : {1L, 31L, 32L, 70L})
      for (long K : {1L, 2L, 15L, 64L, 129L, 517L}) {
        Matrix w(dtype, N, K, 3);
        w.fill(random);
        Bytes packed(packed_bytes(dtype, N, K));
        const long half = panel_count(N) / 2;  // two ranges, the later one first
        pack_panels(dtype, w.bytes.data(), w.stride, N, K, packed.data(), half, panel_count(N));
        pack_panels(dtype, w.bytes.data(), w.stride, N, K, packed.data(), 0, half);
        const auto size = static_cast<std::size_t>(K) * dtype_size(dtype);
        Bytes row(size);
        for (long n = 0; n < N; ++n) {
          unpack_row(dtype, packed.data(), N, K, n, row.data());
          ASSERT_EQ(std::memcmp(row.data(), w.at(n, 0), size), 0)
              << dtype_name(dtype) << " N" << N << " K" << K << " row " << n;
        }
      }
}

TEST(Panels, LayoutIsAsDocumentedAndPaddingIsZero) {
  const long N = 33, K = 5;
  Matrix w(DType::bf16, N, K), f(DType::f32, N, K);
  for (long n = 0; n < N; ++n)
    for (long k = 0; k < K; ++k)
      w.set(n, k, 1 + static_cast<double>(n % 16 * 8 + k)), f.set(n, k, 1 + static_cast<double>(n * K + k));
  Bytes packed(packed_bytes(DType::bf16, N, K)), packed_f(packed_bytes(DType::f32, N, K));
  ASSERT_EQ(packed.size(), 2u * 3 * 32 * 2 * 2);
  ASSERT_EQ(packed_f.size(), 2u * 5 * 32 * 4);
  pack_panels(DType::bf16, w.bytes.data(), K, N, K, packed.data(), 0, 2);
  pack_panels(DType::f32, f.bytes.data(), K, N, K, packed_f.data(), 0, 2);
  for (long p = 0; p < 2; ++p)
    for (long c = 0; c < 32; ++c) {
      const long n = p * 32 + c;
      for (long k = 0; k < 6; ++k)
        EXPECT_EQ(load_element(DType::bf16, packed.data() + (((p * 3 + k / 2) * 32 + c) * 2 + k % 2) * 2),
                  n < N && k < K ? w.get(n, k) : 0);
      for (long k = 0; k < 5; ++k)
        EXPECT_EQ(load_element(DType::f32, packed_f.data() + ((p * 5 + k) * 32 + c) * 4), n < N ? f.get(n, k) : 0);
    }
  EXPECT_EQ(panel_layout_tag(DType::bf16), "panel32x2");
  EXPECT_EQ(panel_layout_tag(DType::f16), "panel32");
  EXPECT_EQ(panel_layout_tag(DType::f32), "panel32");
  EXPECT_FALSE(has_panel_layout(DType::i64));
}

// The bytes must not depend on the level that packed: a file of packed weights, or a lower TILEWRIGHT_ISA, meets them
// later.
TEST(Panels, EveryLevelPacksTheSameBytes) {
  std::mt19937 random(2);
  struct Case {
    Element from;
    DType dtype;
    PanelForm form;
  };
  const Case cases[] = {{Element::f32, DType::f32, PanelForm::plain32},
                        {Element::f16, DType::f16, PanelForm::plain16},
                        {Element::f16, DType::f16, PanelForm::plain32},
                        {Element::bf16, DType::bf16, PanelForm::pairs16},
                        {Element::bf16, DType::bf16, PanelForm::plain32}};
  for (const Case& c : cases)
    for (long columns : {1L, 17L, 32L})
      for (long K : {1L, 16L, 33L, 300L})
        for (bool k_contiguous : {true, false})
          for (bool stream : {true, false}) {
            Matrix src(c.dtype, k_contiguous ? columns : K, k_contiguous ? K : columns, 3);
            src.fill(random);
            const auto size = static_cast<std::size_t>(panel_form_bytes(c.form, K));
            Bytes expected(size), found(size);
            PackCall call{.form = c.form,
                          .from = c.from,
                          .src = src.bytes.data(),
                          .n_stride = k_contiguous ? src.stride : 1,
                          .k_stride = k_contiguous ? 1 : src.stride,
                          .columns = columns,
                          .k = K,
                          .panel = expected.data(),
                          .stream = stream};
            kernel_table(IsaLevel::generic).pack(call);
            call.panel = found.data();
            for (IsaLevel isa : testable_levels()) {
              std::memset(found.data(), 0xff, size);
              kernel_table(isa).pack(call);
              EXPECT_EQ(std::memcmp(expected.data(), found.data(), size), 0)
                  << isa_name(isa) << " " << dtype_name(c.dtype) << " form " << int(c.form) << " columns " << columns
                  << " K " << K << " " << k_contiguous;
            }
          }
}

// The conversions that kernels carry with them are those of tensor/dtype.h, for every 16-bit pattern and around every
// tie.
TEST(Panels, KernelConversionsAreThoseOfTensor) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (IsaLevel isa : testable_levels())
    for (DType dtype : {DType::f16, DType::bf16}) {
      std::vector<float> wide(65536);
      kernel_table(isa).widen(element_of(dtype), all.data(), wide.data(), 65536);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const float expected = dtype == DType::f16 ? f16_to_float(all[i]) : bf16_to_float(all[i]);
        ASSERT_TRUE(wide[i] == expected || (std::isnan(wide[i]) && std::isnan(expected)))
            << isa_name(isa) << " " << dtype_name(dtype) << " " << i;
        for (int delta : {-1, 0, 1}) {  // around the value and around the tie above it
          for (std::uint32_t tie : {0u, dtype == DType::bf16 ? 0x8000u : 0x1000u}) {
            alignas(64) float in[32];
            std::fill(
                in, in + 32,
                std::bit_cast<float>(std::bit_cast<std::uint32_t>(expected) + tie + static_cast<std::uint32_t>(delta)));
            std::uint16_t out[9];
            kernel_table(isa).finish({.in = in,
                                      .in_stride = 32,
                                      .rows = 1,
                                      .columns = 9,
                                      .bias = nullptr,
                                      .scale = 1,
                                      .to = element_of(dtype),
                                      .y = out,
                                      .y_stride = 18});
            const std::uint16_t rounded = dtype == DType::f16 ? float_to_f16(in[0]) : float_to_bf16(in[0]);
            const auto value = [&](std::uint16_t bits) {
              return dtype == DType::f16 ? f16_to_float(bits) : bf16_to_float(bits);
            };
            for (int n : {0, 8})  // vector and tail
              ASSERT_TRUE(out[n] == rounded || (std::isnan(value(out[n])) && std::isnan(value(rounded))))
                  << isa_name(isa) << " " << dtype_name(dtype) << " " << in[0];
          }
        }
      }
    }
}

}  // namespace
}  // namespace tilewright::backends::host

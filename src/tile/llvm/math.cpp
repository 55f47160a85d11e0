// Polynomials are least-maximum fits; ranges are reduced as in src/backends/host/small/vector_math.h.
#include "tile/llvm/math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::tile::llvm_back_end {
namespace {

// a or b; b where either is NaN or both are zeros, as the processors' own instruction has it. (What LLVM makes of
// compare and select is longer in front of another select.)
llvm::Value* choose_number(Emitter& emitter, bool largest, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>& builder = emitter.builder;
  const int width = Emitter::width_of(a);
  namespace x86 = llvm::Intrinsic;
  if (width == 16 && emitter.level.masks)
    return builder.CreateIntrinsic(largest ? x86::x86_avx512_max_ps_512 : x86::x86_avx512_min_ps_512, {},
                                   {a, b, builder.getInt32(4)});  // 4: the rounding in force
  if (width == 4 && emitter.level.x86)
    return builder.CreateIntrinsic(largest ? x86::x86_sse_max_ps : x86::x86_sse_min_ps, {}, {a, b});
  if (width == 8)
    return builder.CreateIntrinsic(largest ? x86::x86_avx_max_ps_256 : x86::x86_avx_min_ps_256, {}, {a, b});
  return builder.CreateSelect(largest ? builder.CreateFCmpOGT(a, b) : builder.CreateFCmpOLT(a, b), a, b);
}

// Arithmetic on values of one width. Named like the operations of the formulas below.
class Functions {
 public:
  Functions(Emitter& emitter, llvm::Value* x) : e_(emitter), b_(emitter.builder), width_(Emitter::width_of(x)) {}

  using V = llvm::Value*;
  V real(double value) { return e_.real(value, width_); }
  V whole(std::int32_t value) { return e_.whole(value, width_); }
  V add(V a, V b) { return b_.CreateFAdd(a, b); }
  V sub(V a, V b) { return b_.CreateFSub(a, b); }
  V mul(V a, V b) { return b_.CreateFMul(a, b); }
  V div(V a, V b) { return b_.CreateFDiv(a, b); }
  V fma(V a, V b, V c) { return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c}); }
  V absolute(V x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  V root(V x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  V with_sign(V magnitude, V sign) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign); }
  V ints(V x) { return b_.CreateBitCast(x, e_.type(DType::i32, width_)); }
  V floats(V x) { return b_.CreateBitCast(x, e_.type(DType::f32, width_)); }
  V polynomial(V x, std::initializer_list<double> highest_first) {
    V out = nullptr;
    for (const double coefficient : highest_first)
      out = out == nullptr ? real(coefficient) : fma(out, x, real(coefficient));
    return out;
  }

  // e^x = 2^n · e^r, |r| ≤ ln2 / 2; the power of two in two steps, so that results go subnormal gradually.
  // `negated`: e^-x; after the bounds, where multiply-adds take the sign for nothing. `coarse`: ln2 in one part, whose
  // error grows to 5 units of the last place at the bounds; for results that hardly depend on such powers.
  // `at_most_one`: x is not above zero.
  V exponential(V x, bool negated = false, bool coarse = false, bool at_most_one = false) {
    double low = negated ? -89 : -104, high = negated ? 104 : 89;
    const bool by_bits = e_.level.x86 && width_ == 8;
    if (by_bits) (negated ? high : low) = negated ? -kLowestByBits : kLowestByBits;
    x = choose_number(e_, true, real(low), x);  // NaN stays
    if (!at_most_one) x = choose_number(e_, false, real(high), x);
    if (negated) x = b_.CreateFNeg(x);
    if (by_bits) return exponential_by_bits(x, coarse);
    if (e_.level.masks && width_ == 16) return exponential_by_table(x, coarse);
    V shifted = fma(x, real(1.44269504f), real(12582912.0f));  // 1.5 · 2^23: rounds to an integer
    V count = sub(shifted, real(12582912.0f));
    V r = rest(x, count, coarse);
    V p = polynomial(r, {0.00019918129f, 0.00139463041f, 0.00833326485f, 0.0416662656f, 0.166666672f, 0.5f});
    p = add(fma(p, mul(r, r), r), real(1));
    V n = b_.CreateSub(ints(shifted), whole(0x4b400000));
    V half = b_.CreateAShr(n, whole(1));
    const auto power = [&](V exponent) { return floats(b_.CreateShl(b_.CreateAdd(exponent, whole(127)), whole(23))); };
    return mul(mul(p, power(half)), power(b_.CreateSub(n, half)));
  }

  V rest(V x, V count, bool coarse) {
    if (coarse) return fma(count, real(-0.693147182f), x);
    return fma(count, real(-3.19461849e-05f), fma(count, real(-0.693115234375f), x));
  }

  // The same with n a multiple of 1/32, whose powers two registers hold: |r| ≤ ln2 / 64 needs two terms only. For
  // -104 ≤ x ≤ 89. Within 1.8 units of the last place.
  V exponential_by_table(V x, bool coarse) {
    V shifted = fma(x, real(1.44269504f), real(393216.0f));  // 1.5 · 2^18: rounds to 1/32
    V count = sub(shifted, real(393216.0f));
    V r = rest(x, count, coarse);
    std::array<float, 32> powers;
    for (std::size_t i = 0; i < powers.size(); ++i)
      powers[i] = static_cast<float>(std::exp2(static_cast<double>(i) / 32));
    const auto half = [&](std::size_t begin) {
      return llvm::ConstantDataVector::get(b_.getContext(), llvm::ArrayRef<float>(powers.data() + begin, 16));
    };
    V power = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {half(0), ints(shifted), half(16)});
    V result = fma(power, mul(r, polynomial(r, {0.49999997f, 1.00001526f})), power);
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                              {result, count, llvm::Constant::getNullValue(result->getType()), b_.getInt16(0xffff),
                               b_.getInt32(4)});  // takes the whole part of count; 4: the rounding in force
  }

  // The same with n a multiple of 1/8 and a register of half the roots of two: adding 2^20 to the bits of a root
  // multiplies it by 2^(1/8) eight times at a time, so that n · 2^20 goes to root n mod 8. Half of them, or the powers
  // of 2^128 would be infinite before the last product. For -87.34 ≤ x ≤ 89; the half of the lowest power is zero.
  static constexpr double kLowestByBits = -87.34;
  V exponential_by_bits(V x, bool coarse) {
    V shifted = fma(x, real(1.44269504f), real(1572864.0f));  // 1.5 · 2^20: rounds to 1/8
    V r = rest(x, sub(shifted, real(1572864.0f)), coarse);
    std::array<std::uint32_t, 8> roots;
    for (std::uint32_t i = 0; i < roots.size(); ++i)
      roots[i] =
          std::bit_cast<std::uint32_t>(static_cast<float>(std::exp2(static_cast<double>(i) / 8 - 1))) - (i << 20);
    V n = ints(shifted);
    V root = b_.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {},
                                {llvm::ConstantDataVector::get(b_.getContext(), roots), n});
    V half = floats(b_.CreateAdd(root, b_.CreateShl(n, whole(20))));
    return mul(half, polynomial(r, {0.33328593f, 1.0001297f, 2.0f, 2.0f}));
  }

  // ln x = e · ln2 + ln m, m in [√½, √2).
  V logarithm(V x) {
    V tiny = b_.CreateFCmpOLT(x, real(1.17549435e-38f));
    V scaled = b_.CreateSelect(tiny, mul(x, real(8388608.0f)), x);
    V from_root = b_.CreateSub(ints(scaled), whole(0x3f3504f3));
    V exponent = b_.CreateSIToFP(
        b_.CreateSub(b_.CreateAShr(from_root, whole(23)), b_.CreateSelect(tiny, whole(23), whole(0))), x->getType());
    V f = sub(floats(b_.CreateAdd(b_.CreateAnd(from_root, whole(0x7fffff)), whole(0x3f3504f3))), real(1));
    V z = mul(f, f);
    V p = polynomial(f, {0.0674659163f, -0.116756387f, 0.118881777f, -0.124055922f, 0.142195508f, -0.166679963f,
                         0.200021192f, -0.250000089f, 0.333333135f});
    V tail = fma(mul(p, z), f, mul(exponent, real(3.19461849e-05f)));
    tail = fma(real(-0.5f), z, tail);
    V out = fma(exponent, real(0.693115234375f), add(f, tail));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    out = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(infinity)), x, out);
    out = b_.CreateSelect(b_.CreateFCmpOEQ(x, real(0)), real(-infinity), out);
    return b_.CreateSelect(b_.CreateFCmpULT(x, real(0)), real(std::numeric_limits<double>::quiet_NaN()), out);
  }

  // Quadrants are taken off in double: the first difference is exact but for its rounding, whatever the size of x.
  V sine(V x, int quarter) {
    llvm::Type* wide = e_.vector_of(b_.getDoubleTy(), width_);
    const auto constant = [&](double value) { return llvm::ConstantFP::get(wide, value); };
    V large = b_.CreateFPExt(x, wide);
    V shifted = fma(large, constant(0.6366197723675814), constant(6755399441055744.0));  // 1.5 · 2^52
    V n = b_.CreateFSub(shifted, constant(6755399441055744.0));
    V rest = fma(n, constant(-6.123233995736766e-17), fma(n, constant(-1.5707963267948966), large));
    V r = b_.CreateFPTrunc(rest, x->getType());
    V quadrant =
        b_.CreateTrunc(b_.CreateBitCast(shifted, e_.vector_of(b_.getInt64Ty(), width_)), e_.type(DType::i32, width_));
    reduce_large(x, r, quadrant);
    quadrant = b_.CreateAdd(quadrant, whole(quarter));
    V z = mul(r, r);
    V s = fma(mul(r, z), polynomial(z, {-0.000195166547f, 0.00833217334f, -0.166666552f}), r);
    V c =
        fma(mul(z, z), polynomial(z, {2.44377279e-05f, -0.00138873619f, 0.0416666456f}), fma(real(-0.5f), z, real(1)));
    V odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, whole(1)), whole(0));
    V out = b_.CreateSelect(odd, c, s);
    return floats(b_.CreateXor(ints(out), b_.CreateShl(b_.CreateAnd(quadrant, whole(2)), whole(30))));
  }

  // Replaces rest and quadrant of lanes from 2^47 on. The branch is hardly ever taken.
  void reduce_large(V x, V& rest, V& quadrant) {
    V large = b_.CreateFCmpOGE(absolute(x), real(0x1p47));
    V any =
        width_ == 1 ? large : b_.CreateIsNotNull(b_.CreateBitCast(large, b_.getIntNTy(static_cast<unsigned>(width_))));
    const Variable new_rest = e_.variable(rest->getType(), rest);
    const Variable new_quadrant = e_.variable(quadrant->getType(), quadrant);
    e_.when(any, [&] {
      e_.loop("large", e_.number(0), e_.number(width_), 1, [&](V lane) {
        V one = width_ == 1 ? x : b_.CreateExtractElement(x, lane);
        e_.when(width_ == 1 ? large : b_.CreateExtractElement(large, lane), [&] {
          const auto [part, turns] = large_rest(one);
          e_.set(new_rest, width_ == 1 ? part : b_.CreateInsertElement(e_.get(new_rest), part, lane));
          e_.set(new_quadrant, width_ == 1 ? turns : b_.CreateInsertElement(e_.get(new_quadrant), turns, lane));
        });
      });
    });
    rest = e_.get(new_rest);
    quadrant = e_.get(new_quadrant);
  }

  // x = m · 2^e with whole m: of 2/π only bits from 2^(2-e) down matter modulo four quadrants; 128 of them are
  // multiplied.
  std::pair<V, V> large_rest(V x) {
    llvm::Type* wide = b_.getInt128Ty();
    V word = b_.CreateBitCast(x, b_.getInt32Ty());
    V magnitude = b_.CreateAnd(word, b_.getInt32(0x7fffffff));
    V shift = b_.CreateSub(b_.CreateLShr(magnitude, b_.getInt32(23)), b_.getInt32(152));
    const std::uint64_t two_over_pi[] = {0xfe5163abdebbc561, 0xdb6295993c439041, 0xfc2757d1f534ddc0,
                                         0xa2f9836e4e441529};
    V table = llvm::ConstantInt::get(b_.getContext(), llvm::APInt(256, two_over_pi));
    V window = b_.CreateLShr(b_.CreateShl(table, b_.CreateZExt(shift, table->getType())), 128);
    V mantissa = b_.CreateOr(b_.CreateAnd(magnitude, b_.getInt32(0x7fffff)), b_.getInt32(0x800000));
    V product = b_.CreateMul(b_.CreateTrunc(window, wide), b_.CreateZExt(mantissa, wide));
    V fraction = b_.CreateTrunc(b_.CreateLShr(product, 62), b_.getInt64Ty());  // of a quadrant, half of one to the next
    V turns = b_.CreateTrunc(b_.CreateLShr(product, 126), b_.getInt32Ty());
    turns = b_.CreateAdd(turns, b_.CreateZExt(b_.CreateICmpSLT(fraction, b_.getInt64(0)), b_.getInt32Ty()));
    V part = b_.CreateFMul(b_.CreateSIToFP(fraction, b_.getDoubleTy()),
                           llvm::ConstantFP::get(b_.getDoubleTy(), 1.5707963267948966 * 0x1p-64));
    V rest = b_.CreateFPTrunc(part, b_.getFloatTy());
    V negative = b_.CreateICmpSLT(word, b_.getInt32(0));
    rest = b_.CreateSelect(negative, b_.CreateFNeg(rest), rest);
    turns = b_.CreateSelect(negative, b_.CreateNeg(turns), turns);
    V infinite = b_.CreateICmpUGE(magnitude, b_.getInt32(0x7f800000));
    return {b_.CreateSelect(infinite, b_.CreateFSub(x, x), rest), turns};
  }

  V hyperbolic_tangent(V x) {
    V t = absolute(x);
    V z = mul(x, x);
    V p = polynomial(z, {-0.0056039053f, 0.0205517113f, -0.053714104f, 0.133311525f, -0.333332717f});
    V near = fma(mul(x, z), p, x);
    V far = sub(real(1), div(real(2), add(exponential(add(t, t)), real(1))));
    return b_.CreateSelect(b_.CreateFCmpOLT(t, real(0.625f)), near, with_sign(far, x));
  }

  // x · P(x²) / Q(x²) up to 4, 1 in f32 beyond.
  V error_function(V x) {
    V z = mul(x, x);
    V p = polynomial(z, {-1.32026585e-08f, 4.68486405e-06f, 0.000379611854f, 0.00384960952f, 0.0543169491f,
                         0.185202926f, 1.12837923f});
    V q = polynomial(z, {6.31114017e-05f, 0.00130757352f, 0.0154620958f, 0.113958366f, 0.497465253f, 1.0f});
    return b_.CreateSelect(b_.CreateFCmpOGE(absolute(x), real(4)), with_sign(real(1), x), div(mul(x, p), q));
  }

  V apply(OpCode op, V x) {
    switch (op) {
      case OpCode::neg:
        return b_.CreateFNeg(x);
      case OpCode::abs:
        return absolute(x);
      case OpCode::exp:
        return exponential(x);
      case OpCode::log:
        return logarithm(x);
      case OpCode::sqrt:
        return root(x);
      case OpCode::rsqrt:
        return div(real(1), root(x));
      case OpCode::reciprocal:
        return div(real(1), x);
      case OpCode::sin:
        return sine(x, 0);
      case OpCode::cos:
        return sine(x, 1);
      case OpCode::tanh:
        return hyperbolic_tangent(x);
      case OpCode::erf:
        return error_function(x);
      case OpCode::sigmoid:
        return div(real(1), add(real(1), exponential(x, true)));
      case OpCode::silu:
        return div(x, add(real(1), exponential(x, true)));
      case OpCode::gelu: {
        V half = mul(real(0.5f), x);
        return fma(half, error_function(mul(x, real(0.707106781f))), half);
      }
      case OpCode::gelu_tanh: {  // 1/2 (1 + tanh y) = 1 / (1 + e^-2y)
        V y = mul(x, fma(mul(x, x), real(-0.0713548163f), real(-1.59576912f)));
        return div(x, add(real(1), exponential(y, false, true)));
      }
      default:
        return x;
    }
  }

 private:
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  int width_;
};

// NaN where either is: b is taken there, so a is looked at once more. (The longer way is that of a: reductions give
// what they have so far as b.)
llvm::Value* choose(Emitter& emitter, bool largest, llvm::Value* a, llvm::Value* b) {
  llvm::Value* number = choose_number(emitter, largest, a, b);
  return emitter.builder.CreateSelect(emitter.builder.CreateFCmpUNO(a, a), a, number);
}

}  // namespace

llvm::Value* emit_unary(Emitter& emitter, OpCode op, llvm::Value* x) {
  if (x->getType()->isIntOrIntVectorTy()) {
    llvm::Value* negated = emitter.builder.CreateNeg(x);
    if (op == OpCode::neg) return negated;
    llvm::Value* below = emitter.builder.CreateICmpSLT(x, llvm::Constant::getNullValue(x->getType()));
    return emitter.builder.CreateSelect(below, negated, x);
  }
  return Functions(emitter, x).apply(op, x);
}

llvm::Value* emit_exponential_to_one(Emitter& emitter, llvm::Value* x) {
  return Functions(emitter, x).exponential(x, false, true, true);
}

llvm::Value* emit_maximum(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->isIntOrIntVectorTy())
    return emitter.builder.CreateSelect(emitter.builder.CreateICmpSGT(a, b), a, b);
  return choose(emitter, true, a, b);
}
llvm::Value* emit_larger_number(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  return choose_number(emitter, true, a, b);
}
llvm::Value* emit_minimum(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->isIntOrIntVectorTy())
    return emitter.builder.CreateSelect(emitter.builder.CreateICmpSLT(a, b), a, b);
  return choose(emitter, false, a, b);
}

}  // namespace tilewright::tile::llvm_back_end

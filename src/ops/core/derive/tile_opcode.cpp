#include "ops/core/derive/tile_opcode.h"

namespace tilewright::ops {

using tile::OpCode;

std::optional<OpCode> tile_opcode(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
      return OpCode::neg;
    case ScalarOp::abs:
      return OpCode::abs;
    case ScalarOp::exp:
      return OpCode::exp;
    case ScalarOp::log:
      return OpCode::log;
    case ScalarOp::sqrt:
      return OpCode::sqrt;
    case ScalarOp::rsqrt:
      return OpCode::rsqrt;
    case ScalarOp::reciprocal:
      return OpCode::reciprocal;
    case ScalarOp::sin:
      return OpCode::sin;
    case ScalarOp::cos:
      return OpCode::cos;
    case ScalarOp::tanh:
      return OpCode::tanh;
    case ScalarOp::erf:
      return OpCode::erf;
    case ScalarOp::sigmoid:
      return OpCode::sigmoid;
    case ScalarOp::silu:
      return OpCode::silu;
    case ScalarOp::gelu:
      return OpCode::gelu;
    case ScalarOp::gelu_tanh:
      return OpCode::gelu_tanh;
    case ScalarOp::logical_not:
      return OpCode::logical_not;
    case ScalarOp::add:
      return OpCode::add;
    case ScalarOp::sub:
      return OpCode::sub;
    case ScalarOp::mul:
      return OpCode::mul;
    case ScalarOp::div:
      return OpCode::div;
    case ScalarOp::maximum:
      return OpCode::maximum;
    case ScalarOp::minimum:
      return OpCode::minimum;
    case ScalarOp::eq:
      return OpCode::eq;
    case ScalarOp::ne:
      return OpCode::ne;
    case ScalarOp::lt:
      return OpCode::lt;
    case ScalarOp::le:
      return OpCode::le;
    case ScalarOp::gt:
      return OpCode::gt;
    case ScalarOp::ge:
      return OpCode::ge;
    case ScalarOp::logical_and:
      return OpCode::logical_and;
    case ScalarOp::logical_or:
      return OpCode::logical_or;
    case ScalarOp::select:
      return OpCode::where;
    default:
      return std::nullopt;  // input, attribute, constant, relu, square, pow
  }
}

}  // namespace tilewright::ops

#include "tile/llvm/matmul_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "tile/llvm/matmul_parts.h"

namespace tilewright::tile::llvm_back_end {
namespace {

using product::Code;
using product::Parts;
using product::Scheme;
using product::Shape;

Scheme scheme_of(const Emitter& emitter, const Shape& shape) {
  return product::scheme_for(emitter.level, shape.dtype, shape.m, shape.n);
}

bool in_place(const Shape& shape) { return shape.m <= product::kFewRows; }

std::int64_t constant_or_0(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant == nullptr ? 0 : constant->getSExtValue();
}

Shape shape_of(const Matmul& matmul) {
  return {matmul.c.rows,
          matmul.c.columns,
          matmul.a.columns,
          matmul.a.dtype,
          constant_or_0(matmul.a.row_stride),
          matmul.a.padded,
          matmul.transposed,
          constant_or_0(matmul.c.row_stride),
          matmul.accumulate,
          constant_or_0(matmul.c.valid_columns) == matmul.c.columns,
          constant_or_0(matmul.inner) == matmul.a.columns};
}

constexpr std::uint32_t kPack = 0b00101, kProduct = 0b00010101;  // which arguments are addresses; the others are i64

// The internal function of that name, made on first use with the attributes of the function under construction.
llvm::Function* function_of(Emitter& emitter, const std::string& name, int arguments, std::uint32_t addresses,
                            const std::function<void(llvm::IRBuilder<>&, llvm::Function*)>& body) {
  if (llvm::Function* known = emitter.module.getFunction(name)) return known;
  llvm::LLVMContext& context = emitter.module.getContext();
  std::vector<llvm::Type*> types;
  for (int i = 0; i < arguments; ++i)
    types.push_back((addresses >> i & 1) != 0 ? static_cast<llvm::Type*>(llvm::PointerType::getUnqual(context))
                                              : llvm::Type::getInt64Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, emitter.module);
  function->addFnAttrs(
      llvm::AttrBuilder(context, emitter.builder.GetInsertBlock()->getParent()->getAttributes().getFnAttrs()));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr("min-legal-vector-width", std::to_string(emitter.level.lanes * 32));
  for (llvm::Argument& argument : function->args())
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  body(builder, function);
  builder.CreateRetVoid();
  return function;
}

}  // namespace

std::int64_t panel_bytes(const Emitter& emitter, const Matmul& matmul) {
  const Shape shape = shape_of(matmul);
  if (in_place(shape)) return 0;
  const Scheme scheme = scheme_of(emitter, shape);
  return product::panel_steps(scheme, shape.k) * product::round_up(shape.n, scheme.width()) * 4;
}

void emit_pack(Emitter& emitter, const Matmul& matmul, llvm::Value* panel) {
  const Shape shape = shape_of(matmul);
  const Scheme scheme = scheme_of(emitter, shape);
  const std::string name =
      fmt::format("matmul_pack_{}_{}{}x{}{}{}", dtype_name(shape.dtype), shape.n, shape.whole_n ? "_whole" : "",
                  shape.k, shape.whole_k ? "_whole" : "", shape.transposed ? "_transposed" : "");
  llvm::Function* function = function_of(emitter, name, 5, kPack, [&](llvm::IRBuilder<>& b, llvm::Function* f) {
    Code code(b, scheme);
    Parts parts{};
    parts.b = f->getArg(0);
    parts.b_stride = f->getArg(1);
    parts.n = f->getArg(3);
    parts.k = f->getArg(4);
    product::emit_pack(code, shape, parts, f->getArg(2));
  });
  emitter.builder.CreateCall(function,
                             {matmul.b.base, matmul.b.row_stride, panel, matmul.c.valid_columns, matmul.inner});
}

void emit_product(Emitter& emitter, const Matmul& matmul, llvm::Value* panel) {
  const Shape shape = shape_of(matmul);
  const bool direct = in_place(shape);
  // Whether b was transposed matters here only where it is read in place.
  const std::string name =
      fmt::format("matmul_{}_{}x{}x{}{}{}_a{}{}_c{}{}", dtype_name(shape.dtype), shape.m, shape.n, shape.k,
                  direct && shape.transposed ? "_transposed" : "", shape.whole_k ? "_whole" : "", shape.a_stride,
                  shape.a_padded ? "_padded" : "", shape.c_stride, shape.accumulate ? "_add" : "");
  llvm::Function* function = function_of(emitter, name, 8, kProduct, [&](llvm::IRBuilder<>& b, llvm::Function* f) {
    Code code(b, scheme_of(emitter, shape));
    const Parts parts{f->getArg(0), f->getArg(1), f->getArg(2), f->getArg(3),
                      f->getArg(4), f->getArg(5), f->getArg(6), f->getArg(7)};
    if (!direct)
      product::emit_register_tiles(code, shape, parts);
    else if (shape.transposed)
      product::emit_few_rows_transposed(code, shape, parts);
    else
      product::emit_few_rows(code, shape, parts);
  });
  emitter.builder.CreateCall(
      function, {matmul.a.base, matmul.a.row_stride, direct ? matmul.b.base : panel, matmul.b.row_stride, matmul.c.base,
                 matmul.c.valid_rows, matmul.c.valid_columns, matmul.inner});
}

void emit_matmul(Emitter& emitter, const Matmul& matmul) {
  llvm::Value* panel = nullptr;
  if (const std::int64_t bytes = panel_bytes(emitter, matmul)) {
    panel = emitter.stack(bytes);
    emit_pack(emitter, matmul, panel);
  }
  emit_product(emitter, matmul, panel);
}

}  // namespace tilewright::tile::llvm_back_end

#include "engine/capture/model_passes.h"

#include "engine/pass.h"

namespace tilewright::engine {
namespace {

HostTensor some_ids(const Session& session, std::int64_t rows) {
  HostTensor out(DType::i64, {1, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    out.data<std::int64_t>()[i] = (31 * i + 17) % session.model().info().vocab_size;
  return out;
}

// These and the state's, as they are.
BindingsOfReplay with_state(Session& session, std::vector<runtime::Binding> others) {
  return [&session, others = std::move(others)](auto& required, auto& given) {
    required = others;
    for (const nn::NamedTensor& named : session.state().tensors) required.push_back({named.name, named.tensor});
    given = required;
  };
}

}  // namespace

CheckedPass decode_pass(Session& session, std::int64_t prompt, std::int64_t length) {
  const ops::Tensor token = session.context().empty(DType::i64, {1, 1});
  CheckedPass out;
  out.name = "decode step";
  out.reset = [&session, token, prompt, length] {
    session.begin(1, length);
    choose_token(session.context(), session.last_logits(session.run(some_ids(session, prompt))), token);
  };
  out.run = [&session, token, prompt](ops::Context& context, int which) {
    return submit_step(context, session.model(), session.state(), token, prompt + which).logits;
  };
  out.bindings = with_state(session, {{"token", token}});
  return out;
}

CheckedPass prompt_pass(Session& session, std::int64_t rows, std::int64_t length) {
  runtime::Stream& stream = session.stream();
  HostTensor real(DType::i32, {1}), last(DType::i64, {1});
  real.data<std::int32_t>()[0] = static_cast<std::int32_t>(rows);
  last.data<std::int64_t>()[0] = rows - 1;
  const ops::Tensor token = session.context().empty(DType::i64, {1, 1});
  const PaddedPrompt prompt{.ids = runtime::to_device(stream, some_ids(session, prefill_bucket(rows))),
                            .rows = runtime::to_device(stream, real),
                            .last = runtime::to_device(stream, last)};
  CheckedPass out;
  out.name = "prompt pass";
  out.moves_on = false;
  out.reset = [&session, length] { session.begin(1, length); };
  out.run = [&session, token, prompt](ops::Context& context, int) {
    return submit_prompt(context, session.model(), session.state(), prompt, token).logits;
  };
  out.bindings =
      with_state(session, {{"token", token}, {"ids", prompt.ids}, {"rows", prompt.rows}, {"last", prompt.last}});
  return out;
}

}  // namespace tilewright::engine

// What must not be done with a captured graph, its memory and its replays, with the codes that answer it.
#include "base/error.h"
#include "runtime/cts/cts_scene.h"
#include "runtime/error_codes.h"

namespace tilewright::runtime::cts {
namespace {

std::string instantiate_twice(const Setup& setup) {
  Scene s(setup);
  s.begin();
  const std::shared_ptr<Graph> graph = s.stream->end_capture();
  const auto first = s.device->instantiate(graph);
  return expect_code(
      {code::kModelUpdateFailed}, [&] { s.device->instantiate(graph); }, kPlace);
}

std::string a_failed_instantiation_may_be_tried_again(const Setup& setup) {
  const auto device = setup.open(std::size_t{64} << 20);
  const auto stream = device->create_stream();
  Tensor large = empty(*stream, DType::u8, {40 << 20});
  const Tensor data = ints(*stream, 1024);
  stream->synchronize();
  stream->begin_capture();
  {
    const Tensor planned = empty(*stream, DType::i32, {10 << 20});
    add_value(*stream, data, planned, 1);
    add_value(*stream, planned.slice(0, 0, 1024), data, 1);
  }
  const std::shared_ptr<Graph> graph = stream->end_capture();
  try {
    device->instantiate(graph);
    return "an arena of 40 MiB fits beside 40 of 64";
  } catch (const Error& error) {
    if (error.text().what.find("memory") == std::string::npos) return error.what();
  }
  large = Tensor();
  stream->replay(*device->instantiate(graph));
  if (std::string wrong = expect_iota(*stream, data, 2); !wrong.empty()) return wrong;
  stream->begin_capture();
  const Tensor first(device->allocate(*stream, SIZE_MAX - 8), DType::i32, {1024}),
      second(device->allocate(*stream, SIZE_MAX / 2), DType::i32, {1024});
  add_value(*stream, data, first, 1);
  add_value(*stream, data, second, 1);
  const std::shared_ptr<Graph> impossible = stream->end_capture();
  try {
    device->instantiate(impossible);
    return "an impossible arena was given";
  } catch (const Error&) {
    return {};
  }
}

std::string replay_while_another_stream_replays(const Setup& setup) {
  Scene s(setup);
  if (!s.device->computes()) return {};  // nothing runs, so nothing is under way
  s.stream->begin_capture();
  busy(*s.stream, 100000);
  const auto graph = s.device->instantiate(s.stream->end_capture());
  s.stream->replay(*graph);
  s.stream->replay(*graph);  // behind it in the same stream
  if (std::string wrong = expect_code({code::kModelRunning}, [&] { s.other->replay(*graph); }); !wrong.empty())
    return wrong;
  s.stream->synchronize();
  s.other->replay(*graph);
  s.other->synchronize();
  return {};
}

std::string a_captured_buffer_is_freed(const Setup& setup) {
  Scene s(setup);
  Tensor gone = ints(*s.stream, 4096, 7);
  s.stream->synchronize();
  s.begin();
  add_value(*s.stream, gone.slice(0, 0, 1024), s.data, 1, "gather", "layers.2.mlp");
  const auto graph = s.device->instantiate(s.stream->end_capture());
  s.stream->replay(*graph);
  gone = Tensor();  // the replay may be under way: the graph keeps the block
  const Tensor other = ints(*s.stream, 4096, 0);
  if (std::string wrong = expect_code(
          {code::kModelExecute}, [&] { s.stream->replay(*graph); }, "layers.2.mlp, gather, launch 1");
      !wrong.empty())
    return wrong;
  return expect_iota(*s.stream, s.data, 8);
}

std::string a_binding_does_not_fit(const Setup& setup) {
  Scene s(setup);
  const Tensor token = ints(*s.stream, 16), same = ints(*s.stream, 16);
  s.stream->synchronize();
  s.begin();
  add_value(*s.stream, token, token, 1);
  const auto graph = s.device->instantiate(s.stream->end_capture());
  graph->require({{"token", token}, {"data", s.data}});
  const auto refused = [&](std::vector<Binding> bindings, const char* name) {
    return expect_code(
        {code::kAicoreException}, [&] { s.stream->replay(*graph, bindings); }, name);
  };
  const Binding data{"data", s.data};
  for (const auto& wrong :
       {refused({}, "token"), refused({{"token", token}}, "data"), refused({{"token", same}, data}, "token"),
        refused({{"token", token.slice(0, 1, 16)}, data}, "token"),
        refused({{"token", token.view({4, 4})}, data}, "token"),
        refused({{"token", token.view({4, 4}).transpose(0, 1)}, data}, "token"),
        refused({{"token", Tensor()}, data}, "token"),
        refused({{"token", Tensor(token.memory_ref(), DType::f32, {16})}, data}, "token"),
        refused({{"token", token}, data, {"more", token}}, "more")})
    if (!wrong.empty()) return wrong;
  s.stream->replay(*graph, std::vector<Binding>{data, {"token", token}});
  return expect_iota(*s.stream, token, 1);
}

std::string planned_memory_is_used_before_its_graph_exists(const Setup& setup) {
  Scene s(setup);
  if (!s.device->computes()) return {};  // no addresses at all
  s.begin();
  const Tensor planned = empty(*s.stream, DType::i32, {1024});
  add_value(*s.stream, s.data, planned, 1);
  const std::shared_ptr<Graph> graph = s.stream->end_capture();
  try {
    to_host(*s.stream, planned);
    return "a buffer without an address was read";
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<Check> illegal_replay_checks() {
  return {
      TW_CHECK_ROW(instantiate_twice),
      TW_CHECK_ROW(a_failed_instantiation_may_be_tried_again),
      TW_CHECK_ROW(replay_while_another_stream_replays),
      TW_CHECK_ROW(a_captured_buffer_is_freed),
      TW_CHECK_ROW(a_binding_does_not_fit),
      TW_CHECK_ROW(planned_memory_is_used_before_its_graph_exists),
  };
}

}  // namespace tilewright::runtime::cts

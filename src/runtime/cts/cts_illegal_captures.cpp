// What must not be done in a capture, with the codes that answer it. Each illegal action fails at once, names the last
// captured launch, and makes the capture invalid.
#include <optional>
#include <thread>

#include "base/error.h"
#include "runtime/cts/cts_scene.h"
#include "runtime/error_codes.h"

namespace tilewright::runtime::cts {
namespace {

using Action = std::function<void(Scene&)>;

// The action fails with one of the codes, the capture is invalid, its end says so, and the stream works afterwards.
std::string invalidates(const Setup& setup, std::initializer_list<int> codes, const Action& action,
                        CaptureMode mode = CaptureMode::global) {
  Scene scene(setup);
  scene.begin(mode);
  if (std::string wrong = expect_code(
          codes, [&] { action(scene); }, kPlace);
      !wrong.empty())
    return wrong;
  if (scene.stream->capture_status() != CaptureStatus::invalidated) return "the capture is still valid";
  if (std::string wrong =
          expect_code({code::kCaptureInvalidated}, [&] { add_value(*scene.stream, scene.data, scene.data, 1); });
      !wrong.empty())
    return "launch after it: " + wrong;
  if (std::string wrong = expect_code(
          {code::kCaptureInvalidated}, [&] { scene.stream->end_capture(); }, kPlace);
      !wrong.empty())
    return "end: " + wrong;
  if (scene.stream->capture_status() != CaptureStatus::none) return "the stream still captures after the end";
  return expect_iota(*scene.stream, scene.data, 0);  // nothing that was captured has run
}

std::string begin_on_the_default_stream(const Setup& setup) {
  const auto device = setup.open(0);
  return expect_code({code::kStreamCaptureImplicit}, [&] { device->default_stream().begin_capture(); });
}

std::string default_stream_waits_for_a_captured_event(const Setup& setup) {
  return invalidates(setup, {code::kStreamCaptureImplicit}, [](Scene& s) {
    s.stream->record(*s.event);
    s.device->default_stream().wait(*s.event);
  });
}

std::string begin_twice(const Setup& setup) {
  return invalidates(setup, {code::kStreamCaptured}, [](Scene& s) { s.stream->begin_capture(); });
}

std::string synchronize_a_capturing_stream(const Setup& setup) {
  for (const auto mode : {CaptureMode::global, CaptureMode::thread_local_only, CaptureMode::relaxed})
    if (std::string wrong = invalidates(
            setup, {code::kStreamCaptured}, [](Scene& s) { s.stream->synchronize(); }, mode);
        !wrong.empty())
      return wrong;
  return {};
}

std::string query_a_capturing_stream(const Setup& setup) {
  return invalidates(
      setup, {code::kStreamCaptured}, [](Scene& s) { s.stream->query(); }, CaptureMode::relaxed);
}

std::string synchronize_a_side_stream(const Setup& setup) {
  return invalidates(setup, {code::kStreamCaptured}, [](Scene& s) {
    s.stream->record(*s.event);
    s.other->wait(*s.event);
    add_value(*s.other, s.data, s.data, 1, "mul", "layers.0");
    try {
      s.other->synchronize();
    } catch (const Error& error) {  // its own last launch, not that of the first stream
      if (error.text().where.find("launch 1") == std::string::npos) throw;
      ErrorText text = error.text();
      text.where = kPlace;
      fail(text);
    }
  });
}

std::string synchronize_the_device_while_capturing(const Setup& setup) {
  if (std::string wrong = invalidates(
          setup, {code::kStreamCaptured}, [](Scene& s) { s.device->synchronize(); }, CaptureMode::relaxed);
      !wrong.empty())
    return wrong;
  return invalidates(setup, {code::kStreamCaptured}, [](Scene& s) { s.device->trim(); });
}

std::string query_or_time_a_captured_event(const Setup& setup) {
  const Action actions[] = {[](Scene& s) { s.event->query(); }, [](Scene& s) { s.event->synchronize(); },
                            [](Scene& s) { s.event->seconds(); }};
  for (const Action& action : actions)
    if (std::string wrong = invalidates(setup, {code::kEventCaptured},
                                        [&](Scene& s) {
                                          s.stream->record(*s.event);
                                          action(s);
                                        });
        !wrong.empty())
      return wrong;
  return {};
}

std::string captured_events_stay_so_until_recorded_again(const Setup& setup) {
  Scene s(setup);
  s.begin();
  s.stream->record(*s.event);
  s.stream->end_capture();
  if (std::string wrong = expect_code({code::kEventCaptured}, [&] { s.event->query(); }); !wrong.empty()) return wrong;
  if (std::string wrong = expect_code({code::kEventCaptured}, [&] { s.other->wait(*s.event); }); !wrong.empty())
    return wrong;
  s.stream->record(*s.event);
  s.other->wait(*s.event);
  s.event->synchronize();
  return s.event->query() ? "" : "an event recorded after a capture does not pass";
}

std::string wait_for_an_event_from_outside(const Setup& setup) {
  if (std::string wrong = invalidates(setup, {code::kCaptureDependency}, [](Scene& s) { s.stream->wait(*s.event); });
      !wrong.empty())
    return "never recorded: " + wrong;
  if (std::string wrong = invalidates(setup, {code::kCaptureDependency},
                                      [](Scene& s) {
                                        s.stream->record(*s.event);
                                        s.other->record(*s.event);  // which counts from here on
                                        s.stream->wait(*s.event);
                                      });
      !wrong.empty())
    return "recorded outside again: " + wrong;
  return invalidates(setup, {code::kCaptureDependency}, [](Scene& s) {
    s.other->record(*s.event);
    s.stream->wait(*s.event);
  });
}

std::string end_with_an_open_side_stream(const Setup& setup) {
  for (const bool works : {false, true})
    for (const bool returned_before : {false, true}) {
      Scene s(setup);
      s.begin();
      s.stream->record(*s.event);
      s.other->wait(*s.event);
      if (returned_before) {
        const auto back = s.device->create_event();
        s.other->record(*back);
        s.stream->wait(*back);
        if (!works) continue;  // it has returned
      }
      if (works) add_value(*s.other, s.data, s.data, 1, "conv", "layers.1");
      if (std::string wrong = expect_code(
              {code::kStreamUnjoined}, [&] { s.stream->end_capture(); }, works ? "layers.1, conv, launch 1" : "");
          !wrong.empty())
        return wrong;
      if (s.other->capture_status() != CaptureStatus::none) return "the side stream still captures";
      s.other->synchronize();
    }
  return {};
}

std::string end_without_begin(const Setup& setup) {
  Scene s(setup);
  if (std::string wrong = expect_code({code::kStreamNotCaptured}, [&] { s.stream->end_capture(); }); !wrong.empty())
    return wrong;
  s.begin();
  s.stream->end_capture();
  return expect_code({code::kStreamNotCaptured}, [&] { s.stream->end_capture(); });
}

std::string end_on_a_side_stream(const Setup& setup) {
  return invalidates(setup, {code::kStreamCaptureUnmatched}, [](Scene& s) {
    s.stream->record(*s.event);
    s.other->wait(*s.event);
    try {
      s.other->end_capture();
    } catch (Error& error) {  // the side stream has no launch of its own
      ErrorText text = error.text();
      text.where = kPlace;
      fail(text);
    }
  });
}

std::string end_on_another_thread(const Setup& setup) {
  for (const auto mode : {CaptureMode::global, CaptureMode::thread_local_only, CaptureMode::relaxed}) {
    Scene s(setup);
    s.begin(mode);
    std::string wrong;
    std::thread([&] {
      if (mode == CaptureMode::relaxed) {
        if (s.stream->end_capture()->nodes.size() != 1) wrong = "a launch was lost";
      } else {
        wrong = expect_code(
            {code::kStreamCaptureWrongThread}, [&] { s.stream->end_capture(); }, kPlace);
      }
    }).join();
    if (!wrong.empty()) return wrong;
    if (s.stream->capture_status() != CaptureStatus::none) return "the stream still captures after the end";
  }
  return {};
}

std::string two_captures_meet(const Setup& setup) {
  Scene s(setup);
  s.begin();
  s.other->begin_capture();
  s.stream->record(*s.event);
  if (std::string wrong = expect_code({code::kStreamCaptureConflict}, [&] { s.other->wait(*s.event); }); !wrong.empty())
    return wrong;
  for (Stream* stream : {s.stream.get(), s.other.get()})
    if (std::string wrong = expect_code({code::kCaptureInvalidated}, [&] { stream->end_capture(); }); !wrong.empty())
      return wrong;
  return {};
}

std::string replay_within_a_capture(const Setup& setup) {
  return invalidates(setup, {code::kModelCaptured}, [](Scene& s) {
    s.other->begin_capture();
    const auto graph = s.device->instantiate(s.other->end_capture());
    s.stream->replay(*graph);
  });
}

std::string copy_pageable_memory(const Setup& setup) {
  const Action actions[] = {[](Scene& s) { s.stream->copy_from_host(s.data.memory(), 0, s.pinned.get(), 64); },
                            [](Scene& s) { s.stream->copy_to_host(s.pinned.get(), s.data.memory(), 0, 64); }};
  for (const auto mode : {CaptureMode::global, CaptureMode::thread_local_only, CaptureMode::relaxed})
    for (const Action& action : actions)
      if (std::string wrong =
              invalidates(setup, {code::kCaptureModeNotSupport, 107041, code::kInvalidParameter}, action, mode);
          !wrong.empty())
        return wrong;
  return {};
}

std::string copy_pageable_memory_on_another_stream(const Setup& setup) {
  const Action action = [](Scene& s) { s.other->copy_from_host(s.data.memory(), 0, s.pinned.get(), 64); };
  const Action on_another_thread = [&](Scene& s) {
    std::optional<ErrorText> text;
    std::thread([&] {
      try {
        action(s);
      } catch (const Error& error) {
        text = error.text();
      }
    }).join();
    if (text) fail(*text);
  };
  struct Case {
    CaptureMode mode;
    const Action& action;
    bool legal;
  };
  const Case cases[] = {{CaptureMode::global, action, false},
                        {CaptureMode::global, on_another_thread, false},
                        {CaptureMode::thread_local_only, action, false},
                        {CaptureMode::thread_local_only, on_another_thread, true},
                        {CaptureMode::relaxed, action, true},
                        {CaptureMode::relaxed, on_another_thread, true}};
  for (const Case& c : cases) {
    if (!c.legal) {
      if (std::string wrong = invalidates(setup, {code::kCaptureModeNotSupport, 107041}, c.action, c.mode);
          !wrong.empty())
        return std::string(capture_mode_name(c.mode)) + ": " + wrong;
      continue;
    }
    Scene s(setup);
    s.begin(c.mode);
    c.action(s);
    s.other->synchronize();
    if (s.stream->end_capture()->nodes.size() != 1) return "a copy of another stream was captured";
  }
  return {};
}

std::string destroy_a_capturing_stream(const Setup& setup) {
  Scene s(setup);
  s.begin();
  s.stream->record(*s.event);
  s.other->wait(*s.event);
  add_value(*s.other, s.data, s.data, 1);
  s.other.reset();
  if (s.stream->capture_status() != CaptureStatus::invalidated) return "the capture is still valid";
  if (std::string wrong = expect_code({code::kCaptureInvalidated}, [&] { s.stream->end_capture(); }); !wrong.empty())
    return wrong;
  s.begin();
  s.other = s.device->create_stream();
  s.stream->record(*s.event);
  s.other->wait(*s.event);
  s.stream.reset();  // nobody can end this capture any more: it is gone
  if (s.other->capture_status() != CaptureStatus::none) return "a capture outlives the stream that began it";
  s.device->synchronize();
  return {};
}

}  // namespace

std::vector<Check> illegal_capture_checks() {
  return {
      TW_CHECK_ROW(begin_on_the_default_stream),
      TW_CHECK_ROW(default_stream_waits_for_a_captured_event),
      TW_CHECK_ROW(begin_twice),
      TW_CHECK_ROW(synchronize_a_capturing_stream),
      TW_CHECK_ROW(query_a_capturing_stream),
      TW_CHECK_ROW(synchronize_a_side_stream),
      TW_CHECK_ROW(synchronize_the_device_while_capturing),
      TW_CHECK_ROW(query_or_time_a_captured_event),
      TW_CHECK_ROW(captured_events_stay_so_until_recorded_again),
      TW_CHECK_ROW(wait_for_an_event_from_outside),
      TW_CHECK_ROW(end_with_an_open_side_stream),
      TW_CHECK_ROW(end_without_begin),
      TW_CHECK_ROW(end_on_a_side_stream),
      TW_CHECK_ROW(end_on_another_thread),
      TW_CHECK_ROW(two_captures_meet),
      TW_CHECK_ROW(replay_within_a_capture),
      TW_CHECK_ROW(copy_pageable_memory),
      TW_CHECK_ROW(copy_pageable_memory_on_another_stream),
      TW_CHECK_ROW(destroy_a_capturing_stream),
  };
}

}  // namespace tilewright::runtime::cts

#include "engine/capture/capture_failure.h"

#include "runtime/error_codes.h"

namespace tilewright::engine {

CaptureFailure failure_of(const Error& error) {
  const ErrorText& text = error.text();
  CaptureFailure out{.code = text.code.value_or(0),
                     .name = text.name,
                     .what = text.what,
                     .where = text.where,
                     .expected = text.expected,
                     .found = text.found,
                     .cause = {},
                     .fix = text.fix};
  if (const runtime::ErrorCode* known = runtime::find_error_code(out.code)) {
    out.cause = known->cause;
    if (out.fix.empty()) out.fix = known->fix;
  }
  return out;
}

CaptureFailure likely_failure(int code, ErrorText text) {
  text.code = code;
  if (const runtime::ErrorCode* known = runtime::find_error_code(code)) text.name = known->name;
  CaptureFailure out = failure_of(Error(std::move(text)));
  out.likely = true;
  return out;
}

Json failure_json(const CaptureFailure& f) {
  return {{"code", f.code ? Json(f.code) : Json()},
          {"name", f.name},
          {"what", f.what},
          {"where", f.where},
          {"expected", f.expected},
          {"found", f.found},
          {"cause", f.cause},
          {"fix", f.fix},
          {"likely", f.likely}};
}

}  // namespace tilewright::engine

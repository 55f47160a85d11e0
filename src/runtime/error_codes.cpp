#include "runtime/error_codes.h"

#include <algorithm>
#include <vector>

#include "runtime/error_tables.h"

namespace tilewright::runtime {

std::span<const ErrorCode> error_codes() {
  static const std::vector<ErrorCode> all = [] {
    std::vector<ErrorCode> joined;
    for (const std::span<const ErrorCode> part : {calling_error_codes(), execution_error_codes()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

const ErrorCode* find_error_code(int code) {
  const std::span<const ErrorCode> all = error_codes();
  const auto it = std::lower_bound(all.begin(), all.end(), code,
                                   [](const ErrorCode& row, int wanted) { return row.code < wanted; });
  return it != all.end() && it->code == code ? &*it : nullptr;
}

void fail_with_code(int code, ErrorText text) {
  text.code = code;
  if (const ErrorCode* row = find_error_code(code)) {
    text.name = row->name;
    if (text.what.empty()) text.what = row->meaning;
    if (text.fix.empty()) text.fix = row->fix;
  }
  fail(std::move(text));
}

}  // namespace tilewright::runtime

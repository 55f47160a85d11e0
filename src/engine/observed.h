// Gives a context another observer for as long as it lives.
#pragma once

#include "ops/core/context.h"

namespace tilewright::engine {

class Observed {
 public:
  // Null: nobody watches.
  Observed(ops::Context& context, ops::Observer* observer) : context_(context), before_(context.observer()) {
    context.set_observer(observer);
  }
  ~Observed() { context_.set_observer(before_); }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

 private:
  ops::Context& context_;
  ops::Observer* before_;
};

}  // namespace tilewright::engine

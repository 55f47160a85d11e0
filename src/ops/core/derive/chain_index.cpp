#include "ops/core/derive/chain_index.h"

namespace tilewright::ops {

ViewOfResult look_through(const ChainIndex& chain, int producer, const Tensor& view, const DimMap& map) {
  const Tensor& made = chain.result(producer);
  const std::string where = chain.name(producer) + "'s result";
  ViewOfResult out{DimMap(static_cast<std::size_t>(made.rank()), kNowhere), 0};
  std::vector<bool> met(static_cast<std::size_t>(made.rank()), false);
  int column = -1;
  for (int j = 0; j < view.rank(); ++j) {
    if (view.shape()[j] == 1 || (view.strides()[j] == 0 && made.elements() != 0)) continue;
    int at = -1;
    for (int i = 0; i < made.rank(); ++i)
      if (made.shape()[i] > 1 && made.strides()[i] == view.strides()[j]) at = i;
    const bool is_column = map[static_cast<std::size_t>(j)] == kColumn;
    if (made.elements() == 0) {  // strides tell nothing, and nothing depends on them
      at = is_column ? made.rank() - 1 : made.shape() == view.shape() ? j : -1;
      for (int i = made.rank() - 2; i >= 0 && at < 0; --i)
        if (!met[static_cast<std::size_t>(i)] && made.shape()[i] == view.shape()[j]) at = i;
    }
    if (at < 0 || met[static_cast<std::size_t>(at)] || view.shape()[j] > made.shape()[at])
      refuse_chain(where + " is read in another shape, not row by row");
    if (!is_column && view.shape()[j] != made.shape()[at]) refuse_chain("only some rows of " + where + " are read");
    met[static_cast<std::size_t>(at)] = true;
    out.map[static_cast<std::size_t>(at)] = map[static_cast<std::size_t>(j)];
    if (is_column) column = at;
  }
  // A single column of several has no stride to be known by.
  const int last = made.rank() - 1;
  if (column < 0 && last >= 0 && made.shape()[last] > 1 && !met[static_cast<std::size_t>(last)] &&
      (view.rank() == 0 || view.shape()[view.rank() - 1] == 1)) {
    column = last;
    out.map[static_cast<std::size_t>(last)] = kColumn;
    met[static_cast<std::size_t>(last)] = true;
  }
  for (int i = 0; i < made.rank(); ++i)
    if (made.shape()[i] > 1 && !met[static_cast<std::size_t>(i)] && made.elements() != 0)
      refuse_chain("only some rows of " + where + " are read");
  if (column < 0)  // a dim of one column is one all the same
    for (int j = 0; j < view.rank(); ++j)
      if (map[static_cast<std::size_t>(j)] == kColumn && view.rank() == made.rank() && made.shape()[j] == 1)
        out.map[static_cast<std::size_t>(j)] = kColumn;
  const std::int64_t distance = view.offset() - made.offset();
  if (distance != 0) {
    const std::int64_t stride = column >= 0 ? made.strides()[column] : 0;
    if (stride <= 0 || distance % stride != 0 || distance < 0) refuse_chain("only some rows of " + where + " are read");
    out.shift = distance / stride;
    if (out.shift >= made.shape()[column]) refuse_chain("only some rows of " + where + " are read");
  }
  return out;
}

}  // namespace tilewright::ops

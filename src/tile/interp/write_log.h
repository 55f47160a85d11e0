// Which iteration of parallel loops wrote which element, to find two iterations that write one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright::tile {

class WriteLog {
 public:
  std::int64_t enter_loop() { return ++loops_; }
  void enter_iteration(std::int64_t loop);
  void leave_iteration();
  // False if another iteration of one of the running parallel loops wrote this element.
  bool note(int tensor, std::int64_t element);

 private:
  struct Step {
    std::size_t parent = 0;  // the iteration around it; 0: none
    std::int64_t loop = 0;
  };
  std::vector<Step> steps_{1};  // every iteration there was; 0 is the program itself
  std::size_t current_ = 0;
  std::int64_t loops_ = 0;
  std::vector<std::unordered_map<std::int64_t, std::size_t>> writers_;  // per tensor
};

}  // namespace tilewright::tile

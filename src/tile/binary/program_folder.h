// Where this program's file lies: its parts are found beside it.
#pragma once

#include <filesystem>

namespace tilewright::tile {

std::filesystem::path program_folder();  // empty if the system does not say

}  // namespace tilewright::tile

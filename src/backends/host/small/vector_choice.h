// Which table of vector loops runs.
#pragma once

#include "backends/host/small/vector_table.h"
#include "base/cpu.h"

namespace tilewright::backends::host {

const VectorTable& vector_table(IsaLevel level);  // the processor must support the level
const VectorTable& active_table();                // that of active_isa()

}  // namespace tilewright::backends::host

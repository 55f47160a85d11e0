// Thrown where Ctrl-C ends a pull or a patch: no mistake of anybody's, so no Error.
#pragma once

namespace tilewright::hub {

struct Interrupted {};

}  // namespace tilewright::hub

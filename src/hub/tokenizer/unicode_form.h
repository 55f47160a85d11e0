// Unicode normalisation forms.
#pragma once

#include "hub/tokenizer/aligned_text.h"

namespace tilewright::hub {

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

// Puts `in` into the form. False, and `out` untouched, if it is in that form already. Each character of the result has
// as its origin the characters that it could not be separated from. Near linear, also for long runs of combining marks.
bool normalize_unicode(UnicodeForm form, const TextView& in, AlignedText& out);

}  // namespace tilewright::hub

#if defined(__AVX512F__)
#define TW_TABLE kAvx512Table
#define TW_TABLE_NAME "avx512"
#include "backends/host/small/vector_loops.h"
#endif

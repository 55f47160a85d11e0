#if defined(__AVX2__)
#define TW_TABLE kAvx2Table
#define TW_TABLE_NAME "avx2"
#include "backends/host/small/vector_loops.h"
#endif

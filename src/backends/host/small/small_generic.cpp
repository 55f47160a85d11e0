#define TW_TABLE kGenericTable
#define TW_TABLE_NAME "generic"
#include "backends/host/small/vector_loops.h"

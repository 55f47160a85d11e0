# Subscripts that trust their index.
set(planted src/hub/chat/operators.cpp)
set(planted_report "AddressSanitizer")

set(libraries tw_tile)
# A parser that takes values that are not defined.
set(planted src/tile/ir/parser.cpp)

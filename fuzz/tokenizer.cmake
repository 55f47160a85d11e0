# Added tokens that trust the ids they are asked for.
set(planted src/hub/tokenizer/added_tokens.cpp)
set(planted_report "heap-buffer-overflow|runtime error")

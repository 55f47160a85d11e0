set(libraries tw_hub tw_hub_server tw_tensor tw_base)
set(labels hub sanitized_asan sanitized_tsan)
set(timeout 300)
# A hundred kills in the two layouts.
add_test(NAME hub_fetch.kills COMMAND ${target} --gtest_filter=*KilledPullTest.GoesOn*)
set_tests_properties(hub_fetch.kills PROPERTIES LABELS "hub.slow" TIMEOUT 600 ENVIRONMENT "TILEWRIGHT_KILLS=50")

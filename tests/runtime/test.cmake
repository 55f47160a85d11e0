# The conformance suite and the allocator, on every device of this build; also under ASan, UBSan and TSan.
set(libraries tw_backends_host_device tw_backends_null_device)
set(labels runtime sanitized_asan sanitized_tsan)

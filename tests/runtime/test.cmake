# The conformance suite and the allocator, on every device of this build; also under ASan, UBSan and TSan.
set(libraries tw_backends_host tw_backends_null)
set(labels runtime sanitized_asan sanitized_tsan)

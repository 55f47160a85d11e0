// Needs a function from elsewhere, which a kernel must not.
extern "C" float cosf(float);
extern "C" long tw_blocks(const long*) { return 1; }
extern "C" void tw_run(void* const* tensors, const long*, long, long) {
  auto* x = static_cast<float*>(tensors[0]);
  *x = cosf(*x);
}

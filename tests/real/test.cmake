set(labels real)
set(timeout 600)

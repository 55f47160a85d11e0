set(timeout 300)

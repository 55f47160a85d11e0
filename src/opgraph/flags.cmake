tilewright_unity(${target})

"""Writes a safetensors file whose bytes depend on its content alone (the library's own writer orders metadata by chance)."""
import json
import pathlib
import struct

import torch

NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.int32: "I32",
         torch.uint8: "U8", torch.bool: "BOOL"}


def save_tensors(tensors, path, metadata=None):
    """Tensors lie by falling element size, then by name, so that each starts at a multiple of its element size."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header, data, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = dict(sorted(metadata.items()))
    for name in order:
        value = tensors[name].detach().contiguous()
        raw = value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
        header[name] = {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data_offsets": [offset, offset + len(raw)]}
        data.append(raw)
        offset += len(raw)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    partial = pathlib.Path(f"{path}.part")
    partial.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
    partial.rename(path)

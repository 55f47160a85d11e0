"""Calls huggingface_hub as a JSON list says ([{"call": NAME, "arguments": {...}}, ...]); prints one JSON list of
{"result": ...} or {"error": class, "classes": [its bases' names], "message": ...}."""

import json
import sys

import huggingface_hub
from huggingface_hub import scan_cache_dir


def scanned():
    info = scan_cache_dir()
    return {
        "warnings": [str(warning) for warning in info.warnings],
        "repositories": {
            repo.repo_id: {
                "size": repo.size_on_disk,
                "files": sorted(file.file_name for revision in repo.revisions for file in revision.files),
                "refs": {ref: revision.commit_hash for ref, revision in repo.refs.items()},
            }
            for repo in info.repos
        },
    }


def answer(entry):
    try:
        if entry["call"] == "scan_cache_dir":
            return {"result": scanned()}
        return {"result": str(getattr(huggingface_hub, entry["call"])(**entry.get("arguments", {})))}
    except Exception as error:
        return {"error": type(error).__name__, "classes": [c.__name__ for c in type(error).__mro__], "message": str(error)}


print(json.dumps([answer(entry) for entry in json.loads(sys.argv[1])]))

from typing import Any

def __getattr__(name: str) -> Any: ...  # what plugins use of Ansible has no types

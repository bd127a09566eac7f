# What modules use of Ansible, which has no types of its own.
from typing import Any, Mapping, NoReturn, Sequence

class AnsibleModule:
    params: dict[str, Any]
    check_mode: bool
    _diff: bool
    tmpdir: str
    def __init__(
        self,
        argument_spec: Mapping[str, Mapping[str, Any]],
        *,
        supports_check_mode: bool = ...,
        mutually_exclusive: Sequence[Sequence[str]] = ...,
        required_if: Sequence[Sequence[Any]] = ...,
        required_together: Sequence[Sequence[str]] = ...,
        required_one_of: Sequence[Sequence[str]] = ...,
        required_by: Mapping[str, Any] = ...,
    ) -> None: ...
    def exit_json(self, **kwargs: Any) -> NoReturn: ...
    def fail_json(self, msg: str, **kwargs: Any) -> NoReturn: ...
    def get_bin_path(self, arg: str, required: bool = ..., opt_dirs: Sequence[str] = ...) -> str | None: ...
    def warn(self, warning: str) -> None: ...
    def run_command(self, args: str | list[str], **kwargs: Any) -> tuple[int, str, str]: ...

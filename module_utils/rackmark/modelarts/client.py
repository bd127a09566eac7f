"""The requests to ModelArts that a run needs, made by Huawei Cloud's own SDK. Every failure is one sentence."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from .credentials import Credentials
from .errors import CloudAwayError, CloudError, NoSuchJobError

_TIMEOUT = (5, 20)  # seconds to connect, and to wait for an answer
_PAGE = 50
_MOST_JOBS = 5000
_SIMULATED = "X-Simulated"
_LOGGER = "HuaweiCloud-SDK-ModelArtsClient"


class Client:
    """For one project. The SDK is imported when it is first needed: nobody else pays for it."""

    def __init__(self, endpoint: str, project_id: str, credentials: Credentials, *, ca_file: str = "") -> None:
        self._endpoint = endpoint
        self._project_id = project_id
        self._credentials = credentials
        self._ca_file = ca_file
        self._made: Any = None
        self._headers: Mapping[str, str] = {}

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The job as ModelArts has taken it, with its id and its phase."""
        sdk = _sdk()
        return self._ask("create_training_job", sdk.CreateTrainingJobRequest(body=dict(request)))

    def show(self, job_id: str) -> dict[str, Any]:
        sdk = _sdk()
        return self._ask("show_training_job_details", sdk.ShowTrainingJobDetailsRequest(training_job_id=job_id))

    def search(self, name: str) -> list[dict[str, Any]]:
        """All jobs whose names hold this text, those of other runs among them, if theirs do."""
        sdk = _sdk()
        found: dict[str, dict[str, Any]] = {}
        while len(found) < _MOST_JOBS:
            filters = [{"key": "name", "operator": "like", "value": [name]}]
            body = {"offset": len(found), "limit": _PAGE, "filters": filters}
            page = self._ask("list_training_jobs", sdk.ListTrainingJobsRequest(body=body)).get("items") or []
            new = {str((job.get("metadata") or {}).get("id")): job for job in page}
            if not new.keys() - found.keys():
                break
            found.update(new)
            if len(page) < _PAGE:
                break
        return list(found.values())

    def last_lines(self, job_id: str, worker: int, lines: int = 50) -> str:
        """The end of what a worker has logged so far; empty where there is none yet."""
        sdk = _sdk()
        task = f"worker-{worker}"
        try:
            answer = self._ask(
                "show_training_job_logs_from_aom",
                sdk.ShowTrainingJobLogsFromAomRequest(
                    training_job_id=job_id, task_id=task, lines=str(lines), order="desc"
                ),
            )
        except CloudAwayError:
            raise
        except CloudError:
            answer = self._preview(job_id, task)
        text = str(answer.get("content") or "")
        return "\n".join(text.splitlines()[-lines:])

    def terminate(self, job_id: str) -> None:
        sdk = _sdk()
        request = sdk.StopTrainingJobRequest(training_job_id=job_id, body={"action_type": "terminate"})
        self._ask("stop_training_job", request)

    def flavors(self) -> dict[str, int | None]:
        """The kinds of servers that the project may use, and how many of each a job may have, if that is said."""
        sdk = _sdk()
        answer = self._ask("show_training_job_flavors", sdk.ShowTrainingJobFlavorsRequest())
        flavors = [flavor for flavor in answer.get("flavors") or [] if flavor.get("flavor_id")]
        return {str(flavor["flavor_id"]): _count(flavor.get("max_num")) for flavor in flavors}

    def simulated(self) -> list[str]:
        """What the service says that it only simulates, in its latest answer."""
        said = next((value for name, value in self._headers.items() if name.lower() == _SIMULATED.lower()), "")
        return [word.strip() for word in said.split(",") if word.strip()]

    def _preview(self, job_id: str, task: str) -> dict[str, Any]:
        sdk = _sdk()
        try:
            return self._ask(
                "show_training_job_logs_preview",
                sdk.ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task),
            )
        except CloudAwayError:
            raise
        except CloudError:
            return {}

    def _ask(self, operation: str, request: object) -> dict[str, Any]:
        import requests
        from huaweicloudsdkcore.exceptions import exceptions

        if self._made is None:
            self._made = self._make()
        call: Callable[[object], Any] = getattr(self._made, operation)
        try:
            answer = call(request)
        except exceptions.SslHandShakeException as error:
            raise self._untrusted(error.error_msg) from None
        except exceptions.ServiceResponseException as error:
            raise self._refused(error.status_code, str(error.error_code), str(error.error_msg)) from None
        except exceptions.SdkException as error:
            raise self._away(str(error.error_msg)) from None
        except requests.exceptions.RequestException as error:
            raise self._away(str(error)) from None
        try:
            content = json.loads(answer.raw_content or b"{}")
        except ValueError:
            raise self._away("its answer is not JSON") from None
        return content if isinstance(content, dict) else {}

    def _make(self) -> object:
        from huaweicloudsdkcore.auth.credentials import BasicCredentials
        from huaweicloudsdkcore.http.http_config import HttpConfig
        from huaweicloudsdkcore.http.http_handler import HttpHandler

        logging.getLogger(_LOGGER).addHandler(logging.NullHandler())  # what it says is said here, without keys
        config = HttpConfig(timeout=_TIMEOUT, retry_times=0, ignore_ssl_verification=False)
        if self._ca_file:
            config.ssl_ca_cert = self._ca_file
        keys = BasicCredentials(self._credentials.access_key, self._credentials.secret_key, self._project_id)
        if self._credentials.security_token:
            keys = keys.with_security_token(self._credentials.security_token)
        handler = HttpHandler().add_response_handler(self._note_headers)
        builder = _sdk().ModelArtsClient.new_builder().with_http_config(config).with_credentials(keys)
        made: object = builder.with_endpoints([self._endpoint]).with_http_handler(handler).build()
        return made

    def _note_headers(self, **kwargs: Any) -> None:  # noqa: ANN401, the SDK's own form
        self._headers = dict(kwargs["response"].headers)

    def _refused(self, status: int, code: str, message: str) -> CloudError:
        said = f"{status} {code}: {self._one_line(message)}".rstrip(".: ")
        if status in (401, 403):
            return CloudError(
                f"ModelArts at {self._endpoint} refuses these keys for project {self._project_id} ({said}): check the"
                " access key, the secret key, the project id, the rights of the key, and the clock of this machine."
            )
        if status == 404:
            return NoSuchJobError(f"ModelArts at {self._endpoint} does not know what it is asked for ({said}).")
        if status == 429 or status >= 500:
            return self._away(said)
        return CloudError(f"ModelArts at {self._endpoint} refuses the request ({said}).")

    def _untrusted(self, message: str) -> CloudError:
        return CloudError(
            f"The certificate of {self._endpoint} is not one for it ({self._one_line(message)}): name the PEM file of"
            " the authority that signed it with modelarts_ca_file, or correct modelarts_endpoint."
        )

    def _away(self, message: str) -> CloudAwayError:
        return CloudAwayError(f"ModelArts at {self._endpoint} does not answer ({self._one_line(message)})")

    def _one_line(self, message: str) -> str:
        return " ".join(self._credentials.hidden(message).split())[:300]


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _sdk() -> Any:  # noqa: ANN401, the SDK says no types
    try:
        from huaweicloudsdkmodelarts import v1
    except ImportError as error:
        raise CloudError(f"Huawei Cloud's SDK is not installed ({error}): run ./setup.sh --modelarts.") from None
    return v1

"""What goes wrong with the cloud, each as one sentence for the operator."""


class CredentialsError(Exception):
    """There are no usable keys."""


class StoreError(Exception):
    """The object store refused a request, or was not reached."""


class UploadError(StoreError):
    """The code cannot be uploaded as it is."""


class CloudError(Exception):
    """ModelArts refused a request, or was not reached."""


class SettingsError(ValueError):
    """A run in the cloud cannot be as it is asked for."""


class CloudAwayError(CloudError):
    """ModelArts does not answer now, and may later."""


class NoSuchJobError(CloudError):
    """ModelArts does not know a job, or no longer."""

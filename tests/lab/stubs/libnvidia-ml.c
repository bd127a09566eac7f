/* SIMULATED. Stands in for the driver's libnvidia-ml.so.1, as far as NVIDIA's own binding pynvml calls it for telemetry.
 *
 * Lists those of the files nvidia<N> in /dev, or in $RACKMARK_SIMULATED_DEV, that its process may open. Device N draws
 * 300 + 10 N watts all the time, and its energy counter counts exactly that. Device 7 has no energy counter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, GPU_IS_LOST = 15, MOST = 64, WITHOUT_COUNTER = 7 };
static unsigned found[MOST], count;

static int path_of(unsigned number, char *path, size_t room) {
    const char *folder = getenv("RACKMARK_SIMULATED_DEV");
    return snprintf(path, room, "%s/nvidia%u", folder ? folder : "/dev", number);
}

static int is_there(unsigned number) {
    char path[512];
    path_of(number, path, sizeof path);
    return access(path, F_OK) == 0;
}

static int may_open(unsigned number) {
    char path[512];
    path_of(number, path, sizeof path);
    int file = open(path, O_RDWR | O_NONBLOCK);
    if (file >= 0)
        close(file);
    return file >= 0 || (errno != EPERM && errno != EACCES && errno != ENOENT);
}

/* A handle is the number of the device plus one. */
#define DEVICE(handle) ((unsigned)((size_t)(handle) - 1))
#define LOST_IF_GONE(handle)          \
    if (!is_there(DEVICE(handle)))    \
        return GPU_IS_LOST;

int nvmlInitWithFlags(unsigned flags) {
    count = 0;
    for (unsigned number = 0; number < MOST; number++)
        if (may_open(number))
            found[count++] = number;
    return flags ? INVALID : OK;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int error) {
    return error == NOT_SUPPORTED ? "Not Supported" : error == GPU_IS_LOST ? "GPU is lost" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned room) { return snprintf(text, room, "0.0 (simulated)") < 0; }
int nvmlDeviceGetCount_v2(unsigned *devices) { return *devices = count, OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if (index >= count)
        return INVALID;
    *handle = (void *)(size_t)(found[index] + 1);
    return OK;
}
int nvmlDeviceGetMinorNumber(void *device, unsigned *number) { return *number = DEVICE(device), OK; }
int nvmlDeviceGetName(void *device, char *text, unsigned room) {
    return snprintf(text, room, "NVIDIA H100 80GB HBM3 (simulated)") < 0 || !device;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned room) {
    return snprintf(text, room, "GPU-simulated-%u", DEVICE(device)) < 0;
}
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
    LOST_IF_GONE(device)
    rates[0] = 97, rates[1] = 40;
    return OK;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    LOST_IF_GONE(device)
    memory[0] = 80ULL << 30, memory[1] = 60ULL << 30, memory[2] = 20ULL << 30;
    return OK;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees) {
    LOST_IF_GONE(device)
    return *degrees = 60 + DEVICE(device), sensor ? INVALID : OK;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    LOST_IF_GONE(device)
    return *milliwatts = 1000 * (300 + 10 * DEVICE(device)), OK;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    LOST_IF_GONE(device)
    struct timespec now;
    if (DEVICE(device) == WITHOUT_COUNTER)
        return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (unsigned long long)((now.tv_sec * 1e3 + now.tv_nsec / 1e6) * (300 + 10 * DEVICE(device)));
    return OK;
}
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz) {
    LOST_IF_GONE(device)
    return *megahertz = kind == 1 ? 1755 : 2619, OK;
}
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *errors) {
    LOST_IF_GONE(device)
    return *errors = 0, kind == 1 && counter == 0 ? OK : INVALID;
}

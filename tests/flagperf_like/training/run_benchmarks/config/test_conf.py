VENDOR = "homemade"
FLAGPERF_PATH = "/home/FlagPerf/training"
CASES = {
    "tiny:pytorch_1.8:CPU:1:2:1": "/data/tiny",
}

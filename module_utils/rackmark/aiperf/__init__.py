"""AIPerf, which began as AAH: its count of operations, its score and its rules, from the folder of an experiment."""

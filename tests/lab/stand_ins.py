"""Programs that do on this machine what ssh, srun, scontrol and docker do elsewhere."""

from __future__ import annotations

# Runs the command here, in a folder that is not the job's, and ends it as sshd does: by closing its standard input.
SSH = """
import json, os, subprocess, sys
host, command = sys.argv[-2:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if host == "unreachable":
    print("ssh: connect to host unreachable port 22: No route to host", file=sys.stderr)
    sys.exit(255)
os.chdir("/")
os.execvp("bash", ["bash", "-c", command])
"""


# Starts the tasks of all nodes here, with what Slurm tells them and where it puts their output.
SRUN = """
import json, os, subprocess, sys
flags = [word for word in sys.argv[1:] if word.startswith("--")]
command = sys.argv[1 + next(i for i, word in enumerate(sys.argv[1:]) if not word.startswith("--")):]
flags = dict(word[2:].partition("=")[::2] for word in sys.argv[1 : len(sys.argv) - len(command)])
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
per_node, tasks = int(flags["ntasks-per-node"]), int(flags["ntasks"])
started = []
for task in range(tasks):
    node = task // per_node
    if f"node{node + 1}" == os.environ.get("BROKEN") and "label" in flags:
        print(f"{task}: python3: can't open file '{command[2]}': [Errno 2] No such file or directory", flush=True)
        continue
    place = {"PROCID": task, "NTASKS": tasks, "LOCALID": task % per_node, "NODEID": node, "CPUS_ON_NODE": 6}
    environment = {**os.environ, **{f"SLURM_{name}": str(value) for name, value in place.items()}}
    environment["SLURMD_NODENAME"] = flags.get("nodelist", "node1,node2").split(",")[node]
    output = open(flags["output"].replace("%t", str(task)), "wb") if "output" in flags else subprocess.PIPE
    stdin = subprocess.DEVNULL if flags.get("input") == "none" else None
    started.append(subprocess.Popen(command, env=environment, stdin=stdin, stdout=output,
                                    stderr=subprocess.STDOUT))
for task, process in enumerate(started):
    said = (process.communicate()[0] or b"").decode()
    for line in said.splitlines():
        print(f"{task}: {line}" if "label" in flags else line)
worst = max(abs(process.returncode) for process in started)
if worst:
    print(f"srun: error: node1: task 0: Exited with exit code {worst}", file=sys.stderr)
sys.exit(worst)
"""


STAYING_SRUN = SRUN.replace("worst = max", "if 'output' in flags:\n    import time; time.sleep(600)\nworst = max")


SCONTROL = "print('node1\\nnode2')"


# Runs what would run in the container; `docker rm` ends nothing here and is only noted.
DOCKER = """
import json, os, subprocess, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "image":
    print('["registry/image@sha256:abc"] "sha256:def"')
elif sys.argv[1] == "run":
    place = sys.argv.index("image:1")
    entry = [word.partition("=")[2] for word in sys.argv if word.startswith("--entrypoint=")][0]
    os.execvp(entry, [entry, *sys.argv[place + 1 :]])
"""

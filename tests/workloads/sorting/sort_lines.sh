#!/bin/sh
# Sorts so many random lines, and counts with awk what came out.
set -eu
begin=$(date +%s.%N)
awk -v lines="$1" 'BEGIN { srand(1); for (i = 0; i < lines; i++) print rand() }' | sort -n >sorted.txt
awk -v begin="$begin" -v end="$(date +%s.%N)" -f "$2" sorted.txt

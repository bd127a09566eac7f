#!/bin/sh
# npu_errors.sh SECONDS: prints what npu-smi counts of memory errors that could not be corrected, of one card after the
# other, each after a line with the card's number, and begins again after that time. Does not end by itself.
while true; do
    for card in $(npu-smi info -l | sed -n 's/^[[:space:]]*NPU ID *: *\([0-9]\{1,4\}\).*/\1/p'); do
        echo "card $card"
        npu-smi info -t ecc -i "$card" | grep -iE 'double.bit error (count|cnt) *:|chip id *:'
    done
    echo "all cards"
    sleep "$1"
done

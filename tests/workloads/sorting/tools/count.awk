END {
    seconds = end - begin
    printf "RACKMARK {\"event\": \"stated\", \"time\": %.6f, \"lines_per_second\": %.9f, \"seconds\": %.9f}\n", end, NR / seconds, seconds
}

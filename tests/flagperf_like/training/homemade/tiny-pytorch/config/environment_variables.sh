export FROM_SCRIPT="a shell"

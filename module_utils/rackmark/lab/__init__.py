"""The virtual cluster: systemd-nspawn nodes on a private bridge of one Linux machine."""

#!/bin/sh
# unpack-archive.sh ARCHIVE SHA256 FOLDER: the folder is there in full afterwards, or not at all.
set -eu
umask 022
archive=$1 expected=$2 folder=$3
partial=$folder.partial

found=$(sha256sum "$archive" | cut -d ' ' -f 1)
if [ "$found" != "$expected" ]; then
    rm -f "$archive"
    echo "The archive is not the file it should be: its sha256 is $found, the inventory says $expected in" \
        "grafana_archive. Nothing was unpacked; get the right file, or correct the checksum if the file is right." >&2
    exit 1
fi
rm -rf "$partial"
mkdir "$partial"
tar --extract --gzip --file "$archive" --directory "$partial" --strip-components=1 --no-same-owner --no-same-permissions
if [ ! -x "$partial/bin/grafana" ]; then
    rm -rf "$partial" "$archive"
    echo "There is no program bin/grafana in the archive that grafana_archive names: take the one for this host from" \
        "Grafana's downloads, which ends in .linux-amd64.tar.gz or .linux-arm64.tar.gz." >&2
    exit 1
fi
sync
mv "$partial" "$folder"
rm -f "$archive"

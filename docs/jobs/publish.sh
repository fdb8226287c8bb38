#!/bin/sh
# Publish PLAN of TABLE into FOLDER for a timer: one bundle for each state of the data, verified before it has its name.
# Usage: publish.sh PLAN TABLE FOLDER [options of `release`, such as --owner group:clinic]. The ledger: by the settings.
# The exit status is that of the command which ended it: see docs/pipelines.md.
set -eu
plan=$1 table=$2 folder=$3
shift 3
run=${PRIVATE_RELEASE_COMMAND:-private-release}
field() { sed "s/.*\"$1\": \"\([^\"]*\)\".*/\1/"; }

mkdir -p "$folder"
find "$folder" -name '.part-*.zip' -mtime +1 -delete # what runs that were killed have left
part=$folder/.part-$$.zip # of this run alone: another plan may be published into the same folder meanwhile
trap 'rm -f "$part"' EXIT
told=$($run release "$plan" "$table" -o "$part" --json "$@")
key=$($run ledger key --json) # by itself: the status of a pipe is that of its last command
$run verify "$part" --key "$(printf '%s' "$key" | field fingerprint)" --json > /dev/null
mv "$part" "$folder/$(printf '%s' "$told" | field release_id).zip" # the same data: the same release, at no cost
printf '%s\n' "$told" >> "$folder/log.jsonl"

#!/bin/sh
# First process of a machine of its own: `unshare --net --mount --pid --fork` starts it, and all that runs in the machine ends
# with it. $1: an empty directory for its files; the file `ready` in it says that the machine can be used.
set -eu
mount --make-rprivate /
mount -t proc proc /proc
for folder in /run /var/log /var/lib/cni; do
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done

# A kubelet sets these for the whole kernel unless they have these values: it finds them in files, and sets nothing.
while read -r setting value; do
  file="$1/$(echo "$setting" | tr / -)"
  echo "$value" >"$file"
  mount --bind "$file" "/proc/sys/$setting"
done <<SETTINGS
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
SETTINGS

ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
: >"$1/ready"
# A shell that waits also reaps what containers leave behind.
while :; do
  sleep 3600 &
  wait $!
done

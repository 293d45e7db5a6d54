/**
 * Ensure and delete a CT, as commands that can be repeated: after an interruption the same command goes on where the last
 * one ended. Nothing is touched that does not carry this stack's mark in its notes.
 */

import { type CtSpec, ctHash, ownerMark } from "./ct.ts";
import { locked, PRELUDE, script } from "./shell.ts";

/** Makes the CT, or brings its settings to what is planned, and starts it. */
export function ensureCt(spec: CtSpec): readonly string[] {
  const settings = Object.entries(spec.settings).flat();
  return locked(
    String(spec.vmid),
    script(ENSURE, [
      String(spec.vmid),
      ownerMark(spec.stack, spec.role),
      spec.intentFile,
      String(spec.stopTimeoutS),
      spec.template,
      spec.storage,
      String(spec.diskGiB),
      spec.unprivileged ? "1" : "0",
      spec.appliedFile,
      ctHash(spec),
      ...settings,
    ]),
  );
}

/** Shuts the CT down in the time that its node needs, and destroys it. Data directories are mounts and stay. */
export function deleteCt(spec: CtSpec): readonly string[] {
  const own = spec.directories.map((directory) => directory.path);
  return locked(
    String(spec.vmid),
    script(DELETE, [
      String(spec.vmid),
      ownerMark(spec.stack, spec.role),
      spec.intentFile,
      String(spec.stopTimeoutS),
      spec.appliedFile,
      ...own,
    ]),
  );
}

/** Functions that both scripts share. `config` holds what `pct config` printed. */
const SHARED = `${PRELUDE}
setting() { printf '%s\\n' "$config" | sed -n "s/^$1: //p" | head -n 1; }
owned() {
  case " $(setting description | sed 's/%0A/ /g') " in *" $mark "*) return 0 ;; esac
  return 1
}
running() { [ "$(pct status "$vmid")" = 'status: running' ]; }
# An interrupted pct create leaves a locked CT without notes; the file beside the data says that it was ours.
half_made() { [ -f "$intent" ] && [ "$(setting lock)" = create ]; }
clear_half_made() { pct unlock "$vmid" >&2; pct destroy "$vmid" --force 1 >&2; rm -f "$intent"; }
# What Docker runs gets its own time to end, which the shutdown of a whole system does not give it.
rest() { pct exec "$vmid" -- /bin/sh -c 'docker ps -q | xargs -r docker stop -t "$1"' cairn "$timeout" >/dev/null 2>&1 || true; }
not_ours() {
  fail INFRA_UP_REFUSED "container $vmid exists already and is not this node's ($mark); choose another vmid, or remove it yourself"
}
`;

const ENSURE = `${SHARED}
vmid=$1 mark=$2 intent=$3 timeout=$4 template=$5 storage=$6 size=$7 unprivileged=$8 applied=$9; shift 9
hash=$1; shift
command -v pct >/dev/null || fail INFRA_TOOL_MISSING "there is no pct on this host: is it Proxmox VE?"
# Sorted and without what Proxmox adds by itself, so that equal settings compare equal.
parts() { printf '%s' "$1" | tr ',; ' '\\n\\n\\n' | grep -v -e '^hwaddr=' -e '^type=' -e '^firewall=' -e '^$' | sort; }
same() {
  case $1 in
    net[0-9]* | mp[0-9]* | features | startup | tags) [ "$(parts "$2")" = "$(parts "$3")" ] ;;
    description) [ "$2" = "\${3%\\%0A}" ] ;;
    *) [ "$2" = "$3" ] ;;
  esac
}
if config=$(pct config "$vmid" 2>/dev/null) && half_made; then clear_half_made; fi
if config=$(pct config "$vmid" 2>/dev/null); then
  owned || not_ours
  rm -f "$intent"
  count=$#
  while [ "$count" -gt 0 ]; do
    key=$1 wanted=$2; shift 2; count=$((count - 2))
    present=$(setting "$key")
    if same "$key" "$wanted" "$present"; then continue; fi
    if [ -z "$wanted" ]; then set -- "$@" --delete "$key"; continue; fi
    if [ "$key" = net0 ]; then
      # The hardware address stays, and with it what a DHCP server knows of the CT; so does the administrator's firewall.
      kept=$(printf '%s' "$present" | tr ',' '\\n' | grep -e '^hwaddr=' -e '^firewall=' | tr '\\n' ',')
      [ -z "$kept" ] || wanted="$wanted,\${kept%,}"
    fi
    set -- "$@" "--$key" "$wanted"
  done
  # One at a time: --delete and settings do not go together in all versions.
  while [ "$#" -gt 0 ]; do pct set "$vmid" "$1" "$2" >&2; shift 2; done
  now=$(setting rootfs | tr ',' '\\n' | sed -n 's/^size=\\([0-9]*\\)G$/\\1/p')
  if [ -n "$now" ] && [ "$now" -lt "$size" ]; then pct resize "$vmid" rootfs "\${size}G" >&2; fi
  if running && pct pending "$vmid" 2>/dev/null | grep -q -e '^new ' -e '^del '; then
    rest
    pct reboot "$vmid" --timeout "$((timeout + 10))" >&2
  fi
else
  if command -v pvesh >/dev/null; then
    pvesh get /cluster/nextid --vmid "$vmid" >/dev/null 2>&1 ||
      fail INFRA_UP_REFUSED "number $vmid belongs to a virtual machine, or to a container on another member of the cluster"
  fi
  pveam list "\${template%%:*}" 2>/dev/null | awk '{ print $1 }' | grep -Fqx -- "$template" ||
    fail INFRA_IMAGE_MISSING "template $template is not on this host; get it with: pveam update && pveam download \${template%%:*} \${template##*/}"
  count=$#
  while [ "$count" -gt 0 ]; do
    key=$1 wanted=$2; shift 2; count=$((count - 2))
    [ -z "$wanted" ] || set -- "$@" "--$key" "$wanted"
  done
  mkdir -p "\${intent%/*}"
  : >"$intent"
  pct create "$vmid" "$template" --rootfs "$storage:$size" --unprivileged "$unprivileged" "$@" >&2
  rm -f "$intent"
fi
running || pct start "$vmid" >&2
tries=60
until pct exec "$vmid" -- true >/dev/null 2>&1; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || fail INFRA_FAILED "container $vmid was started and takes no commands after 60 s; see: pct status $vmid, pct console $vmid"
  sleep 1
done
mkdir -p "\${applied%/*}"
printf '%s\\n' "$hash" >"$applied"
echo "container $vmid is running"
`;

const DELETE = `${SHARED}
vmid=$1 mark=$2 intent=$3 timeout=$4 applied=$5; shift 5
config=$(pct config "$vmid" 2>/dev/null) || { rm -f "$intent" "$applied"; echo "container $vmid is gone"; exit 0; }
if half_made; then clear_half_made; exit 0; fi
owned || not_ours
# pct destroy takes volumes of a storage with it. Ours are directories of the host; another one was added by hand.
volumes=$(printf '%s\\n' "$config" | sed -n 's/^\\(mp[0-9]*\\|unused[0-9]*\\): \\([^/].*\\)$/\\1/p' | tr '\\n' ' ')
[ -z "$volumes" ] || fail INFRA_DATA_PROTECTED "container $vmid has volumes that this plan does not know ($volumes); detach them first"
if running; then
  rest
  pct shutdown "$vmid" --timeout "$((timeout + 10))" --forceStop 1 >&2
fi
rm -f "$applied"
pct destroy "$vmid" --purge 1 >&2
for directory in "$@"; do
  [ -d "$directory" ] || fail INFRA_FAILED "$directory is not there any more"
done
echo "container $vmid is gone"
`;

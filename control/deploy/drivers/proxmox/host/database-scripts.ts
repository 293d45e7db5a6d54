/** Scripts on the Proxmox host for an upgrade of PostgreSQL, and the command that removes what it leaves. */

import { PRELUDE } from "../../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";

/** A command of the operator's that removes a directory of the host for good. */
export function removalOf({ ssh: { host, port, user } }: ProxmoxPlan, path: string): string {
  const words = [...(user === "root" ? [] : ["sudo"]), "rm", "-r", path];
  return ["ssh", ...(port === 22 ? [] : ["-p", String(port)]), `${user}@${host}`, ...words].join(" ");
}

/** `$1`: the CT, `$2`: the mark in its notes, `$3`: `start` where it may be. Prints `ready`, or nothing. */
export const READY = `${PRELUDE}
vmid=$1 mark=$2 start=$3
config=$(pct config "$vmid" 2>/dev/null) || exit 0
case " $(printf '%s\\n' "$config" | sed -n 's/^description: //p' | sed 's/%0A/ /g') " in
  *" $mark "*) ;;
  *) exit 0 ;;
esac
answers() { pct exec "$vmid" -- docker version --format '{{.Server.Version}}' >/dev/null 2>&1 </dev/null; }
if [ "$start" != start ]; then
  [ "$(pct status "$vmid")" != 'status: running' ] || ! answers || echo ready
  exit 0
fi
[ "$(pct status "$vmid")" = 'status: running' ] || pct start "$vmid" >&2
tries=60
until answers; do
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || fail INFRA_FAILED "Docker in the container $vmid does not answer after 60 s; see: pct console $vmid"
  sleep 1
done
echo ready
`;

/** `$1`: directory of the stack's data, `$2`: of others. Three lines: major of the first, whether the second is there, whether the first's can be renamed. */
export const FACTS = `${PRELUDE}
head -n 1 "$1/PG_VERSION" 2>/dev/null || echo none
if [ -n "$(ls -A "$2" 2>/dev/null | head -n 1)" ]; then echo yes; else echo no; fi
if [ "$(stat -c %d "$1" 2>/dev/null)" = "$(stat -c %d "\${1%/*}" 2>/dev/null)" ]; then echo yes; else echo no; fi
`;

/** `$1`: where the data were written, `$2`: where they are to be. A rename: they are in one of both, and whole. */
export const MOVE = `${PRELUDE}
from=$1 to=$2
[ ! -L "$from" ] || fail INFRA_DATA_PROTECTED "$from is a symbolic link; nothing was moved"
if [ -d "$from" ]; then
  [ ! -d "$to" ] || rmdir "$to" || fail INFRA_DATA_EXISTS "$to is there and not empty; nothing was moved"
  mv -T "$from" "$to"
  sync -f "$to"
fi
[ -f "$to/PG_VERSION" ] || fail INFRA_FAILED "the data of the new server are neither in $from nor in $to"
`;

/** `$1`: the stack's data, `$2`: what goes from there. */
export const REMOVE = `${PRELUDE}
cd -P "$1" 2>/dev/null || exit 0
rm -rf --one-file-system -- "./$2"
`;

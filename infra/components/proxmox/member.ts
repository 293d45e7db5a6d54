/**
 * Where a command runs: on the Proxmox host that SSH reaches, or from there on another member of its cluster. The members
 * of a cluster trust each other's keys already, so only the one host's key has to be pinned here.
 */

import { commandLine, PRELUDE, script } from "./shell.ts";

/** The host's own `root`, or a user who may become it without a password. */
export interface ClusterMember {
  readonly user: string;
  /** Member of the cluster; null: the host that SSH reaches. */
  readonly member: string | null;
  /** Where the cluster's own file system is mounted; default /etc/pve. */
  readonly cluster?: string;
}

/**
 * One line for `ssh host LINE` that runs `argv` as root at `place`, standard input passed on. `terminal`: for a person at a
 * terminal, which another member has to be told of.
 */
export function remoteLine(place: ClusterMember, argv: readonly string[], terminal = false): string {
  const hop = terminal ? HOP.replaceAll("exec ssh ", "exec ssh -tt ") : HOP;
  const line =
    place.member === null ? argv : script(hop, [place.member, commandLine(argv), place.cluster ?? "/etc/pve"]);
  return commandLine(place.user === "root" ? line : ["sudo", "-n", "--", ...line]);
}

/** How a place is shown: `pve.example.org`, or `pve.example.org/pve2`. */
export function placeName(host: string, member: string | null): string {
  return member === null ? host : `${host}/${member}`;
}

// /etc/pve is the cluster's own file system; with pve-manager 8 each member's host key lies in it beside its settings.
const HOP = `${PRELUDE}member=$1 line=$2 cluster=$3
if [ "$(uname -n | cut -d. -f1)" = "$member" ]; then exec /bin/sh -c "$line"; fi
ip=$(sed -n "s/^[[:space:]]*\\"$member\\":.*\\"ip\\":[[:space:]]*\\"\\([^\\"]*\\)\\".*/\\1/p" "$cluster/.members" 2>/dev/null | head -n 1)
[ -n "$ip" ] || fail INFRA_HOST_UNREACHABLE "this Proxmox host knows no member $member of its cluster"
keys=$cluster/nodes/$member/ssh_known_hosts
if [ -f "$keys" ]; then
  exec ssh -e none -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o "HostKeyAlias=$member" \\
    -o "UserKnownHostsFile=$keys" -o GlobalKnownHostsFile=none "root@$ip" "$line"
fi
exec ssh -e none -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o "HostKeyAlias=$member" "root@$ip" "$line"
`;

/**
 * One command at a time for a node, on the node's own host, and none that is older than one that was seen there: a command line whose
 * lease has run out may still have one on its way.
 */

import { InfraError } from "../../runtime/contracts/errors.ts";
import type { FencingToken } from "../rollout/contracts.ts";

export interface Fence {
  readonly stack: string;
  readonly node: string;
  readonly token: FencingToken;
}

/** What the script prints, on a line of its own, for a token that is older, and where the lock was not to be had. */
const OLDER = "cairn-fence: older";
const BUSY = "cairn-fence: busy";
/** For a host, or a workload, that has a newer command. */
export const NEWER_COMMAND_HINT =
  "See `cairn update --mesh --history`. Where the database was set back to an earlier time: docs/infrastructure.md (One node after the other).";

/** Seconds that another command is waited for. */
const WAIT_S = 60;

/** Of the user that commands run as there. */
const FOLDER = `folder="\${XDG_STATE_HOME:-\${HOME:-/root}/.local/state}/cairn/fences"
`;

/**
 * The file holds fleet, lease and command of the newest one. Another fleet's numbers say nothing. Without flock (a Mac) there is no
 * lock: Docker is on the operator's own machine there, and so is the operator's lock.
 */
const SCRIPT = `set -eu
umask 077
${FOLDER}mkdir -p "$folder"
file="$folder/$1.$2"
fleet=$3 lease=$4 command=$5
shift 5
exec 9>>"$file.lock"
if command -v flock >/dev/null 2>&1; then flock -w ${WAIT_S} 9 || { echo "${BUSY}"; exit 0; }; fi
seen_fleet=- seen_lease=0 seen_command=0
if [ -s "$file" ]; then read -r seen_fleet seen_lease seen_command <"$file"; fi
if [ "$seen_fleet" = "$fleet" ]; then
  if [ "$lease" -lt "$seen_lease" ]; then echo "${OLDER}"; exit 0; fi
  if [ "$lease" -eq "$seen_lease" ] && [ "$command" -lt "$seen_command" ]; then echo "${OLDER}"; exit 0; fi
fi
printf '%s %s %s\\n' "$fleet" "$lease" "$command" >"$file.new"
mv "$file.new" "$file"
"$@" 9>&- >/dev/null
`;

/** Words of a POSIX shell's command for the host. `command` runs while the lock is held. */
export function fencedCommand({ stack, node, token }: Fence, command: readonly string[]): string[] {
  const { fleet, lease, command: number } = token;
  return ["sh", "-c", SCRIPT, "cairn-fence", stack, node, fleet, String(lease), String(number), ...command];
}

/** Forgets what was seen there of a node that is gone, with its data: the numbers are of a database that is no more. */
export function forgetCommand({ stack, node }: Pick<Fence, "stack" | "node">): string[] {
  const script = `${FOLDER}rm -f "$folder/$1.$2" "$folder/$1.$2.new" "$folder/$1.$2.lock"`;
  return ["sh", "-c", script, "cairn-fence", stack, node];
}

/** Throws what the script's standard output says. A login shell may have written lines of its own before. */
export function throwIfFenced(stdout: string, { node }: Pick<Fence, "node">): void {
  const lines = stdout.split("\n").map((line) => line.trim());
  if (lines.includes(OLDER)) {
    throw new InfraError("INFRA_LOCKED", `Somebody else changes ${node} now: its host has a newer command.`, {
      hint: NEWER_COMMAND_HINT,
    });
  }
  if (!lines.includes(BUSY)) return;
  const message = `The host of ${node} still carries out another command.`;
  throw new InfraError("INFRA_HOST_UNREACHABLE", message, { hint: "Wait until it is done." });
}

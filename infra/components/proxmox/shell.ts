/**
 * POSIX shell text from argument vectors. Scripts are constants; everything that varies reaches them as a positional
 * argument, so that no value is ever read as shell.
 */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { shellQuote } from "../../../runtime/contracts/shell-quote.ts";

/** Longest command that is sent in one piece; Linux takes 128 KiB as one argument of a process. */
const MAX_COMMAND_BYTES = 120 * 1024;

/** `text` as one word of a shell, whatever it contains. Throws INFRA_PLAN_INVALID for a NUL, which no argument can hold. */
export function quote(text: string): string {
  if (text.includes("\0")) {
    throw new InfraError("INFRA_PLAN_INVALID", "A value for the Proxmox host holds a NUL character.", {
      hint: "Remove it from cairn.yaml.",
    });
  }
  return shellQuote(text);
}

/** One line that a shell splits into exactly `argv`. Throws INFRA_PLAN_INVALID if it is longer than a host takes. */
export function commandLine(argv: readonly string[]): string {
  const line = argv.map(quote).join(" ");
  if (Buffer.byteLength(line) > MAX_COMMAND_BYTES) {
    throw new InfraError("INFRA_PLAN_INVALID", "A command for the Proxmox host is longer than 120 KiB.", {
      hint: "Use fewer or shorter settings for this node.",
    });
  }
  return line;
}

/** The argument vector that runs a constant script with `args` as $1, $2 and so on. */
export function script(text: string, args: readonly string[]): readonly string[] {
  return ["/bin/sh", "-c", text, "cairn", ...args];
}

/** Runs `argv` while holding a lock on the host: a command that lost its operator may still be at work. */
export function locked(name: string, argv: readonly string[]): readonly string[] {
  return [...script(LOCK, [name]), ...argv];
}

/** What every script on the Proxmox host begins with. `fail` writes the one line that `parseRemoteFailure` reads. */
export const PRELUDE = `set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export LC_ALL=C
fail() { printf 'cairn: %s: %s\\n' "$1" "$2" >&2; exit 1; }
`;

// The lock's descriptor is closed before the work starts (-o): a container that is started must not inherit it.
const LOCK = `${PRELUDE}name=$1; shift
rc=0
flock -o -E 75 -w 900 "/run/lock/cairn-$name.lock" "$@" || rc=$?
[ "$rc" -ne 75 ] || fail INFRA_LOCKED "another command has been working on $name for 15 minutes"
exit "$rc"
`;

/** The one place that reads what `ssh` and our own scripts say when they fail. Pure. */

import { ERROR_CODES, type ErrorCode, InfraError } from "../../../runtime/contracts/errors.ts";

/** Exit status that `ssh` keeps for itself. */
const SSH_FAILED = 255;
/** What Proxmox's `pct` says where it fails, with the same status: the host is there, and its container is not as it should be. */
const PCT_FAILED =
  /^(?:container '\d+' not running|CT \S|Configuration file '|startup for container '|can't lock file '|command '.*' failed: |lxc-\w+: )/m;
/** What ssh says when there is no connection, or no more, at the beginning of a line. */
export const NO_CONNECTION =
  /^(?:ssh: |Connection (?:closed|reset|to|timed)|kex_exchange_identification|Host key verification failed|.*: Permission denied \(|Unable to negotiate|client_loop:|Timeout, server)|REMOTE HOST IDENTIFICATION HAS CHANGED/m;
/** Of what the other side said, in characters. */
const MAX_WORDS = 600;

export interface SshOutcome {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly stderr: string;
}

/**
 * Why a command on `host` failed: INFRA_HOST_KEY_MISMATCH, INFRA_HOST_UNREACHABLE (refused keys as well, the hint says which),
 * the code that one of our scripts names in its line `cairn: CODE: words`, or INFRA_FAILED with the command's last words. `settings`:
 * where cairn.yaml has the host's.
 */
export function parseSshFailure(
  host: string,
  { exitCode, stderr }: SshOutcome,
  settings = "deployment.proxmox",
): InfraError {
  const own = ownWords(stderr);
  if (own !== null) return new InfraError(own.code, `${host}: ${own.words}.`, hintFor(own.code));
  if (exitCode === SSH_FAILED && (NO_CONNECTION.test(stderr) || !PCT_FAILED.test(stderr))) {
    const cause = CAUSES.find(({ words }) => words.test(stderr));
    if (cause !== undefined) return cause.error(host, settings);
    return new InfraError("INFRA_HOST_UNREACHABLE", `${host} could not be reached over SSH: ${lastLine(stderr)}`, {
      hint: "Check the address, the port and the network, then try again.",
    });
  }
  if (/No space left on device/i.test(stderr)) {
    return new InfraError("INFRA_DISK_FULL", `A disk of ${host} is full.`, {
      hint: "Make room there, then try again.",
    });
  }
  if (/^sudo: .*password/m.test(stderr)) {
    return new InfraError("INFRA_FAILED", `The SSH user on ${host} may not become root without a password.`, {
      hint: `Use ${settings}.user: root, or allow the user \`sudo\` without a password.`,
    });
  }
  const status = exitCode === null ? "was ended by a signal" : `ended with status ${exitCode}`;
  return new InfraError("INFRA_FAILED", `A command on ${host} ${status}: ${lastLine(stderr)}`, {
    hint: "Repeat the command: everything that was done already is found and kept.",
  });
}

const CAUSES: readonly { readonly words: RegExp; readonly error: (host: string, settings: string) => InfraError }[] = [
  {
    words: /REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|host key .*(?:mismatch|not match)/i,
    error: keyMismatch,
  },
  // The host has keys, and none of the kind that is pinned: it is not the one that was.
  { words: /no matching host key type found/i, error: keyMismatch },
  {
    words: /Permission denied|Too many authentication failures|No supported authentication methods/i,
    error: (host, settings) =>
      new InfraError("INFRA_HOST_UNREACHABLE", `${host} refused the SSH key.`, {
        hint: `Check ${settings}.user and identity_file (or \`ssh-add -l\`), and that the host's authorized_keys has the key.`,
      }),
  },
];

function keyMismatch(host: string, settings: string): InfraError {
  return new InfraError("INFRA_HOST_KEY_MISMATCH", `${host} shows another host key than the one in cairn.yaml.`, {
    hint: `If the machine was replaced on purpose, put its new key into ${settings}.host_key; if not, the connection may be intercepted.`,
  });
}

/** The last line that a script of ours wrote about its failure, wherever it was printed; null when there is none. */
function ownWords(stderr: string): { readonly code: InfraError["code"]; readonly words: string } | null {
  const lines = [...stderr.matchAll(/^cairn: (INFRA_[A-Z_]+): (.*)$/gm)];
  const last = lines.at(-1);
  const code = last?.[1];
  return isInfraCode(code) ? { code, words: (last?.[2] ?? "").slice(0, MAX_WORDS) } : null;
}

function isInfraCode(code: string | undefined): code is InfraError["code"] {
  // The table is asked, so that a line of another program cannot invent a code.
  return code?.startsWith("INFRA_") === true && Object.hasOwn(ERROR_CODES, code as ErrorCode);
}

function hintFor(code: InfraError["code"]): { hint?: string } {
  return code === "INFRA_LOCKED" ? { hint: "Wait for the other command, then try again." } : {};
}

function lastLine(stderr: string): string {
  const lines = stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("Warning: Permanently added"));
  return (lines.at(-1) ?? "no reason was given").trim().slice(0, MAX_WORDS);
}

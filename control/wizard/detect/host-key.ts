/** The key that a host shows over SSH, for the operator to compare: reading it is no reason to trust it. */
import { createHash } from "node:crypto";
import type { Environment } from "../../../runtime/config/index.ts";
import { askTool } from "./tool.ts";

export interface HostKey {
  /** `ssh-ed25519 AAAA...`, as the configuration wants it. */
  readonly key: string;
  /** `SHA256:...`, as `ssh-keygen -l` shows it. */
  readonly fingerprint: string;
  /** Whether the user's known_hosts has exactly this key for the host. */
  readonly trusted: boolean;
}

const TIMEOUT_MS = 8_000;
/** The kind that is pinned, if the host has several. */
const PREFERENCE = ["ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"];

/** Why there is none, as the end of a sentence, where the host shows none in time, or where there is no `ssh-keyscan`. Never rejects. */
export async function readHostKey(
  host: string,
  port: number,
  { env, signal }: { readonly env: Environment; readonly signal?: AbortSignal | undefined },
): Promise<HostKey | string> {
  const ask = (program: string, args: readonly string[]) =>
    askTool({ program, args, env, timeoutMs: TIMEOUT_MS, signal }).catch(() => null);
  const place = port === 22 ? host : `[${host}]:${port}`;
  const [scan, entries] = await Promise.all([
    ask("ssh-keyscan", ["-T", "5", "-p", String(port), host]),
    ask("ssh-keygen", ["-F", place]),
  ]);
  const key = chooseKey(scan?.stdout ?? "");
  if (key === null) {
    return scan === null
      ? "`ssh-keyscan` is not there, or did not end"
      : `no SSH server answers at ${host}, port ${port}`;
  }
  return { key, fingerprint: fingerprintOf(key), trusted: keysIn(entries?.stdout ?? "").includes(key) };
}

/** The best key of what ssh-keyscan printed; null when there is none. */
export function chooseKey(output: string): string | null {
  const keys = keysIn(output);
  for (const kind of PREFERENCE) {
    const found = keys.find((key) => key.startsWith(`${kind} `));
    if (found !== undefined) return found;
  }
  return null;
}

/** `SHA256:` and the hash in base64 without its padding. */
export function fingerprintOf(key: string): string {
  const [, encoded = ""] = key.split(" ");
  const hash = createHash("sha256").update(Buffer.from(encoded, "base64")).digest("base64");
  return `SHA256:${hash.replace(/=+$/, "")}`;
}

function keysIn(output: string): string[] {
  return output
    .split("\n")
    .map((line) => /^(?!#)\S+ ((?:ssh|ecdsa)-\S+ [A-Za-z0-9+/=]+)/.exec(line)?.[1])
    .filter((key) => key !== undefined);
}

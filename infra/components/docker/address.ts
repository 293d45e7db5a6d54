/** Addresses of Docker hosts, `local` or `ssh://user@host[:port]`, taken apart and checked: parts of them become arguments. */

import { createHash } from "node:crypto";
import { InfraError } from "../../../runtime/contracts/errors.ts";

export const LOCAL = "local";

export interface SshAddress {
  /** `ssh://user@host[:port]`, as Docker's tools want it. */
  readonly url: string;
  readonly user: string | null;
  readonly host: string;
  readonly port: number | null;
}

/** Never starts with a dash, or it would be taken for an option. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;
const IPV6 = /^[0-9A-Fa-f:]+$/;

/** Null for the local host. INFRA_PLAN_INVALID for anything that is no address of a Docker host. */
export function parseDockerHost(address: string): SshAddress | null {
  if (address === LOCAL) return null;
  const match = /^ssh:\/\/(?:([^@/]+)@)?(\[[^\]]+\]|[^:/[\]]+)(?::([0-9]{1,5}))?\/?$/.exec(address);
  const [, user, bracketed = "", digits] = match ?? [];
  const host = bracketed.replace(/^\[|\]$/g, "");
  const port = digits === undefined ? null : Number(digits);
  const isHost = bracketed.startsWith("[") ? IPV6.test(host) : NAME.test(host);
  if (!isHost || (user !== undefined && !NAME.test(user)) || (port !== null && (port < 1 || port > 65_535))) {
    throw new InfraError("INFRA_PLAN_INVALID", `"${address}" is not the address of a Docker host.`, {
      hint: "Write local, or ssh://user@host with a port where it is not 22.",
    });
  }
  const url = `ssh://${user === undefined ? "" : `${user}@`}${bracketed}${port === null ? "" : `:${port}`}`;
  return { url, user: user ?? null, host, port };
}

/**
 * Options of every ssh that we start: a host that is not known, or shows another key, is an error; it never prompts; a host
 * that becomes unreachable is noticed.
 */
export const SSH_OPTIONS = [
  "-o",
  "StrictHostKeyChecking=yes",
  "-o",
  "BatchMode=yes",
  "-o",
  "ConnectTimeout=10",
  "-o",
  "ServerAliveInterval=15",
  "-o",
  "ServerAliveCountMax=4",
] as const;

/** Arguments of ssh that name the host, after SSH_OPTIONS and before the command. */
export function sshDestination(address: SshAddress): string[] {
  return [
    ...(address.port === null ? [] : ["-p", String(address.port)]),
    ...(address.user === null ? [] : ["-l", address.user]),
    "--",
    address.host,
  ];
}

/** A name for the resources of one host, unique by its hash and readable by the rest. */
export function hostSlug(address: string): string {
  if (address === LOCAL) return LOCAL;
  const readable = address
    .replace(/^ssh:\/\//, "")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .slice(0, 40);
  return `${readable}-${createHash("sha256").update(address).digest("hex").slice(0, 8)}`;
}

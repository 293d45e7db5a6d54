/** Where the server listens, and the rule that it never does so with a token that could be guessed. */

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import { ConfigError, RuntimeError } from "../contracts/errors.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { urlOf } from "../contracts/urls.ts";

export interface ListenAddress {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

/** A shorter token could be guessed. */
const MIN_TOKEN_LENGTH = 16;

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, "");
  if (name === "localhost" || name.endsWith(".localhost") || name === "::1") return true;
  const ipv4 = name.startsWith("::ffff:") ? name.slice("::ffff:".length) : name;
  return isIP(ipv4) === 4 && ipv4.startsWith("127.");
}

/**
 * RUNTIME_UNSAFE_LISTEN when there is a token that could be guessed, on loopback, too: what an agent runs reaches that. Without
 * any token only loopback is allowed; there only stored tokens are valid.
 */
export function assertSafeListen(host: string, ownerToken: string | undefined): void {
  const length = ownerToken?.length ?? 0;
  if (length >= MIN_TOKEN_LENGTH || (length === 0 && isLoopback(host))) return;
  const what =
    length === 0
      ? "without SERVICE_API_TOKEN"
      : `with a SERVICE_API_TOKEN of fewer than ${MIN_TOKEN_LENGTH} characters`;
  throw new RuntimeError("RUNTIME_UNSAFE_LISTEN", `Refusing to listen on ${host} ${what}.`, {
    hint: "Remove SERVICE_API_TOKEN from .env and from the environment: `cairn start` then makes one and writes it into .env.",
  });
}

/** Listens and returns the URL. RUNTIME_UNSAFE_LISTEN as above, RUNTIME_ALREADY_RUNNING when the port is taken. */
export async function listenOn(
  server: Pick<FastifyInstance, "listen" | "server">,
  address: ListenAddress,
  ownerToken: string | undefined,
): Promise<{ readonly url: string; readonly host: string; readonly port: number }> {
  assertSafeListen(address.host, ownerToken);
  try {
    // Under this name the framework would make a second server, for the other family, that has none of our limits.
    await server.listen({ host: await oneAddress(address.host), port: address.port });
  } catch (error) {
    throw listenError(error, address);
  }
  const bound = server.server.address();
  const port = bound !== null && typeof bound === "object" ? bound.port : address.port;
  return { url: urlOf(address.host, port, server.server instanceof TlsServer), host: address.host, port };
}

async function oneAddress(host: string): Promise<string> {
  if (host.toLowerCase() !== "localhost") return host;
  return (await lookup(host, { order: "ipv4first" })).address;
}

function listenError(error: unknown, { host, port }: ListenAddress): unknown {
  const code = codeOf(error);
  if (code === "EADDRINUSE") {
    return new RuntimeError("RUNTIME_ALREADY_RUNNING", `${host}:${port} is taken by another process.`, {
      cause: error,
      hint: "Stop the other process, or set runtime.listen (or SERVICE_LISTEN) to another HOST:PORT.",
    });
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new ConfigError("CONFIG_INVALID", `Cannot listen on ${host}:${port} (${code}).`, {
      cause: error,
      issues: [{ path: "runtime.listen", message: "must be an address of this machine and a port that may be used" }],
    });
  }
  return error;
}

/**
 * Browsers send the origin of a request and the host name that they used. A page of another origin may change nothing
 * here, and a page that reached loopback under a name of its own (DNS rebinding) reads nothing either.
 */

import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";
import { isLoopback } from "./listen.ts";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Also refuses what RFC 9112 does not allow and Node's parser lets pass: several Host headers, versions other than 1.0 and 1.1. */
export function installOriginCheck(server: Server, hostNames: readonly string[]): void {
  const names = new Set(hostNames.map((name) => name.toLowerCase()));
  server.addHook("onRequest", (request, _reply, done) => done(refusalOf(request, names)));
}

function refusalOf(request: FastifyRequest, names: ReadonlySet<string>): RuntimeError | undefined {
  const { raw, headers, method } = request;
  if (raw.httpVersion !== "1.1" && raw.httpVersion !== "1.0") return malformed("The version of HTTP is not supported.");
  if (countHosts(raw.rawHeaders) > 1) return malformed("The request has several Host headers.");
  const { origin } = headers;
  // A name in the request line counts before the header (RFC 9112, 3.2.2).
  const host = raw.url?.startsWith("/") === false ? (URL.parse(raw.url)?.host ?? headers.host) : headers.host;
  // Beyond loopback the name proves nothing: containers and clusters give their own. A client of HTTP/1.0 may have none.
  if (host !== undefined && isLoopback(raw.socket.localAddress ?? "") && !isOurName(host, names)) {
    return new RuntimeError("RUNTIME_FORBIDDEN", "This node is not known under the host name of the request.", {
      hint: "Reach it as localhost or by its IP address, or set mesh.advertise to the name.",
    });
  }
  if (origin === undefined || SAFE_METHODS.has(method) || isOurs(origin, host, names)) return undefined;
  return new RuntimeError("RUNTIME_FORBIDDEN", "Requests of other web pages are refused.", {
    hint: "If this node is reached under another name, set mesh.advertise to that name.",
  });
}

/** Whether a page of `origin` is of this node: it names the host that the request went to, and that host is this node. */
export function isOurs(origin: string, host: string | undefined, names: ReadonlySet<string>): boolean {
  const page = URL.parse(origin);
  if (host === undefined || (page?.protocol !== "http:" && page?.protocol !== "https:")) return false;
  const target = URL.parse(`${page.protocol}//${host}`);
  return target !== null && page.host === target.host && isOurName(host, names);
}

/** Whether a Host header names loopback, an IP address (which no name server can point elsewhere) or a configured name. */
function isOurName(host: string, names: ReadonlySet<string>): boolean {
  // What follows the authority would be read as something else than the name.
  if (/[/?#@\\\s]/.test(host)) return false;
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[|\]$|\.$/g, "");
  return name !== undefined && (isLoopback(name) || isIP(name) !== 0 || names.has(name));
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

function malformed(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_INVALID_REQUEST", message);
}

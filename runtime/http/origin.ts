/**
 * Browsers tell where a request comes from. A page of another origin, or one that reached us under a name that is not
 * ours (DNS rebinding), may not change anything here.
 */

import { isIP } from "node:net";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";
import { isLoopback } from "./listen.ts";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

export function installOriginCheck(server: Server, hostNames: readonly string[]): void {
  const names = new Set(hostNames.map((name) => name.toLowerCase()));
  server.addHook("onRequest", async (request) => {
    const { origin, host } = request.headers;
    if (origin === undefined || SAFE_METHODS.has(request.method) || isOurs(origin, host, names)) return;
    throw new RuntimeError("RUNTIME_FORBIDDEN", "Requests of other web pages are refused.", {
      hint: "If this node is reached under another name, add that name to its configuration.",
    });
  });
}

/** Whether a page of `origin` is one of ours: it names the host that the request went to, and that host is this node. */
export function isOurs(origin: string, host: string | undefined, names: ReadonlySet<string>): boolean {
  if (host === undefined || !URL.canParse(origin) || !URL.canParse(`http://${host}`)) return false;
  const page = new URL(origin);
  const target = new URL(`${page.protocol}//${host}`);
  if (page.protocol !== "http:" && page.protocol !== "https:") return false;
  if (page.host !== target.host) return false;
  const name = page.hostname.replace(/^\[|\]$/g, "");
  return isLoopback(name) || isIP(name) !== 0 || names.has(name);
}

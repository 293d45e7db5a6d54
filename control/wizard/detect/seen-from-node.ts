/**
 * The way from a node in a container to a model server of this machine: loopback is the container itself there, so another address
 * of this machine is needed, and a server that listens on it. Pure.
 */
import type { Answers } from "../answers.ts";
import { leadsToLoopback, portOf } from "./containers.ts";
import type { Facts } from "./facts.ts";

/** What the machine offers to a node of that deployment: servers on loopback have the address that it reaches them at. */
export function seenFromNode(facts: Facts, deployment: Answers["deployment"]): Facts {
  const host = hostSeenFromNode(facts, deployment);
  if (host === null) return facts;
  const moved = <T extends { readonly baseUrl?: string }>(server: T): T =>
    server.baseUrl !== undefined && leadsToLoopback(server.baseUrl)
      ? { ...server, baseUrl: withHost(server.baseUrl, host) }
      : server;
  return {
    ...facts,
    servers: facts.servers.map(moved),
    provider: moved(facts.provider),
    embeddings: facts.embeddings.map(moved),
  };
}

/** `unheard`: nothing listens there yet. Null for an address that has nothing to do with this machine's loopback. */
export function reachOf(
  facts: Facts,
  deployment: Answers["deployment"],
  url: string | undefined,
): "loopback" | "unheard" | "heard" | null {
  if (url === undefined || deployment.target === "manual") return null;
  if (leadsToLoopback(url)) return "loopback";
  const host = hostSeenFromNode(facts, deployment);
  if (host === null || URL.parse(url)?.hostname !== host) return null;
  return facts.own.listening.includes(`${host}:${portOf(url)}`) ? "heard" : "unheard";
}

function hostSeenFromNode({ own }: Facts, { target, docker }: Answers["deployment"]): string | null {
  if (target === "manual") return null;
  return target === "docker" && (docker.host ?? "local") === "local" ? own.docker : own.network;
}

/** Without the slash that the parser puts behind a bare origin. */
function withHost(url: string, host: string): string {
  const moved = new URL(url);
  moved.hostname = host;
  return url.endsWith("/") ? moved.href : moved.href.replace(/\/$/, "");
}

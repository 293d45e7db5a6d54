/** `mesh join HOST`, and the end of `init --join HOST`: a node becomes a member now, or at its next start. */

import { mkdir } from "node:fs/promises";
import type { Document } from "yaml";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { JoinToken } from "../../runtime/contracts/membership.ts";
import { joinFilePath, writeJoinFile } from "../../runtime/files/join-file.ts";
import { editConfiguration } from "../configuration/edit.ts";
import { UsageError } from "../output/failure.ts";
import { openConnection } from "../service/connect.ts";
import { type Deployment, inspectWithoutSecrets } from "../service/deployment.ts";
import { inspectNode } from "../service/stale-node-file.ts";

export interface MeshJoinResult {
  /** False: the node does so at its next start. */
  readonly joined: boolean;
  readonly node_id: string | null;
  /** Names of the other members. */
  readonly members: readonly string[];
  /** Of cairn.yaml. */
  readonly diff: string;
  readonly next: string | null;
}

export interface JoinRequest {
  readonly deployment: Deployment;
  /** As the user wrote it; undefined: as the token says. */
  readonly host: string | undefined;
  readonly token: { readonly text: string; readonly token: JoinToken };
  /** For `mesh.name` and `mesh.advertise`; undefined: as they are. */
  readonly name: string | undefined;
  readonly advertise: string | undefined;
  readonly signal: AbortSignal;
}

/** A node that runs with the mesh on joins at once; another one is set up for it, and joins at its next start. */
export async function joinMesh(request: JoinRequest): Promise<MeshJoinResult> {
  const { deployment, host, token, signal } = request;
  const { loaded } = await inspectWithoutSecrets(deployment);
  if (loaded === null)
    throw new ConfigError("CONFIG_INVALID", "cairn.yaml cannot be read: `cairn config validate` says why.");
  requireManual(loaded.config.deployment.target);
  const url = host === undefined ? null : hostUrl(host, token.token);
  const { mesh } = loaded.config;
  const runs = (await inspectNode(deployment.home)).state === "running";
  const ready = mesh.enabled && request.name === undefined && request.advertise === undefined;
  if (runs && ready) {
    const connection = await openConnection(deployment, signal);
    try {
      const { node_id, members } = await connection.client.joinMesh(token.text, { signal, ...(url ? { url } : {}) });
      const { diff } = await writeSettings(request, url);
      return { joined: true, node_id, members, diff, next: null };
    } finally {
      await connection.close();
    }
  }
  const diff = await prepareJoin(request);
  return { joined: false, node_id: null, members: [], diff, next: runs ? "cairn restart" : "cairn start" };
}

/** The next start of the node joins. What changed in cairn.yaml, as a unified diff. */
export async function prepareJoin(request: JoinRequest): Promise<string> {
  const { deployment, host, token } = request;
  const url = host === undefined ? null : hostUrl(host, token.token);
  const { diff } = await writeSettings(request, url);
  await mkdir(deployment.home, { recursive: true, mode: 0o700 });
  await writeJoinFile(joinFilePath(deployment.home), { token: token.text, url });
  return diff;
}

/** UsageError for a deployment whose nodes are elsewhere. */
export function requireManual(target: string): void {
  if (target === "manual") return;
  throw new UsageError(
    "The nodes of this deployment share a database, and are members by that.",
    "A node on a machine of its own joins: `cairn init --join HOST` there.",
  );
}

/** `mesh.enabled`, and the other node among `mesh.seeds`. */
async function writeSettings({ deployment, name, advertise, token, signal }: JoinRequest, url: string | null) {
  const seed = (url ?? token.token.url).replace(/^https:\/\//, "");
  return editConfiguration(
    deployment,
    (document: Document) => {
      document.setIn(["mesh", "enabled"], true);
      if (name !== undefined) document.setIn(["mesh", "name"], name);
      if (advertise !== undefined) document.setIn(["mesh", "advertise"], advertise);
      const seeds: unknown = document.toJS()?.mesh?.seeds;
      const existing = Array.isArray(seeds) ? seeds : [];
      if (existing.some((one) => one === seed || one === `https://${seed}`)) return;
      if (existing.length === 0) document.setIn(["mesh", "seeds"], document.createNode([seed], { flow: true }));
      else document.addIn(["mesh", "seeds"], seed);
    },
    { signal },
  );
}

/** HOST, HOST:PORT or a URL; without a port that of the token. */
function hostUrl(host: string, token: JoinToken): string {
  const given = URL.parse(/^https?:\/\//.test(host) ? host : `https://${host}`);
  if (given === null || given.protocol !== "https:" || given.hostname === "")
    throw new UsageError(`${host} is no address of a node.`, "Write HOST, HOST:PORT or https://HOST:PORT.");
  const { port } = new URL(token.url);
  return `https://${given.hostname}:${given.port || port || "443"}`;
}

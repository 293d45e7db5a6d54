/** From the configuration to this node as a member of a mesh: its requests to others, the local network, and its membership. */

import { hostableAgents } from "../app/turn/agents.ts";
import { createPeerClients, type PeerClients } from "../client/peer.ts";
import { isLoopback, type LoadedConfig } from "../config/index.ts";
import type { NewId } from "../contracts/ports.ts";
import { MIGRATIONS } from "./database.ts";
import { createDiscovery, type Discovery } from "./discovery.ts";
import { createMembership, type Membership, type MembershipDeps } from "./membership.ts";
import { createMeshCalls } from "./mesh-calls.ts";
import { advertisedUrl, listenAddress, seedUrls } from "./settings.ts";

export interface MeshDeps
  extends Pick<MembershipDeps, "identity" | "database" | "paths" | "isDraining" | "clock" | "logger"> {
  readonly loaded: LoadedConfig;
  readonly version: string;
  readonly agents: Parameters<typeof hostableAgents>[0];
  /** Of the server, once it listens. */
  url(): string;
  readonly newId: NewId;
}

export interface MeshParts {
  readonly peers: PeerClients;
  /** Null where it is off. */
  readonly discovery: Discovery | null;
  readonly membership: Membership;
}

export function composeMesh({ loaded, version, agents, url, newId, ...deps }: MeshDeps): MeshParts {
  const { identity, clock, logger } = deps;
  const { mesh } = loaded.config;
  const { id, name } = identity;
  const peers = createPeerClients({ id, privateKey: identity.privateKey, clock, newId });
  const reached = !isLoopback(listenAddress(loaded).host);
  const port = () => (reached ? Number(new URL(url()).port) : null);
  const discovery = mesh.enabled && mesh.mdns ? createDiscovery({ node: { id, name }, port, logger }) : null;
  const membership = createMembership({
    ...deps,
    migrations: MIGRATIONS,
    said: { release: version, address: advertisedUrl(loaded), agents: hostableAgents(agents, name) },
    mesh: mesh.enabled
      ? {
          heartbeatMs: mesh.heartbeat,
          seeds: seedUrls(loaded),
          calls: createMeshCalls(peers),
          foundAt: (node) => discovery?.foundAt(node) ?? null,
        }
      : null,
  });
  return { peers, discovery, membership };
}

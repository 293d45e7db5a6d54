/** Nodes of a mesh over real stores, which reach each other in memory: what is under test is all but the network. */

import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createGossip, type Gossiping, type MeshCalls } from "../../runtime/app/mesh/gossip.ts";
import { createJoinTokens } from "../../runtime/app/mesh/join-tokens.ts";
import { createJoining, type Joining } from "../../runtime/app/mesh/joining.ts";
import { createLeaving, type Leaving } from "../../runtime/app/mesh/leaving.ts";
import { createMeshStore, type MeshStore } from "../../runtime/app/mesh/mesh-store.ts";
import { createMeshView, type MeshView, standingOf } from "../../runtime/app/mesh/mesh-view.ts";
import { createNodeRegistry, type NodeRegistry } from "../../runtime/app/mesh/registry.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { ChannelError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Gossip } from "../../runtime/contracts/membership.ts";
import type { NodeEntry } from "../../runtime/contracts/node-entry.ts";
import type { Logger } from "../../runtime/contracts/ports.ts";
import { LivenessTable } from "../../runtime/domain/mesh/liveness.ts";
import { nodeIdOf } from "../../runtime/domain/mesh/node-entry.ts";
import { entryOf } from "./node-entries.ts";
import { quietLogger } from "./quiet-logger.ts";

export interface MeshNodeOptions {
  readonly database: Database;
  readonly keys?: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly seeds?: readonly string[];
  /** Where the local network says that a node is. */
  readonly foundAt?: (id: string) => string | null;
  readonly logger?: Logger;
  /** Milliseconds by which its clock is ahead of the others'. */
  readonly aheadMs?: number;
}

export interface MeshNode {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly store: MeshStore;
  readonly view: MeshView;
  readonly registry: NodeRegistry;
  readonly gossip: Gossiping;
  readonly joining: Joining;
  readonly leaving: Leaving;
  /** As at its start. */
  start(): Promise<void>;
  /** One heartbeat. */
  beat(): Promise<void>;
  publish(said?: Partial<NodeEntry>, above?: number): Promise<NodeEntry>;
  join(token: string): Promise<readonly string[]>;
  token(): Promise<string>;
  /** Names and states, its own with a *. */
  sees(): Promise<readonly string[]>;
  standing(): Promise<string>;
  /** As it asks another one: what is refused there rejects. */
  answerTo(caller: string, received: Gossip): Promise<Gossip>;
}

/** Nodes by their URLs. */
export class TestNetwork {
  readonly nodes = new Map<string, MeshNode>();
  /** Pairs of names that do not reach each other. */
  readonly cut = new Set<string>();
  /** URLs of exchanges that were tried. */
  readonly calls: string[] = [];
  /** Milliseconds since the start, and since the epoch. */
  now = 1_000_000;

  separate(ones: readonly MeshNode[], others: readonly MeshNode[]): void {
    for (const a of ones) for (const b of others) this.cut.add(`${a.name} ${b.name}`).add(`${b.name} ${a.name}`);
  }

  heal(): void {
    this.cut.clear();
  }

  async rounds(count: number, ...nodes: readonly MeshNode[]): Promise<void> {
    for (let round = 0; round < count; round += 1) {
      this.now += 15_000;
      for (const node of nodes) await node.beat();
    }
  }

  node(name: string, options: MeshNodeOptions): MeshNode {
    const { database, keys = generateKeyPairSync("ed25519"), seeds = [], logger = quietLogger, aheadMs = 0 } = options;
    const id = nodeIdOf(keys.publicKey);
    const url = `https://${name}:7433`;
    const own = { id, name, ...keys };
    const clock = { now: () => new Date(Date.UTC(2026, 0, 1) + this.now + aheadMs), monotonic: () => this.now };
    const liveness = new LivenessTable();
    const store = createMeshStore({ database, logger });
    const view = createMeshView({ store, own, liveness, clock, logger });
    const livenessOf = (other: string) => liveness.stateOf(other, clock.monotonic());
    const registry = createNodeRegistry({ database, store, view, livenessOf, clock });
    const reach = (at: string): MeshNode => {
      const there = this.nodes.get(at);
      if (there === undefined || this.cut.has(`${name} ${there.name}`))
        throw new ChannelError("CHANNEL_CONNECTION_LOST", `The connection to ${at} broke.`);
      return there;
    };
    const calls: MeshCalls = {
      // As JSON: what does not survive that is not told.
      gossip: async (to, at, body) => {
        this.calls.push(at);
        const there = reach(at);
        if (there.id !== to.id) throw new RuntimeError("RUNTIME_CERTIFICATE_REFUSED", "It shows another certificate.");
        return JSON.parse(JSON.stringify(await there.answerTo(id, JSON.parse(JSON.stringify(body)))));
      },
      certificateAt: async (at) => pinOfNode(reach(at).id),
      join: async (at, pins, body) => {
        const there = reach(at);
        if (!pins.includes(pinOfNode(there.id)))
          throw new RuntimeError("RUNTIME_CERTIFICATE_REFUSED", "It shows another certificate.");
        // As the route reads it.
        return JSON.parse(JSON.stringify(await there.joining.admit(body as Parameters<Joining["admit"]>[0])));
      },
      revocation: async (_to, at, node) => (await reach(at).view.current()).mesh.revocations.get(node) ?? null,
    };
    let published: NodeEntry | null = null;
    const publish: MeshNode["publish"] = async (said = {}, above = 0) => {
      const { aheadMs: _, ...rest } = { aheadMs, ...said };
      published = await registry.publish(
        (version) =>
          entryOf(keys, {
            name,
            address: url,
            certificate_sha256: pinOfNode(id),
            made_at: clock.now().toISOString(),
            ...rest,
            version,
          }),
        undefined,
        above,
      );
      gossip.restart();
      return published;
    };
    const gossip = createGossip({
      view,
      own: id,
      calls,
      liveness,
      seeds,
      foundAt: options.foundAt ?? (() => null),
      clock,
      random: Math.random,
      logger,
      async onBehind(version) {
        await publish({}, version);
        await view.refresh();
      },
    });
    const joining = createJoining({
      view,
      store,
      tokens: createJoinTokens(database),
      calls,
      own,
      ownEntry: async () => published ?? publish(),
      newSecret: () => randomBytes(32).toString("base64url"),
      living: async () =>
        (await registry.members()).filter(({ state }) => state === "online").map(({ entry }) => entry),
      logger,
      onAdmitted: (entry) => liveness.hear([entry.id, entry.version, 0], clock.monotonic()),
      async onEntered() {
        await publish();
        await view.reconcile();
      },
    });
    const never = new AbortController().signal;
    const node: MeshNode = {
      id,
      name,
      url,
      keys,
      store,
      view,
      registry,
      gossip,
      joining,
      leaving: createLeaving({
        view,
        store,
        gossip,
        liveness,
        own,
        clock,
        random: Math.random,
        logger,
        forgetIdentity: async () => undefined,
      }),
      async start() {
        await database.query(
          `insert into leases (name, holder, expires_at, data) values ('node:' || $1, 'boot', now() + interval '1 hour', '{}')
           on conflict (name) do nothing`,
          [id],
        );
        await publish();
        await view.reconcile();
      },
      async beat() {
        await view.reconcile();
        await gossip.round(never);
      },
      publish,
      join: async (token) => (await joining.join(token, null, never)).members.map((entry) => entry.name).sort(),
      token: async () => (await joining.createToken()).token,
      sees: async () =>
        (await registry.members()).map(({ entry, state }) => `${entry.name}${entry.id === id ? "*" : ""} ${state}`),
      standing: async () => standingOf(await view.refresh(), id),
      async answerTo(caller, received) {
        if ((await registry.find(caller)) === null)
          throw new RuntimeError("RUNTIME_UNAUTHORIZED", `No node with the id ${caller} is in this node's registry.`);
        return gossip.answer(received);
      },
    };
    this.nodes.set(url, node);
    return node;
  }
}

/** A fingerprint that only this node's certificate has. */
export function pinOfNode(id: string): string {
  return (id + id).toUpperCase().replaceAll(/..(?!$)/g, "$&:");
}

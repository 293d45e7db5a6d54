/** Nodes of a test that reach each other's agents without HTTP, in the order and with the failures that the test wants. */

import { generateKeyPairSync } from "node:crypto";
import type { Database } from "../../runtime/contracts/database.ts";
import type { PeerAgents } from "../../runtime/contracts/delegation.ts";
import { ChannelError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { NodeEntry } from "../../runtime/contracts/node-entry.ts";
import { nodeIdOf } from "../../runtime/domain/mesh/node-entry.ts";
import { entryOf, registryOf } from "./node-entries.ts";
import type { Harness } from "./turn-harness.ts";

/** What a request meets instead of, or after, its answer. */
export type Fault = "refused" | "draining" | "lost before" | "lost after";

export class PeerBridge {
  readonly #nodes = new Map<string, Harness>();
  /** By id; each is met once, in this order. */
  readonly faults = new Map<string, Fault[]>();
  /** Ids of nodes that nothing reaches. */
  readonly cut = new Set<string>();
  /** `send key`, `events from`, `stop`, each with the node's name. */
  readonly requests: string[] = [];
  /** Ends the streams that are open. */
  #streams = new AbortController();

  attach(id: string, harness: Harness): void {
    this.#nodes.set(id, harness);
  }

  /** As a connection ends. */
  breakStreams(): void {
    this.#streams.abort(lost());
    this.#streams = new AbortController();
  }

  /** The requests of the node with this id. */
  peersOf(caller: string): PeerAgents {
    const at = (peer: NodeEntry): Harness => {
      const harness = this.#nodes.get(peer.id);
      if (harness === undefined || this.cut.has(peer.id))
        throw new RuntimeError("RUNTIME_NOT_RUNNING", `No node answers for ${peer.name}.`);
      return harness;
    };
    const follow = async function* (
      bridge: PeerBridge,
      harness: Harness,
      turn: { readonly agent: string; readonly turnId: string },
      lastEventId: number,
      here: boolean,
    ) {
      const { signal } = bridge.#streams;
      yield* harness.turns.events(turn.agent, turn.turnId, lastEventId, signal, here);
      signal.throwIfAborted();
    };
    return {
      send: async (peer, task) => {
        this.requests.push(`send ${peer.name}`);
        const fault = this.faults.get(peer.id)?.shift();
        if (fault === "refused") throw new RuntimeError("RUNTIME_NOT_RUNNING", "No node answers.");
        if (fault === "draining") throw new RuntimeError("RUNTIME_DRAINING", "It is drained.", { retryAfterS: 5 });
        if (fault === "lost before") throw lost();
        const harness = at(peer);
        const { agent, text, key, user, chain, deadlineMs } = task;
        const { turnId } = await harness.turns.accept({
          address: { channel: harness.channel.id, conversation: key, user: `${caller}/${user ?? ""}` },
          agent,
          externalId: key,
          text,
          owner: false,
          task: { chain, deadlineMs },
        });
        if (fault === "lost after") throw lost();
        return { turnId, events: follow(this, harness, { agent, turnId }, 0, false) };
      },
      events: (peer, turn, { lastEventId, forwarded }) => {
        this.requests.push(`events ${peer.name}`);
        return follow(this, at(peer), turn, lastEventId, forwarded);
      },
      stop: async (peer, { agent, turnId }) => {
        this.requests.push(`stop ${peer.name}`);
        await at(peer).turns.stop(agent, turnId);
      },
    };
  }
}

function lost(): ChannelError {
  return new ChannelError("CHANNEL_CONNECTION_LOST", "The connection broke.");
}

/** Keys of a node, and its entry in the registries of the databases that know it. */
export function newMember(name: string) {
  const keys = generateKeyPairSync("ed25519");
  return {
    id: nodeIdOf(keys.publicKey),
    name,
    async announce(database: Database, said: Partial<NodeEntry>): Promise<void> {
      await registryOf(database).publish((version) =>
        entryOf(keys, { name, address: "http://127.0.0.1:1", ...said, version }),
      );
    },
  };
}

/**
 * Events of turns that another node of this database runs, brought into this node's hub while somebody follows them here: once a
 * turn, under the ids that they have there, so that a follower cannot tell the difference, whichever node runs the turn next.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { PeerAgents } from "../../contracts/delegation.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isFinal, isInterruption } from "../../contracts/stream.ts";
import type { AgentPlaces } from "../mesh/agent-places.ts";
import type { StreamHub } from "./stream-hub.ts";

export interface ForwardedStreams {
  /** Begins unless it is done already; the function that is returned ends it for this follower. */
  follow(agent: string, turnId: string): () => void;
}

export interface ForwardedStreamsDeps {
  readonly places: Pick<AgentPlaces, "runner">;
  readonly peers: Pick<PeerAgents, "events">;
  readonly hub: Pick<StreamHub, "copy" | "lastId" | "rest">;
  readonly logger: Logger;
}

interface Forwarding {
  followers: number;
  /** Id of the last event that was copied. */
  copied: number;
  readonly abort: AbortController;
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

export function createForwardedStreams({ places, peers, hub, logger }: ForwardedStreamsDeps): ForwardedStreams {
  const running = new Map<string, Forwarding>();

  /** Ends with the turn. Meanwhile the followers read the turn's row now and then, so that the end reaches them in any case. */
  async function forward(agent: string, turnId: string, current: Forwarding): Promise<void> {
    const { signal } = current.abort;
    for (let failures = 0; ; failures++) {
      try {
        const runner = await places.runner(agent);
        const from = { lastEventId: hub.lastId(turnId), forwarded: true };
        for await (const numbered of runner ? peers.events(runner, { agent, turnId }, from, signal) : []) {
          failures = 0;
          // The turn goes on elsewhere: only the end of the whole turn is one for those who follow it here.
          if (isInterruption(numbered.event)) break;
          hub.copy(turnId, numbered);
          current.copied = numbered.id;
          if (isFinal(numbered.event)) return;
        }
      } catch (error) {
        if (signal.aborted) return;
        logger.debug(
          { err: error, turnId },
          "the events of a turn on another node broke off; they are asked for again",
        );
      }
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS), undefined, { signal });
    }
  }

  return {
    follow(agent, turnId) {
      const current = running.get(turnId) ?? { followers: 0, copied: 0, abort: new AbortController() };
      if (current.followers++ === 0) {
        running.set(turnId, current);
        forward(agent, turnId, current).catch((error: unknown) => {
          if (!current.abort.signal.aborted)
            logger.warn({ err: error, turnId }, "a turn's events could not be forwarded");
        });
      }
      let isFollowing = true;
      return () => {
        if (!isFollowing) return;
        isFollowing = false;
        if (--current.followers > 0) return;
        if (running.get(turnId) === current) running.delete(turnId);
        current.abort.abort();
        hub.rest(turnId, current.copied);
      };
    },
  };
}

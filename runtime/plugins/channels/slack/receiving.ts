/**
 * Receives over Socket Mode. A message is acknowledged once the inbox has it; where that fails the connection ends, and the message is
 * taken with the next one. Slack replaces connections every few hours: the next one is open before the former one ends.
 */

import type { Receiver, Reception } from "../../../contracts/channel.ts";
import { ChannelError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { untilAborted } from "../until-aborted.ts";
import { conversationOf } from "./address.ts";
import type { SlackApi } from "./api.ts";
import { connectionError } from "./errors.ts";
import { messageIn, type SlackMessage } from "./inbound.ts";
import { createMissed } from "./missed.ts";
import { createPositions } from "./positions.ts";
import { type Connection, type Envelope, openConnection } from "./socket.ts";
import { createTaking } from "./taking.ts";

export interface ReceivingDeps {
  readonly api: SlackApi;
  readonly ownerId: string | undefined;
  readonly logger: Logger;
  /** Whether anybody but the owner may be heard. */
  hearsOthers(): boolean;
  /** False where it is for no agent. Rejects where the message is to come again. `bot`: the bot's own id. */
  take(message: SlackMessage, bot: string, signal: AbortSignal): Promise<boolean>;
  /** It is to be taken after others. */
  notice(message: SlackMessage, bot: string): void;
  interact(payload: unknown): void;
}

/** Connections in a row over which nothing has come, though Slack asks for another one. */
const MOST_REPLACED = 3;

/** CHANNEL_CONNECTION_LOST, and errors of `take`. */
export function createReceiving(deps: ReceivingDeps): Receiver["receive"] {
  const { api, ownerId, logger, hearsOthers, interact } = deps;
  let bot = "";
  let report: () => void = () => undefined;
  let store: () => Promise<void> = async () => undefined;
  const positions = createPositions();
  const isRelevant = ({ user }: SlackMessage): boolean => user === ownerId || hearsOthers();
  /** Outlives a connection, and a failure of the store. */
  const taking = createTaking({
    take: (message, signal) => deps.take(message, bot, signal),
    notice: (message) => deps.notice(message, bot),
    async keep({ channel, thread, ts }, isTaken) {
      const conversation = conversationOf(channel, thread);
      // Strangers must not fill the positions with conversations of theirs.
      if (isTaken || positions.of(conversation) !== undefined) positions.advance(conversation, ts);
      if (isTaken) await store();
    },
    isHeld: (message) => missed.isHeld(message),
    progress: () => report(),
  });
  const missed = createMissed({ api, positions, logger, isRelevant });

  function receiveEnvelope({ type, payload, acknowledge }: Envelope): void {
    const message = type === "events_api" ? messageIn(payload) : undefined;
    if (message !== undefined && isRelevant(message)) {
      missed.heard(message);
      if (!taking.put(message, acknowledge)) missed.add(message);
      return;
    }
    // Slack waits three seconds, and shows a button as failed then.
    acknowledge();
    if (type === "interactive") interact(payload);
  }

  /** Until the signal aborts, or a connection breaks. */
  async function stayConnected(ending: AbortSignal, connections: Set<Connection>, ready: () => void): Promise<void> {
    let current: Connection | undefined;
    let replaced = 0;
    while (!ending.aborted) {
      const url = await api.socketUrl(ending);
      const next = await openConnection({ url, signal: ending, onEnvelope: receiveEnvelope });
      connections.add(next);
      void next.closed.then(() => connections.delete(next));
      current?.retire();
      const others = next.count - connections.size;
      if (others > 0)
        logger.warn({ others }, "other programs are connected with the app's token: they get a part of its messages");
      current = next;
      ready();
      await untilAborted(next.over, ending);
      replaced = next.hasWorked() ? 0 : replaced + 1;
      if (replaced > MOST_REPLACED) {
        throw new ChannelError("CHANNEL_CONNECTION_LOST", "Slack replaces each connection at once.");
      }
    }
  }

  async function receive({ signal, connected, position }: Reception, failing: AbortController): Promise<void> {
    const ending = AbortSignal.any([signal, failing.signal]);
    bot = await api.identity(ending);
    positions.merge(await untilAborted(position.read(), ending));
    store = () => position.keep(positions.toJSON());
    let isComplete = false;
    report = () => {
      if (isComplete && !ending.aborted) connected();
    };
    const opened = Promise.withResolvers<void>();
    /** What was missed is read once nothing more can be missed, and is taken before what has come meanwhile. */
    async function takeAll(): Promise<void> {
      await untilAborted(opened.promise, ending);
      missed.begin();
      while (!ending.aborted) {
        await missed.read(ending, taking.putMissed);
        taking.sort();
        isComplete = true;
        // What could not be taken before may fail again.
        if (taking.isIdle()) report();
        const pauseMs = missed.pauseMs();
        let isLate = false;
        const late = (): void => {
          isLate = true;
          taking.wake();
        };
        const timer = pauseMs === undefined ? undefined : setTimeout(late, pauseMs);
        // A conversation may have something to read before, since a message of it came.
        await taking.run(ending, () => isLate || missed.pauseMs() === 0).finally(() => clearTimeout(timer));
      }
    }
    const connections = new Set<Connection>();
    const work = [stayConnected(ending, connections, opened.resolve), takeAll()];
    try {
      await Promise.race(work);
    } finally {
      failing.abort();
      const isLeaseLost = codeOf(signal.reason) === "RUNTIME_LEASE_LOST";
      // One that is just being opened is among them then.
      await Promise.allSettled(work);
      await Promise.all([...connections].map((connection) => connection.close(isLeaseLost)));
    }
  }

  return async (reception) => {
    try {
      await receive(reception, new AbortController());
    } catch (error) {
      if (!reception.signal.aborted) throw connectionError(error);
    } finally {
      if (reception.signal.aborted) taking.drop();
    }
  };
}

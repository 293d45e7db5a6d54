/**
 * The owner's commands that do not wait for the files of a message before them: while some are fetched they are carried out at once, and
 * passed over in their turn. Which ones is kept with the position of the channel, so that the next receiver does not repeat them.
 */

import { LRUCache } from "lru-cache";
import type { Receiver, ReceptionPosition } from "../../contracts/channel.ts";
import type { Logger } from "../../contracts/ports.ts";
import { isRecord } from "../../contracts/values.ts";
import { isUrgent } from "../../domain/command-line.ts";
import type { ChatMessage } from "./chat-message.ts";

export interface AheadDeps {
  /** Rejects where the command is to come again. */
  carryOut(command: ChatMessage): Promise<void>;
  readonly logger: Logger;
}

export interface Ahead {
  /** A message waits to be taken: a command that may go first does, now or once files are fetched before it. */
  notice(message: ChatMessage): void;
  /** A command in its turn. Rejects as `carryOut`. */
  take(command: ChatMessage): Promise<void>;
  /** Files of a message are fetched until `work` has ended. */
  fetching<T>(work: () => Promise<T>): Promise<T>;
  /** With the receptions that commands are noticed in. */
  receiver(receive: Receiver["receive"]): Receiver["receive"];
}

/** Commands that are recognised when they come again. */
const MOST = 100;
/** In the position, beside what the channel keeps there; no conversation of any platform is named so. */
const KEY = "ahead";

export function createAhead({ carryOut, logger }: AheadDeps): Ahead {
  const waiting = new LRUCache<string, ChatMessage>({ max: MOST });
  /** Resolves to false where it is to be tried again in its turn. */
  const begun = new LRUCache<string, Promise<boolean>>({ max: MOST });
  /** Before their turn. */
  const done = new LRUCache<string, true>({ max: MOST });
  let signal = AbortSignal.abort();
  let keep: () => Promise<void> = async () => undefined;
  let held = 0;
  /** One after the other. */
  let last: Promise<void> = Promise.resolve();

  function begin(key: string, command: ChatMessage): void {
    waiting.delete(key);
    const ending = signal;
    const work = last.then(async () => {
      if (ending.aborted) return false;
      try {
        await carryOut(command);
        return true;
      } catch (error) {
        logger.debug({ err: error }, "a command could not be carried out before its turn");
        return false;
      }
    });
    begun.set(key, work);
    last = work.then(async (isDone) => {
      if (!isDone) return void begun.delete(key);
      done.set(key, true);
      await keep().catch((error: unknown) => {
        logger.debug({ err: error }, "that a command was carried out could not be stored");
      });
    });
  }

  /** Keeps there what was done, too; one write after the other, so that no older one is the last. */
  function extended(position: ReceptionPosition): ReceptionPosition {
    let own: unknown;
    let written: Promise<unknown> = Promise.resolve();
    keep = () => {
      const writing = written
        .catch(() => undefined)
        .then(() => position.keep(done.size === 0 ? own : { ...(isRecord(own) ? own : {}), [KEY]: [...done.rkeys()] }));
      written = writing;
      return writing;
    };
    const write = keep;
    return {
      async read() {
        const stored = await position.read();
        const { [KEY]: keys, ...rest } = isRecord(stored) ? stored : {};
        for (const key of Array.isArray(keys) ? keys : []) if (typeof key === "string") done.set(key, true);
        own = isRecord(stored) ? rest : stored;
        return own;
      },
      keep(value) {
        own = value;
        return write();
      },
    };
  }

  return {
    notice(message) {
      const key = keyOf(message);
      if (!mayGoFirst(message) || done.has(key) || begun.has(key)) return;
      if (held > 0) begin(key, message);
      else waiting.set(key, message);
    },
    async take(command) {
      const key = keyOf(command);
      waiting.delete(key);
      const former = begun.get(key);
      if (done.has(key) || (former !== undefined && (await former))) return;
      const work = carryOut(command);
      if (mayGoFirst(command)) {
        // The platform may bring it again before it is confirmed.
        const ended = work.then(
          () => true,
          () => false,
        );
        begun.set(key, ended);
        if (!(await ended)) begun.delete(key);
      }
      await work;
    },
    async fetching(work) {
      held++;
      try {
        for (const [key, command] of [...waiting.entries()].toReversed()) begin(key, command);
        return await work();
      } finally {
        held--;
      }
    },
    receiver: (receive) => (reception) => {
      // What was not taken comes again.
      waiting.clear();
      signal = reception.signal;
      return receive({ ...reception, position: extended(reception.position) });
    },
  };
}

function mayGoFirst({ isOwner, isCommand, text }: ChatMessage): boolean {
  return isOwner && isCommand && isUrgent(text);
}

function keyOf({ conversation, id }: ChatMessage): string {
  return `${conversation}:${id}`;
}

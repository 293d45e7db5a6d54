/**
 * Answers of the service's own on a chat platform: to commands, to what is refused, and codes for strangers. They are sent behind the
 * receiving, and again while the platform cannot be reached or asks for a pause, for a minute.
 */

import type { EditResult, KeepSent } from "../../contracts/channel.ts";
import type { CairnError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import { withRetries } from "./retries.ts";

export interface Answer {
  readonly conversation: string;
  /** Who is answered. */
  readonly user: string;
  readonly isOwner: boolean;
  /** Of the message that it answers. */
  readonly replyTo: string;
  readonly text: string;
  /** It was not sent, and will not be. */
  lost?(): Promise<void>;
}

export interface Answers {
  put(answer: Answer): void;
  /** What waits is lost. */
  stop(): void;
}

export interface AnswersDeps {
  readonly logger: Logger;
  /**
   * Sends a text of the service's own, as an answer to a message. `sent`, `keep`: as in `Channel.send`, so that a text of several messages
   * goes on with the rest.
   */
  say(conversation: string, text: string, replyTo: string, sent: EditResult | null, keep: KeepSent): Promise<unknown>;
  /** What may be logged of a failure of `say`. One that is retryable is followed by another attempt. */
  failureOf(error: unknown): CairnError;
}

/** Of an answer, from when it was to be sent. */
const LASTS_MS = 60_000;
/** That wait for one person in one conversation, so that nobody fills the memory; and people beside the owner whom they wait for. */
const MOST_OF_OWNER = 100;
const MOST_OF_ONE = 10;
const MOST_OTHERS = 20;

interface Queue {
  readonly isOwner: boolean;
  count: number;
  work: Promise<void>;
}

export function createAnswers({ logger, say, failureOf }: AnswersDeps): Answers {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** One person's come one after the other: the pauses of others do not delay them. */
  const queues = new Map<string, Queue>();

  async function lose({ lost }: Answer, reason: string): Promise<void> {
    logger.warn({ reason }, "an answer could not be sent");
    await lost?.().catch((err: unknown) => logger.warn({ err }, "that an answer could not be sent was not stored"));
  }

  async function send(answer: Answer, endsAt: number): Promise<void> {
    const { conversation, text, replyTo } = answer;
    let sent: EditResult | null = null;
    const keep: KeepSent = async (parts) => {
      sent = parts;
    };
    const attempt = () => say(conversation, text, replyTo, sent, keep);
    await withRetries(attempt, { endsAt, signal, failureOf }).catch(({ message }: CairnError) => lose(answer, message));
  }

  return {
    put(answer) {
      const { conversation, user, isOwner } = answer;
      const key = `${conversation} ${user}`;
      const queue = queues.get(key) ?? { isOwner, count: 0, work: Promise.resolve() };
      const others = queues.values().reduce((sum, one) => sum + (one.isOwner ? 0 : 1), 0);
      const isFull = queue.count === 0 ? !isOwner && others >= MOST_OTHERS : queue.count >= mostOf(isOwner);
      if (isFull || signal.aborted) {
        void lose(answer, "too many answers wait");
        return;
      }
      queues.set(key, queue);
      queue.count++;
      const endsAt = performance.now() + LASTS_MS;
      queue.work = queue.work
        .then(() => send(answer, endsAt))
        .finally(() => {
          if (--queue.count === 0) queues.delete(key);
        });
    },
    stop: () => stopping.abort(),
  };
}

function mostOf(isOwner: boolean): number {
  return isOwner ? MOST_OF_OWNER : MOST_OF_ONE;
}

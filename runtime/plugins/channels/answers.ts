/**
 * Answers of the service's own on a chat platform: to commands, to what is refused, and codes for strangers. They are sent behind the
 * receiving, and again while the platform cannot be reached or asks for a pause, for a minute.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { CairnError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";

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
  /** Sends a text of the service's own, as an answer to a message. */
  say(conversation: string, text: string, replyTo: string): Promise<void>;
  /** What may be logged of a failure of `say`. One that is retryable is followed by another attempt. */
  failureOf(error: unknown): CairnError;
}

/** Of an answer, from when it was to be sent. */
const LASTS_MS = 60_000;
/** Milliseconds before the second attempt; each further pause is twice as long, up to the most. */
const PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 10_000;
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
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
      try {
        return await say(answer.conversation, answer.text, answer.replyTo);
      } catch (error) {
        const { retryable, message, details } = failureOf(error);
        const waitMs = Math.max(pauseMs, (details.retryAfterS ?? 0) * 1_000);
        if (!retryable || performance.now() + waitMs > endsAt) return lose(answer, message);
        await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return lose(answer, message);
      }
    }
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

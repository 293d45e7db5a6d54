/** A node around a chat platform's channel: its handlers, and its receiving until the test ends. */

import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Channel, CommandReply, CommandRequest, InboundMessage } from "../../runtime/contracts/channel.ts";
import { CairnError, MemoryError } from "../../runtime/contracts/errors.ts";
import { until } from "./eventually.ts";

/** Starts the channel; what its handlers are given is kept. */
export async function started(channel: Channel) {
  const accepted: InboundMessage[] = [];
  const commands: CommandRequest[] = [];
  const handlers = {
    message: async (_message: InboundMessage): Promise<void> => undefined,
    command: async (_command: CommandRequest): Promise<CommandReply> => ({ text: "done" }),
  };
  channel.onMessage(async (message) => {
    await handlers.message(message);
    accepted.push(message);
    return { turnId: `t${accepted.length}`, agent: "main", fresh: true };
  });
  channel.onCommand(async (command) => {
    commands.push(command);
    return handlers.command(command);
  });
  await channel.start();
  onTestFinished(() => channel.stop());
  return { accepted, commands, handlers };
}

/** What nodes share. */
export interface Stored {
  position?: unknown;
  fails?: boolean;
}

/** Receives until it is ended; `failed` is why it has ended by itself. */
export function receiving(channel: Channel, stored: Stored = {}) {
  const ending = new AbortController();
  const states: (string | undefined)[] = [];
  const received = channel.receiver?.receive({
    signal: ending.signal,
    connected: (reason) => states.push(reason),
    position: {
      read: async () => stored.position,
      async keep(position) {
        if (stored.fails) await unavailable();
        stored.position = structuredClone(position);
      },
    },
  });
  const failed = (received ?? Promise.resolve()).then(
    () => null,
    (error: unknown) => error as Error,
  );
  const end = async (reason?: Error): Promise<void> => {
    ending.abort(reason);
    await failed;
  };
  onTestFinished(() => end());
  const up = () => until(() => states.length > 0);
  return { states, failed, end, up };
}

/** As a node does it: again and again until the test ends. */
export function always(channel: Channel, stored: Stored = {}) {
  const failures: Error[] = [];
  let current = receiving(channel, stored);
  let isOver = false;
  const loop = async (): Promise<void> => {
    while (!isOver) {
      const failure = await current.failed;
      if (failure === null || isOver) return;
      failures.push(failure);
      await sleep(Math.max(10, (failure instanceof CairnError ? (failure.details.retryAfterS ?? 0) : 0) * 1_000));
      current = receiving(channel, stored);
    }
  };
  const looped = loop();
  const end = async (): Promise<void> => {
    isOver = true;
    await current.end();
    await looped;
  };
  onTestFinished(end);
  return { failures, end, up: () => until(() => current.states.length > 0) };
}

export async function unavailable(): Promise<void> {
  throw new MemoryError("MEMORY_UNAVAILABLE", "The database cannot be reached.");
}

/**
 * Asks for updates one long poll after the other. An update is confirmed by the next request, once it was taken: where that fails it
 * comes again, to this receiver or the next one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Api, GrammyError } from "grammy";
import type { Update } from "grammy/types";
import type { Receiver } from "../../../contracts/channel.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { COMMAND_USAGE } from "../../../domain/command-line.ts";
import { connectionError } from "./errors.ts";
import { given } from "./signal.ts";

/** Seconds of a long poll. */
export const POLL_S = 30;
/** Milliseconds for the confirmation of what was taken, at the end. */
const GOODBYE_MS = 2_000;
const ALLOWED = ["message"] as const satisfies readonly (keyof Update)[];

/** Rejects where the update is to come again, at once when the signal aborts. `username`: the bot's. */
export type TakeUpdate = (update: Update, username: string, signal: AbortSignal) => Promise<void>;

export interface PollingDeps {
  readonly api: Api;
  readonly take: TakeUpdate;
  readonly logger: Logger;
}

/** CHANNEL_CONNECTION_LOST, and errors of `take`. */
export function createPolling({ api, take, logger }: PollingDeps): Receiver["receive"] {
  /** First update that is not confirmed by what was taken here; 0: all is. It outlives a connection that was lost before that. */
  let offset = 0;

  /** Once what was taken is confirmed no offset is asked for: after a week without messages Telegram counts from any number. */
  async function poll(timeout: number, signal: AbortSignal): Promise<readonly Update[]> {
    const updates = await api.getUpdates({ offset, timeout, allowed_updates: ALLOWED }, given(signal));
    offset = 0;
    return updates;
  }

  async function takeAll(updates: readonly Update[], username: string, signal: AbortSignal): Promise<void> {
    for (const update of updates) {
      if (signal.aborted) return;
      await take(update, username, signal);
      offset = update.update_id + 1;
    }
  }

  return async ({ signal, connected }) => {
    try {
      const { username } = await api.getMe(given(signal));
      let updates = await poll(0, signal);
      const lacking = await listCommands(api, signal, logger);
      connected(lacking);
      while (!signal.aborted) {
        await takeAll(updates, username, signal);
        if (signal.aborted) break;
        updates = await poll(POLL_S, signal).catch((error: unknown) => afterPause(error, signal));
        if (!signal.aborted) connected(lacking);
      }
    } catch (error) {
      if (!signal.aborted) throw connectionError(error);
    } finally {
      // Others would get again what was taken here.
      if (offset > 0) await confirm();
    }
  };

  async function confirm(): Promise<void> {
    try {
      await api.getUpdates({ offset, timeout: 0, limit: 1 }, given(AbortSignal.timeout(GOODBYE_MS)));
      offset = 0;
    } catch (error) {
      logger.debug({ reason: connectionError(error).message }, "what was taken could not be confirmed");
    }
  }
}

/** Where Telegram asks for a pause it is kept. */
async function afterPause(error: unknown, signal: AbortSignal): Promise<readonly Update[]> {
  const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined;
  if (seconds === undefined) throw error;
  await sleep(seconds * 1_000, undefined, { signal });
  return [];
}

/** For the menu of Telegram's clients. Why it could not be done; undefined: it is. */
async function listCommands(api: Api, signal: AbortSignal, logger: Logger): Promise<string | undefined> {
  const commands = Object.entries(COMMAND_USAGE).map(([command, usage]) => ({
    command,
    description: usage.slice(usage.indexOf(" - ") + 3),
  }));
  try {
    await api.setMyCommands(commands, {}, given(signal));
    return undefined;
  } catch (error) {
    const { message } = connectionError(error);
    logger.warn({ reason: message }, "the menu of commands could not be set");
    return `the menu of commands could not be set: ${message}`;
  }
}

/**
 * Asks for updates one long poll after the other. An update is confirmed by the next request, once it was taken: where that fails it
 * comes again, to this receiver or the next one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Api, GrammyError } from "grammy";
import type { Update } from "grammy/types";
import type { Receiver } from "../../../contracts/channel.ts";
import { ChannelError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { COMMAND_USAGE } from "../../../domain/command-line.ts";
import { untilAborted } from "../until-aborted.ts";
import { connectionError } from "./errors.ts";
import { given } from "./signal.ts";
import { numberOf } from "./updates.ts";

/** Seconds of a long poll. */
export const POLL_S = 30;
/**
 * Milliseconds after which a poll that is open counts as one that receives, unless another program polls, too; and in which the menu is not
 * tried again.
 */
const OPEN_MS = 500;
const MENU_MS = 60_000;
/** Milliseconds for which what was taken is known here. */
const OFFSET_MS = 3_600_000;
/** Between two requests for what comes behind an update that is being taken. */
const BEHIND_MS = 1_000;
/** Milliseconds for the confirmation of what was taken, at the end. */
const GOODBYE_MS = 2_000;
export const ALLOWED = ["message"] as const satisfies readonly (keyof Update)[];

/** Rejects where the update is to come again, at once when the signal aborts. `username`: the bot's. */
export type TakeUpdate = (update: unknown, username: string, signal: AbortSignal) => Promise<void>;

export interface PollingDeps {
  readonly api: Api;
  readonly take: TakeUpdate;
  /** An update is to be taken after others, and may be read more than once until then. */
  notice(update: unknown, username: string): void;
  /** The end of the address of a webhook that is this channel's own, from a former configuration. */
  readonly ownWebhook: string;
  readonly logger: Logger;
}

/** CHANNEL_CONNECTION_LOST, and errors of `take`. */
export function createPolling({ api, take, notice, ownWebhook, logger }: PollingDeps): Receiver["receive"] {
  /**
   * First update that is not confirmed by what was taken here; 0: all is. It outlives a connection that was lost before that, so that
   * no command runs twice, and not for long: after a week without messages Telegram counts from any number.
   */
  let offset = 0;
  let takenAt = 0;
  /** Milliseconds for which polls have lasted since another program ended one. */
  let undisturbedMs = Number.POSITIVE_INFINITY;
  const menu = createMenu(api, logger);

  async function poll(timeout: number, signal: AbortSignal): Promise<readonly unknown[]> {
    const updates = await api.getUpdates({ offset, timeout, allowed_updates: ALLOWED }, given(signal));
    offset = 0;
    return updates;
  }

  /** While an update is being taken, such as one whose file is fetched. It is the first of each request, which confirms nothing so. */
  async function readBehind(number: number, username: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(BEHIND_MS, undefined, { signal });
        const more = { offset: number, timeout: 0, allowed_updates: ALLOWED };
        for (const update of await api.getUpdates(more, given(signal))) notice(update, username);
      } catch (error) {
        // What is wrong the next poll says.
        await afterPause(error, signal).catch(() => undefined);
      }
    }
  }

  /** What is not taken yet when the signal aborts comes again; if it is taken all the same, the inbox knows it then. */
  async function takeAll(updates: readonly unknown[], username: string, signal: AbortSignal): Promise<void> {
    if (updates.length > 0 && updates.every((update) => numberOf(update) === undefined)) {
      throw new ChannelError("CHANNEL_CONNECTION_LOST", "What answers is not Telegram.");
    }
    for (const update of updates) notice(update, username);
    for (const update of updates) {
      const number = numberOf(update);
      // It goes with the one behind it.
      if (number === undefined) continue;
      const taken = take(update, username, signal);
      const over = new AbortController();
      const reading = readBehind(number, username, AbortSignal.any([signal, over.signal]));
      await untilAborted(taken, signal).finally(() => {
        over.abort();
        return reading;
      });
      if (signal.aborted) return;
      offset = number + 1;
      takenAt = performance.now();
    }
  }

  return async ({ signal, connected, position }) => {
    if (performance.now() - takenAt > OFFSET_MS) offset = 0;
    try {
      await untilAborted(position.read(), signal);
      const { username } = await api.getMe(given(signal));
      const { url } = await api.getWebhookInfo(given(signal));
      if (url?.endsWith(ownWebhook)) await api.deleteWebhook({}, given(signal));
      let updates = await poll(0, signal);
      while (!signal.aborted) {
        await takeAll(updates, username, signal);
        if (signal.aborted) break;
        const lacking = await menu.set(signal);
        // A poll ends that of another program, whose next one ends ours: until a whole one has lasted, both get a part of the messages.
        const report = (): void => {
          if (undisturbedMs >= POLL_S * 1_000) connected(lacking);
        };
        const opened = setTimeout(report, OPEN_MS);
        const from = performance.now();
        try {
          updates = await poll(POLL_S, signal);
          undisturbedMs += performance.now() - from;
          report();
        } catch (error) {
          updates = await afterPause(error, signal);
        } finally {
          clearTimeout(opened);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const failure = connectionError(error);
      if (failure.details.overlap) undisturbedMs = 0;
      throw failure;
    } finally {
      // Others would get again what was taken here.
      if (offset > 0 && codeOf(signal.reason) !== "RUNTIME_LEASE_LOST") await confirm();
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
async function afterPause(error: unknown, signal: AbortSignal): Promise<readonly unknown[]> {
  const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined;
  if (seconds === undefined) throw error;
  await sleep(seconds * 1_000, undefined, { signal });
  return [];
}

export interface Menu {
  /** Why it could not be set; undefined: it is. */
  set(signal: AbortSignal): Promise<string | undefined>;
}

/** Of commands, in Telegram's clients: set once, and tried again now and then where that failed. */
export function createMenu(api: Api, logger: Logger): Menu {
  const commands = Object.entries(COMMAND_USAGE).map(([command, usage]) => ({
    command,
    description: usage.slice(usage.indexOf(" - ") + 3),
  }));
  let lacking: string | undefined = "the menu of commands is not set yet";
  let dueAt = 0;
  return {
    async set(signal) {
      if (lacking === undefined || performance.now() < dueAt) return lacking;
      dueAt = performance.now() + MENU_MS;
      try {
        await api.setMyCommands(commands, {}, given(signal));
        lacking = undefined;
      } catch (error) {
        const { message } = connectionError(error);
        logger.warn({ reason: message }, "the menu of commands could not be set");
        lacking = `the menu of commands could not be set: ${message}`;
      }
      return lacking;
    },
  };
}

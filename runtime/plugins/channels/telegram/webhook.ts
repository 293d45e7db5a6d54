/**
 * Updates that Telegram posts to a node. One node of the database keeps the webhook set; any may be given its requests, as the inbox knows
 * what comes twice. An update is acknowledged once it was taken: what is refused, Telegram posts again.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Api } from "grammy";
import type { Receiver, Webhook } from "../../../contracts/channel.ts";
import { toCairnError } from "../../../contracts/errors.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { connectionError } from "./errors.ts";
import { ALLOWED, createMenu, type TakeUpdate } from "./polling.ts";
import { given } from "./signal.ts";
import { numberOf } from "./updates.ts";

export interface WebhookDeps {
  readonly api: Api;
  readonly token: string;
  /** Whole, as Telegram is to call it. */
  readonly url: string;
  readonly take: TakeUpdate;
  /** Of the channel's end. */
  readonly stopping: AbortSignal;
  readonly logger: Logger;
}

const SECRET_HEADER = "x-telegram-bot-api-secret-token";
/** Milliseconds after which Telegram is asked again about its deliveries, and seconds for which a failure of them is reported. */
const CHECK_MS = 30_000;
const RECENT_S = 90;

/** What Telegram shows with each request: of the token, so that all nodes have the same one, and it gives nothing of it away. */
export function secretOf(token: string): string {
  return createHmac("sha256", token).update("webhook").digest("hex");
}

export function createWebhook(deps: WebhookDeps): { readonly webhook: Webhook; readonly receive: Receiver["receive"] } {
  const { api, url, take, stopping, logger } = deps;
  const secret = secretOf(deps.token);
  const menu = createMenu(api, logger);
  let username: Promise<string> | undefined;

  /** Asked once: a node that only takes requests needs it, too. */
  function name(): Promise<string> {
    username ??= api
      .getMe(given(stopping))
      .then((me) => me.username)
      .catch((error: unknown) => {
        username = undefined;
        throw connectionError(error);
      });
    return username;
  }

  return {
    webhook: {
      isAuthentic: (headers) => isSecret(headers[SECRET_HEADER], secret),
      async handle({ body }) {
        // What is none would be none again.
        if (numberOf(body) === undefined) return { status: 200 };
        try {
          await take(body, await name(), stopping);
          return { status: 200 };
        } catch (error) {
          logger.warn({ reason: toCairnError(error).message }, "an update could not be taken: it comes again");
          return { status: 503 };
        }
      },
    },
    async receive({ signal, connected }) {
      try {
        await name();
        // Once at the beginning, whatever is there: which secret Telegram shows it does not say.
        let isSet = false;
        while (!signal.aborted) {
          const info = await api.getWebhookInfo(given(signal));
          // One at a time: of two at once the later one could be first.
          if (!isSet || info.url !== url || info.max_connections !== 1) {
            const more = { secret_token: secret, allowed_updates: ALLOWED, max_connections: 1 };
            await api.setWebhook(url, more, given(signal));
            isSet = true;
          }
          const lacking = await menu.set(signal);
          const { last_error_date: failedAt = 0, last_error_message: problem } = info;
          const isFailing = info.url === url && Date.now() / 1_000 - failedAt < RECENT_S;
          connected(isFailing ? `Telegram cannot deliver to ${url}: ${problem}` : lacking);
          await pause(CHECK_MS, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw connectionError(error);
      }
    },
  };
}

/** Ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  const end = (): void => over.resolve();
  signal.addEventListener("abort", end, { once: true });
  await over.promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
}

function isSecret(shown: string | undefined, secret: string): boolean {
  const [a, b] = [Buffer.from(shown ?? ""), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

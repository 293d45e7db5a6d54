/** Deliveries to the webhook of a bot: one after the other as with `max_connections: 1`, and again where they are not acknowledged. */

import { setTimeout as sleep } from "node:timers/promises";
import { type BotState, Refusal } from "./bot.ts";

export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const AGAIN_MS = 20;

export function setWebhook(bot: BotState, body: Readonly<Record<string, unknown>>): true {
  const url = String(body["url"] ?? "");
  if (url !== "" && !/^https:\/\/[^/]+(?::(?:443|80|88|8443))?\//.test(url)) {
    throw new Refusal(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
  }
  const secret = body["secret_token"];
  if (secret !== undefined && !/^[\w-]{1,256}$/.test(String(secret))) {
    throw new Refusal(400, "Bad Request: secret token contains unallowed characters");
  }
  const isSame = bot.webhook === url;
  bot.webhook = url;
  bot.webhookSecret = secret === undefined ? "" : String(secret);
  bot.webhookConnections = Number(body["max_connections"] ?? 40);
  // Its deliveries go on.
  if (!isSame) void deliver(bot);
  return true;
}

export function webhookInfo(bot: BotState): object {
  const { webhook: url, webhookConnections, webhookError, updates } = bot;
  return {
    url,
    has_custom_certificate: false,
    pending_update_count: updates.length,
    ...(url === "" ? {} : { max_connections: webhookConnections }),
    ...(webhookError === null ? {} : { last_error_date: webhookError.at, last_error_message: webhookError.message }),
  };
}

/** Posts what there is until the webhook is another one. */
async function deliver(bot: BotState): Promise<void> {
  const { webhook: url } = bot;
  while (url !== "" && bot.webhook === url && bot.post !== undefined) {
    const [update] = bot.updates;
    if (update === undefined) {
      await bot.changed(AGAIN_MS, new AbortController().signal);
      continue;
    }
    const headers = { "x-telegram-bot-api-secret-token": bot.webhookSecret };
    const status = await bot.post({ url, headers, body: structuredClone(update) });
    if (status === 200) {
      bot.confirmed.push(update.update_id);
      bot.updates.shift();
      continue;
    }
    const message = `Wrong response from the webhook: ${status}`;
    bot.webhookError = { at: Math.floor(Date.now() / 1_000), message };
    await sleep(AGAIN_MS);
  }
}

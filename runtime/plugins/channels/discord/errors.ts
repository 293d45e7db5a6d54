/** Failures of Discord in sentences for operators. The library's errors hold requests, with texts and addresses: nothing of them but codes and the platform's words gets out. */

import { DiscordAPIError, HTTPError } from "@discordjs/rest";
import { CairnError, ChannelError } from "../../../contracts/errors.ts";
import { causeCodeOf } from "../../../contracts/system-errors.ts";
import { NOT_CONNECTED } from "../parts.ts";

export const TOKEN_REFUSED =
  "Discord refuses the bot's token: it was reset, or is mistyped. The developer portal gives a new one (Bot, Reset Token).";
export const INTENT_REFUSED =
  "Discord refuses the bot the text of messages: switch on Message Content Intent in the developer portal (Bot, Privileged Gateway Intents).";

/** CHANNEL_CONNECTION_LOST; errors of the service's own are unchanged. */
export function connectionError(error: unknown): CairnError {
  if (error instanceof CairnError) return error;
  const details = isNotTaken(error) ? { notTaken: true as const } : {};
  return new ChannelError("CHANNEL_CONNECTION_LOST", sentenceOf(error), details);
}

/** CHANNEL_REFUSED where Discord does not take this message in this conversation; else as `connectionError`. */
export function sendingError(error: unknown): CairnError {
  if (!isRefused(error)) return connectionError(error);
  return new ChannelError("CHANNEL_REFUSED", sentenceOf(error), { notTaken: true });
}

function isNotTaken(error: unknown): boolean {
  if (error instanceof DiscordAPIError) return error.status < 500;
  return !(error instanceof HTTPError) && NOT_CONNECTED.has(causeCodeOf(error) ?? "");
}

/** No answer came, and Discord may have taken the request. */
export function isUnheard(error: unknown): boolean {
  return !(error instanceof HTTPError || error instanceof CairnError || isNotTaken(error));
}

/** The channel is gone, the bot may not write there, the file is too large: the same call would be refused again. */
export function isRefused(error: unknown): error is DiscordAPIError {
  return error instanceof DiscordAPIError && [400, 403, 404, 413].includes(error.status);
}

/** `code` is Discord's own (JSON error codes): 10008 is an unknown message. */
export function hasCode(error: unknown, code: number): boolean {
  return error instanceof DiscordAPIError && error.code === code;
}

/** Discord's words for a refusal, on one line. */
export function refusalOf({ message, status, code }: DiscordAPIError): string {
  const words = (message || "no reason given").replaceAll(/\s+/g, " ");
  return `Discord answers ${status}: ${words} (${code}).`;
}

function sentenceOf(error: unknown): string {
  if (error instanceof DiscordAPIError) return error.status === 401 ? TOKEN_REFUSED : refusalOf(error);
  if (error instanceof HTTPError) return `Discord answers ${error.status}.`;
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")) {
    return "Discord does not answer in time.";
  }
  const why = causeCodeOf(error);
  return why === undefined
    ? "Discord cannot be reached, or what answers is not Discord."
    : `Discord cannot be reached (${why}).`;
}

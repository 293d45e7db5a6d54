/** Failures of the Bot API in sentences for operators. The library's errors hold addresses with the token: nothing of them but codes and the platform's words gets out. */

import { GrammyError, HttpError } from "grammy";
import { CairnError, ChannelError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { NOT_CONNECTED } from "../parts.ts";

/** CHANNEL_CONNECTION_LOST, with the pause that Telegram asks for, and whether another program receives; errors of the service's own are left as they are. */
export function connectionError(error: unknown): CairnError {
  if (error instanceof CairnError) return error;
  const retryAfterS = error instanceof GrammyError ? error.parameters.retry_after : undefined;
  return new ChannelError("CHANNEL_CONNECTION_LOST", sentenceOf(error), {
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    ...(isNotTaken(error) ? { notTaken: true } : {}),
    ...(isOverlap(error) ? { overlap: true } : {}),
  });
}

/** CHANNEL_REFUSED where Telegram does not take this message in this chat; else as `connectionError`. */
export function sendingError(error: unknown): CairnError {
  if (!isRefused(error)) return connectionError(error);
  return new ChannelError("CHANNEL_REFUSED", sentenceOf(error), { notTaken: true });
}

function isNotTaken(error: unknown): boolean {
  if (error instanceof GrammyError) return error.error_code < 500;
  return error instanceof HttpError && NOT_CONNECTED.has(codeOf(error.error) ?? "");
}

/** The bot was blocked, the chat is gone, the file is too large: the same call would be refused again. */
export function isRefused(error: unknown): error is GrammyError {
  return error instanceof GrammyError && [400, 403, 413].includes(error.error_code);
}

/** Of a group that became a supergroup: what is sent to its former number is refused with it. */
export function newNumberOf(error: unknown): number | undefined {
  return error instanceof GrammyError ? error.parameters.migrate_to_chat_id : undefined;
}

/** Also refused are polls while a webhook is set. */
function isOverlap(error: unknown): boolean {
  return error instanceof GrammyError && error.error_code === 409 && !error.description.includes("webhook");
}

function sentenceOf(error: unknown): string {
  if (error instanceof GrammyError) return refusalOf(error);
  if (!(error instanceof HttpError)) return "Telegram cannot be asked.";
  const why = codeOf(error.error);
  return why === undefined
    ? "Telegram cannot be reached, or what answers is not Telegram."
    : `Telegram cannot be reached (${why}).`;
}

function refusalOf(error: GrammyError): string {
  const { error_code: code, description } = error;
  if (code === 401 || (code === 404 && description === "Not Found")) {
    return "Telegram refuses the bot's token: it was revoked, or is mistyped. @BotFather shows the present one (/token).";
  }
  if (isOverlap(error)) {
    return "Another program receives this bot's messages, which only one may. End it, or give the node a bot of its own.";
  }
  if (code === 409) {
    return "A webhook is set for this bot, so that its messages go there. Remove it with the method deleteWebhook of the Bot API.";
  }
  return `Telegram answers ${code}: ${description}.`;
}

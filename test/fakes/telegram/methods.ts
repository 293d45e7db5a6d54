/** The methods of the Bot API that a bot of ours calls, with their refusals in the platform's words. */

import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type BotCall, type BotState, Refusal, type SentMessage, tooMany } from "./bot.ts";
import { checkedEntities } from "./entities.ts";
import { setWebhook, webhookInfo } from "./webhook.ts";

type Method = (bot: BotState, call: BotCall) => unknown;

const MOST_TEXT = 4_096;
/** Edits of one message within so many milliseconds; the platform says a message a second, and bears short bursts. */
const MOST_EDITS = 8;
const EDITS_MS = 5_000;
/** What bots may react with; a part of the platform's list. */
const EMOJI = new Set(["👍", "👎", "❤", "🔥", "👀", "🎉", "🤔", "😢", "👌", "✍"]);
const ACTIONS = new Set(["typing", "upload_photo", "upload_document", "record_voice", "upload_voice"]);

/** By their names in small letters: the platform does not tell them apart. */
export const methods: Readonly<Record<string, Method>> = {
  getme: ({ me }) => ({
    ...me,
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
  }),
  getupdates: getUpdates,
  getwebhookinfo: (bot) => webhookInfo(bot),
  setwebhook: (bot, { body }) => setWebhook(bot, body),
  deletewebhook(bot) {
    bot.webhook = "";
    return true;
  },
  setmycommands(bot, { body }) {
    bot.commands = JSON.parse(JSON.stringify(body["commands"]));
    for (const { command, description } of bot.commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(command)) throw new Refusal(400, "Bad Request: BOT_COMMAND_INVALID");
      if (description.length < 1 || description.length > 256) {
        throw new Refusal(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID");
      }
    }
    return true;
  },
  sendmessage: (bot, { body }) => shown(bot, put(bot, body, checkedText(body))),
  senddocument: (bot, { body }) => shown(bot, putFile(bot, "sendDocument", body, body["document"])),
  sendphoto: (bot, { body }) => shown(bot, putFile(bot, "sendPhoto", body, body["photo"])),
  editmessagetext(bot, { body }) {
    const message = found(bot, body, "edit");
    const { text, entities } = checkedText(body);
    if (text === message.text && isDeepStrictEqual(entities, message.entities)) {
      throw new Refusal(
        400,
        "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
      );
    }
    const now = performance.now();
    message.editedAt.splice(
      0,
      message.editedAt.findIndex((at) => now - at < EDITS_MS),
    );
    if (message.editedAt.length >= MOST_EDITS) throw tooMany(3);
    message.editedAt.push(now);
    Object.assign(message, { text, entities });
    message.edits++;
    return shown(bot, message);
  },
  deletemessage(bot, { body }) {
    found(bot, body, "delete").deleted = true;
    return true;
  },
  setmessagereaction(bot, { body }) {
    const reactions = body["reaction"] as readonly { readonly emoji: string }[];
    const bad = reactions.find(({ emoji }) => !EMOJI.has(emoji));
    if (bad) throw new Refusal(400, "Bad Request: REACTION_INVALID");
    const message = bot.sent.find(({ id }) => id === Number(body["message_id"]));
    const said = `${body["chat_id"]} ${body["message_id"]}`;
    if (!message && !bot.said.has(said)) throw new Refusal(400, "Bad Request: message to react not found");
    message?.reactions.splice(0, Number.POSITIVE_INFINITY, ...reactions.map(({ emoji }) => emoji));
    if (!message) bot.reactions.push(...reactions.map(({ emoji }) => `${said} ${emoji}`));
    return true;
  },
  sendchataction(bot, { body }) {
    if (!ACTIONS.has(String(body["action"]))) throw new Refusal(400, "Bad Request: wrong parameter action in request");
    bot.actions.push(`${chatOf(bot, body)} ${body["action"]}`);
    return true;
  },
  getfile(bot, { body }) {
    const file = bot.files.get(String(body["file_id"]));
    if (file === undefined) throw new Refusal(400, "Bad Request: invalid file_id");
    if ((file.size ?? 0) > 20 * 1024 ** 2) throw new Refusal(400, "Bad Request: file is too big");
    return { file_id: body["file_id"], file_unique_id: "u", file_path: file.path, file_size: file.size };
  },
};

/**
 * A poll that waits ends the one that is open, and one that is answered at once ends none (tdlib/telegram-bot-api, `do_get_updates`). Open
 * is one whose client has not closed it.
 */
async function getUpdates(bot: BotState, { body, signal }: BotCall): Promise<unknown> {
  if (bot.webhook !== "") {
    throw new Refusal(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    );
  }
  await ended(bot);
  const offset = Number(body["offset"] ?? 0);
  while (bot.updates[0] !== undefined && bot.updates[0].update_id < offset) {
    bot.confirmed.push(bot.updates[0].update_id);
    bot.updates.shift();
  }
  bot.polls.most = Math.max(bot.polls.most, ++bot.polls.open);
  const waitMs = Number(body["timeout"] ?? 0) * 1_000;
  const over = new AbortController();
  const terminate = (): void => over.abort();
  try {
    if (waitMs > 0 && bot.updates.length === 0) {
      bot.terminate?.();
      bot.terminate = terminate;
    }
    await bot.changed(waitMs, AbortSignal.any([signal, over.signal]));
    if (over.signal.aborted) {
      bot.polls.terminated++;
      throw new Refusal(
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
      );
    }
    const allowed = body["allowed_updates"] as readonly string[] | undefined;
    const wanted = (update: object): boolean => allowed === undefined || allowed.some((kind) => kind in update);
    return bot.updates.filter(wanted).slice(0, Number(body["limit"] ?? 100));
  } finally {
    bot.polls.open--;
    if (bot.terminate === terminate) bot.terminate = undefined;
  }
}

/** A poll that was closed before the newcomer asked has ended when all that its sockets had received until then is read. */
async function ended({ polls }: BotState): Promise<void> {
  for (let turns = 0; turns < 3 && polls.open > 0; turns++) await setImmediate();
}

interface Text extends Pick<SentMessage, "text" | "entities"> {}

function checkedText({ text: value, entities }: BotCall["body"]): Text {
  const text = typeof value === "string" ? value : "";
  if (text.trim() === "") throw new Refusal(400, "Bad Request: message text is empty");
  if (text.length > MOST_TEXT) throw new Refusal(400, "Bad Request: message is too long");
  if (!text.isWellFormed()) throw new Refusal(400, "Bad Request: strings must be encoded in UTF-8");
  return { text, entities: checkedEntities(entities, text) };
}

function chatOf(bot: BotState, body: BotCall["body"]): number {
  const chat = Number(body["chat_id"]);
  const to = bot.moved.get(chat);
  if (to !== undefined) {
    const parameters = { migrate_to_chat_id: to };
    throw new Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", parameters);
  }
  if (!bot.chats.has(chat)) throw new Refusal(400, "Bad Request: chat not found");
  return chat;
}

function put(
  bot: BotState,
  body: BotCall["body"],
  { text, entities }: Text,
  files: SentMessage["files"] = [],
): SentMessage {
  const reply = body["reply_parameters"];
  const replyTo = (typeof reply === "string" ? JSON.parse(reply) : reply)?.message_id;
  const thread = body["message_thread_id"];
  const chat = chatOf(bot, body);
  const message = {
    id: bot.nextMessageIn(chat),
    chat,
    // The platform takes white space at the ends away.
    text: text.trim(),
    entities,
    ...(thread === undefined ? {} : { thread: Number(thread) }),
    ...(replyTo === undefined ? {} : { replyTo: Number(replyTo) }),
    files,
    reactions: [],
    edits: 0,
    editedAt: [],
    deleted: false,
  };
  bot.sent.push(message);
  return message;
}

function putFile(bot: BotState, method: string, body: BotCall["body"], value: unknown): SentMessage {
  // A file of the form, which `attach://NAME` points to.
  const given = typeof value === "string" ? body[value.replace("attach://", "")] : value;
  const { name, bytes } = (given ?? {}) as { readonly name?: string; readonly bytes?: Buffer };
  if (name === undefined || bytes === undefined)
    throw new Refusal(400, "Bad Request: there is no document in the request");
  if (bytes.length === 0) throw new Refusal(400, "Bad Request: file must be non-empty");
  return put(bot, body, { text: "", entities: [] }, [{ method, name, bytes }]);
}

function found(bot: BotState, body: BotCall["body"], verb: string): SentMessage {
  const at = chatOf(bot, body);
  const message = bot.sent.find(
    ({ id, chat, deleted }) => id === Number(body["message_id"]) && chat === at && !deleted,
  );
  if (message === undefined) throw new Refusal(400, `Bad Request: message to ${verb} not found`);
  return message;
}

function shown(bot: BotState, { id, chat, text }: SentMessage): object {
  const type = chat < 0 ? "supergroup" : "private";
  return { message_id: id, from: bot.me, chat: { id: chat, type }, date: Math.floor(Date.now() / 1_000), text };
}

/** The routes of the REST interface that a bot of ours calls, with their refusals in the platform's words and codes. */

import { type BotCall, type BotState, invalidForm, Refusal, type StoredChannel, type StoredMessage } from "./bot.ts";
import { publish } from "./sessions.ts";

type Route = (bot: BotState, call: BotCall, ids: readonly string[]) => unknown;

const MOST_TEXT = 2_000;
const MOST_FILE = 10 * 1024 ** 2;
/** What bots may react with; a part of the platform's list. */
const EMOJI = new Set(["👍", "👎", "❤️", "🔥", "👀", "🎉", "🤔"]);

export const routes: readonly (readonly [string, RegExp, Route])[] = [
  ["POST", /^\/users\/@me\/channels$/, openDirect],
  ["GET", /^\/channels\/(\d+)\/messages$/, history],
  ["POST", /^\/channels\/(\d+)\/messages$/, create],
  ["PATCH", /^\/channels\/(\d+)\/messages\/(\d+)$/, edit],
  ["DELETE", /^\/channels\/(\d+)\/messages\/(\d+)$/, remove],
  ["PUT", /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/, react],
  ["POST", /^\/channels\/(\d+)\/typing$/, (bot, _call, [id = ""]) => void bot.typing.push(channelOf(bot, id).id)],
  ["POST", /^\/interactions\/(\d+)\/([\w-]+)\/callback$/, respond],
  ["PATCH", /^\/webhooks\/(\d+)\/([\w-]+)\/messages\/@original$/, editResponse],
  ["GET", /^\/applications\/(\d+)\/commands$/, (bot) => bot.commands],
  ["PUT", /^\/applications\/(\d+)\/commands$/, setCommands],
];

/** As it is given out: what the fake keeps of it for tests is not in it. */
export function shown({ files, replyTo, reactions, edits, deleted, ...message }: StoredMessage): object {
  return {
    ...message,
    ...(replyTo === undefined ? {} : { message_reference: { message_id: replyTo } }),
    embeds: [],
    mentions: [],
    pinned: false,
    tts: false,
  };
}

export function directChannel(bot: BotState, user: string): StoredChannel {
  const id = String(400_000_000_000_000_000n + BigInt(user));
  const existing = bot.channels.get(id);
  if (existing) return existing;
  const channel: StoredChannel = { id, type: 1, messages: [], isClosed: false };
  bot.channels.set(id, channel);
  return channel;
}

function openDirect(bot: BotState, { body }: BotCall): unknown {
  const user = String(body["recipient_id"]);
  if (!/^\d{17,20}$/.test(user)) throw invalidForm("recipient_id", "NUMBER_TYPE_COERCE", "Value is not snowflake.");
  const { id, type, messages } = directChannel(bot, user);
  return { id, type, last_message_id: messages.at(-1)?.id ?? null };
}

function channelOf(bot: BotState, id: string): StoredChannel {
  const channel = bot.channels.get(id);
  if (channel === undefined) throw new Refusal(404, 10_003, "Unknown Channel");
  if (channel.isClosed) throw new Refusal(403, 50_001, "Missing Access");
  return channel;
}

function messageOf(bot: BotState, channel: string, id: string): StoredMessage {
  const message = channelOf(bot, channel).messages.find((one) => one.id === id && !one.deleted);
  if (message === undefined) throw new Refusal(404, 10_008, "Unknown Message");
  return message;
}

/** Of those after `after` the oldest, newest first. */
function history(bot: BotState, { query }: BotCall, [id = ""]: readonly string[]): unknown {
  const limit = Number(query.get("limit") ?? 50);
  if (!(limit >= 1 && limit <= 100)) {
    throw invalidForm("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.");
  }
  const after = BigInt(query.get("after") ?? 0);
  const found = channelOf(bot, id).messages.filter((message) => !message.deleted && BigInt(message.id) > after);
  return found.slice(0, limit).map(shown).reverse();
}

function create(bot: BotState, call: BotCall, [id = ""]: readonly string[]): unknown {
  const { body, files } = call;
  const channel = channelOf(bot, id);
  const content = checkedContent(body["content"] ?? "");
  if (content.trim() === "" && files.length === 0) throw new Refusal(400, 50_006, "Cannot send an empty message");
  if (files.length > 10) throw invalidForm("files", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  if (files.some(({ bytes }) => bytes.length > MOST_FILE)) throw new Refusal(413, 40_005, "Request entity too large");
  const nonce = body["nonce"] === undefined ? undefined : String(body["nonce"]);
  if ((nonce?.length ?? 0) > 25) throw invalidForm("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.");
  const isRecent = ({ timestamp }: StoredMessage): boolean => Date.now() - Date.parse(timestamp) < bot.nonceMs;
  const same = channel.messages.find((message) => nonce !== undefined && message.nonce === nonce && isRecent(message));
  if (same && body["enforce_nonce"] === true) return shown(same);
  const { message_id: replyTo, fail_if_not_exists: fails = true } = (body["message_reference"] ?? {}) as {
    readonly message_id?: string;
    readonly fail_if_not_exists?: boolean;
  };
  const isThere = channel.messages.some((message) => message.id === replyTo && !message.deleted);
  if (replyTo !== undefined && !isThere && fails) {
    throw invalidForm("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
  }
  const message: StoredMessage = {
    id: bot.newId(),
    channel_id: id,
    author: bot.me,
    // The platform takes white space at the ends away.
    content: content.trim(),
    timestamp: new Date().toISOString(),
    type: isThere ? 19 : 0,
    attachments: [],
    files,
    ...(isThere && replyTo !== undefined ? { replyTo } : {}),
    ...(nonce === undefined ? {} : { nonce }),
    components: checkedComponents(body["components"]),
    reactions: [],
    edits: 0,
    deleted: false,
  };
  channel.messages.push(message);
  publish(bot, "MESSAGE_CREATE", shown(message), channel.type === 1);
  return shown(message);
}

function edit(bot: BotState, { body }: BotCall, [channel = "", id = ""]: readonly string[]): unknown {
  const message = messageOf(bot, channel, id);
  if (message.author.id !== bot.me.id) {
    throw new Refusal(403, 50_005, "Cannot edit a message authored by another user");
  }
  if (body["content"] !== undefined) {
    const content = checkedContent(body["content"]);
    if (content.trim() === "") throw new Refusal(400, 50_006, "Cannot send an empty message");
    message.content = content.trim();
    message.edits++;
  }
  if (body["components"] !== undefined) message.components = checkedComponents(body["components"]);
  return shown(message);
}

function remove(bot: BotState, _call: BotCall, [channel = "", id = ""]: readonly string[]): undefined {
  messageOf(bot, channel, id).deleted = true;
  return undefined;
}

function react(bot: BotState, _call: BotCall, [channel = "", id = "", emoji = ""]: readonly string[]): undefined {
  const message = messageOf(bot, channel, id);
  if (!EMOJI.has(decodeURIComponent(emoji))) throw new Refusal(400, 10_014, "Unknown Emoji");
  message.reactions.push(decodeURIComponent(emoji));
  return undefined;
}

function respond(bot: BotState, { body }: BotCall, [id = "", token = ""]: readonly string[]): undefined {
  const interaction = bot.interactions.find((one) => one.id === id && one.token === token);
  if (interaction === undefined) throw new Refusal(404, 10_062, "Unknown interaction");
  if (interaction.answer !== undefined) {
    throw new Refusal(400, 40_060, "Interaction has already been acknowledged.");
  }
  if (body["type"] !== 5) throw invalidForm("type", "BASE_TYPE_CHOICES", "This fake takes deferred answers alone.");
  interaction.answer = "";
  return undefined;
}

function editResponse(bot: BotState, { body }: BotCall, [application = "", token = ""]: readonly string[]): unknown {
  const interaction = bot.interactions.find((one) => one.token === token);
  if (application !== bot.application || interaction?.answer === undefined) {
    throw new Refusal(404, 10_015, "Unknown Webhook");
  }
  interaction.answer = checkedContent(body["content"]);
  return { id: bot.newId(), channel_id: interaction.channel, content: interaction.answer };
}

function setCommands(bot: BotState, { body }: BotCall, [application = ""]: readonly string[]): unknown {
  if (application !== bot.application) throw new Refusal(404, 10_002, "Unknown Application");
  const commands = Object.values(body) as Readonly<Record<string, unknown>>[];
  for (const { name, description, options } of commands) {
    if (!/^[-_\p{L}\p{N}]{1,32}$/u.test(String(name))) {
      throw invalidForm("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid");
    }
    const texts = [description, ...((options ?? []) as { readonly description?: unknown }[]).map((o) => o.description)];
    if (texts.some((text) => typeof text !== "string" || text.length < 1 || text.length > 100)) {
      throw invalidForm("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
    }
  }
  bot.commands = commands.map((command) => ({ ...command, id: bot.newId(), version: bot.newId(), type: 1 }));
  return bot.commands;
}

function checkedContent(value: unknown): string {
  const content = typeof value === "string" ? value : "";
  if (!content.isWellFormed()) throw new Refusal(400, 50_109, "The request body contains invalid JSON.");
  if ([...content].length > MOST_TEXT) {
    throw invalidForm("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.");
  }
  return content;
}

function checkedComponents(value: unknown): readonly object[] {
  const rows = (value ?? []) as { readonly type: number; readonly components: Record<string, unknown>[] }[];
  const ids = rows.flatMap(({ components }) => components.map((button) => button["custom_id"]));
  const isBad =
    rows.length > 5 ||
    rows.some(({ type, components }) => type !== 1 || components.length < 1 || components.length > 5) ||
    rows.some(({ components }) => components.some(({ label }) => String(label).length > 80 || label === "")) ||
    ids.some((id) => typeof id !== "string" || id.length > 100) ||
    new Set(ids).size < ids.length;
  if (isBad) throw invalidForm("components", "COMPONENT_INVALID", "A component is not valid.");
  return rows;
}

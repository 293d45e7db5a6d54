/** The methods of the Web API that a bot of ours calls, with their refusals in the platform's codes. */

import {
  type Block,
  type Call,
  missingScope,
  Refusal,
  type StoredChannel,
  type StoredMessage,
  type Workspace,
} from "./workspace.ts";

type Method = (workspace: Workspace, body: Call["body"], server: string) => object;

/** Slack truncates what is longer; chat.update refuses what is longer than the other. */
const MOST_TEXT = 40_000;
const MOST_CHANGED = 4_000;

export const methods: Readonly<Record<string, Method>> = {
  "auth.test": ({ bot, app }) => ({
    user_id: bot,
    user: "cairn",
    team_id: "T0TEAM001",
    bot_id: "B0BOT0001",
    app_id: app,
  }),
  "apps.connections.open": openConnection,
  "conversations.history": history,
  "conversations.replies": replies,
  "chat.postMessage": post,
  "chat.update": update,
  "chat.delete": remove,
  "chat.postEphemeral": whisper,
  "reactions.add": react,
  "files.getUploadURLExternal": askUpload,
  "files.completeUploadExternal": completeUpload,
};

/** A part of the platform's list. */
const EMOJI = new Set(["eyes", "thumbsup", "white_check_mark"]);

const SCOPES: Readonly<Record<string, string>> = {
  "conversations.history": "channels:history",
  "chat.postMessage": "chat:write",
  "chat.update": "chat:write",
  "reactions.add": "reactions:write",
  "files.getUploadURLExternal": "files:write",
  "files.completeUploadExternal": "files:write",
};

export function called(workspace: Workspace, call: Call, token: string, server: string): object {
  const { method, body } = call;
  workspace.calls.push(call);
  const refused = workspace.refusedTokens.get(token);
  if (refused !== undefined) throw new Refusal(refused);
  if ((method === "apps.connections.open") !== (token === workspace.appToken))
    throw new Refusal("not_allowed_token_type");
  const needed = SCOPES[method];
  if (needed !== undefined && workspace.missingScopes.has(needed)) throw missingScope(needed);
  const refusal = workspace.refuse?.(call);
  if (refusal !== undefined) throw refusal;
  const run = methods[method];
  if (run === undefined) throw new Refusal("unknown_method");
  return run(workspace, body, server);
}

export function directChannel(workspace: Workspace, user: string): StoredChannel {
  const id = `D${user.slice(1)}`;
  const existing = workspace.channels.get(id);
  if (existing) return existing;
  const channel: StoredChannel = { id, kind: "im", messages: [], isArchived: false, isMember: true };
  workspace.channels.set(id, channel);
  return channel;
}

function openConnection({ sockets, app }: Workspace, _: Call["body"], server: string): object {
  const ticket = `ticket-${sockets.opened}-${sockets.tickets.size}-${Math.random()}`;
  sockets.tickets.add(ticket);
  return { url: `${server.replace("http", "ws")}/link/?ticket=${ticket}&app_id=${app}` };
}

function channelOf({ channels }: Workspace, { channel: id }: Call["body"]): StoredChannel {
  const channel = channels.get(String(id));
  if (channel === undefined) throw new Refusal("channel_not_found");
  if (channel.isArchived) throw new Refusal("is_archived");
  if (!channel.isMember) throw new Refusal("not_in_channel");
  return channel;
}

function messageOf(channel: StoredChannel, { ts }: Call["body"]): StoredMessage {
  const message = channel.messages.find((one) => one.ts === ts && !one.deleted);
  if (message === undefined) throw new Refusal("message_not_found");
  return message;
}

function react(workspace: Workspace, body: Call["body"]): object {
  const { reactions } = messageOf(channelOf(workspace, body), { ts: body["timestamp"] });
  const name = String(body["name"]);
  if (!EMOJI.has(name)) throw new Refusal("invalid_name");
  if (reactions.includes(name)) throw new Refusal("already_reacted");
  reactions.push(name);
  return {};
}

/** What is later than `oldest`, newest first; of threads what is shown in the channel, too. */
function history(workspace: Workspace, body: Call["body"]): object {
  const all = channelOf(workspace, body).messages.filter(({ thread, ts }) => thread === undefined && isAfter(ts, body));
  return pageOf(workspace, all.reverse(), body);
}

/** Begins with the thread's first message, whatever `oldest` is. */
function replies(workspace: Workspace, body: Call["body"]): object {
  const { messages } = channelOf(workspace, body);
  const first = messages.find(({ ts }) => ts === body["ts"]);
  if (first === undefined) throw new Refusal("thread_not_found");
  const all = messages.filter(({ thread, ts }) => thread === first.ts && isAfter(ts, body));
  return pageOf(workspace, [first, ...all], body);
}

function isAfter(ts: string, { oldest = 0 }: Call["body"]): boolean {
  return Number(ts) > Number(oldest);
}

function pageOf({ bot }: Workspace, all: readonly StoredMessage[], body: Call["body"]): object {
  const limit = Number(body["limit"] ?? 100);
  if (!(limit >= 1 && limit <= 999)) throw new Refusal("invalid_limit");
  const from = Number(body["cursor"] ?? 0);
  if (!Number.isInteger(from)) throw new Refusal("invalid_cursor");
  const page = all.slice(from, from + limit).filter(({ deleted }) => !deleted);
  const next = from + limit < all.length ? String(from + limit) : "";
  const messages = page.map(({ ts, user, text, thread, more }) => ({
    type: "message",
    ts,
    user,
    text,
    ...(thread === undefined ? {} : { thread_ts: thread }),
    ...(user === bot ? { bot_id: "B0BOT0001" } : {}),
    ...more,
  }));
  return { messages, has_more: next !== "", response_metadata: { next_cursor: next } };
}

function threadIn(channel: StoredChannel, { thread_ts: thread }: Call["body"]): string | undefined {
  if (thread === undefined) return undefined;
  if (!channel.messages.some(({ ts }) => ts === thread)) throw new Refusal("thread_not_found");
  return String(thread);
}

function post(workspace: Workspace, body: Call["body"]): object {
  const channel = channelOf(workspace, body);
  const blocks = checkedBlocks(body["blocks"]);
  const text = checkedText(body["text"], blocks).slice(0, MOST_TEXT);
  const message = store(workspace, channel, { text, blocks, thread: threadIn(channel, body) });
  return { channel: channel.id, ts: message.ts, message: { type: "message", text, ts: message.ts } };
}

function store(
  workspace: Workspace,
  channel: StoredChannel,
  given: Pick<StoredMessage, "text" | "thread"> & Partial<Pick<StoredMessage, "blocks" | "files">>,
): StoredMessage {
  const message: StoredMessage = {
    ts: workspace.newTs(),
    channel: channel.id,
    user: workspace.bot,
    blocks: [],
    files: [],
    reactions: [],
    more: {},
    edits: 0,
    deleted: false,
    ...given,
  };
  channel.messages.push(message);
  return message;
}

function update(workspace: Workspace, body: Call["body"]): object {
  const message = messageOf(channelOf(workspace, body), body);
  if (message.user !== workspace.bot) throw new Refusal("cant_update_message");
  const blocks = checkedBlocks(body["blocks"]);
  const text = checkedText(body["text"], blocks);
  if ([...text].length > MOST_CHANGED) throw new Refusal("msg_too_long");
  message.text = text;
  // Text without blocks takes them away.
  message.blocks = blocks;
  message.edits++;
  return { channel: message.channel, ts: message.ts, text };
}

function remove(workspace: Workspace, body: Call["body"]): object {
  const message = messageOf(channelOf(workspace, body), body);
  if (message.user !== workspace.bot) throw new Refusal("cant_delete_message");
  message.deleted = true;
  return { channel: message.channel, ts: message.ts };
}

function whisper(workspace: Workspace, body: Call["body"]): object {
  const channel = channelOf(workspace, body);
  threadIn(channel, body);
  workspace.whispers.push({ user: String(body["user"]), channel: channel.id, text: checkedText(body["text"], []) });
  return { message_ts: workspace.newTs() };
}

function askUpload(workspace: Workspace, { filename, length }: Call["body"], server: string): object {
  if (typeof filename !== "string" || filename === "" || !(Number(length) > 0)) throw new Refusal("invalid_arguments");
  const id = workspace.newId("F");
  workspace.uploads.set(id, { name: filename, length: Number(length), bytes: undefined });
  return { file_id: id, upload_url: `${server}/upload/v1/${id}` };
}

function completeUpload(workspace: Workspace, body: Call["body"]): object {
  const given = body["files"] as readonly { readonly id: string }[] | undefined;
  if (!Array.isArray(given) || given.length === 0) throw new Refusal("invalid_arguments");
  const channel = channelOf(workspace, { channel: body["channel_id"] });
  const files = given.map(({ id }) => {
    const { name, bytes } = workspace.uploads.get(id) ?? {};
    if (name === undefined || bytes === undefined) throw new Refusal("file_not_found");
    return { id, name, bytes };
  });
  store(workspace, channel, { text: "", thread: threadIn(channel, body), files });
  return { files: given };
}

function checkedText(value: unknown, blocks: readonly Block[]): string {
  const text = typeof value === "string" ? value : "";
  if (text.trim() === "" && blocks.length === 0) throw new Refusal("no_text");
  return text;
}

function checkedBlocks(value: unknown): readonly Block[] {
  const blocks = (value ?? []) as readonly (Block & { readonly text?: { readonly text: string } })[];
  const buttons = blocks.flatMap(({ elements = [] }) => elements) as readonly Readonly<Record<string, unknown>>[];
  const isBad =
    blocks.length > 50 ||
    blocks.some(({ type }) => type !== "section" && type !== "actions") ||
    blocks.some(
      ({ type, text }) => type === "section" && !(text && text.text.length >= 1 && text.text.length <= 3_000),
    ) ||
    blocks.some(({ type, elements = [] }) => type === "actions" && (elements.length < 1 || elements.length > 25)) ||
    buttons.some(({ value: held }) => String(held).length > 2_000) ||
    buttons.some(({ text }) => ((text as { text?: string }).text ?? "").length > 75) ||
    buttons.some(({ action_id: id }) => typeof id !== "string" || id.length > 255) ||
    new Set(buttons.map(({ action_id: id }) => id)).size < buttons.length;
  if (isBad) throw new Refusal("invalid_blocks");
  return blocks;
}

/**
 * Telegram's Bot API on loopback, by its documentation: one receiver a token, updates that stay until they are confirmed, and the refusals of
 * the platform. What users do is called directly; what bots send is kept and counted.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Message, Update, User } from "grammy/types";
import { onTestFinished } from "vitest";
import { type BotCall, type BotState, botState, Refusal } from "./bot.ts";
import { methods } from "./methods.ts";

export interface TelegramFake {
  /** `base_url` of a channel. */
  readonly url: string;
  /** Makes a bot, and says what it does and has seen. Its token is `token`. */
  bot(username?: string): TelegramBot;
  /** Connections are refused, or accepted and not answered, or answered by a page of a proxy; `unanswered`: they break when it is done. */
  fault: "none" | "down" | "silent" | "bad-gateway" | "unanswered";
  close(): Promise<void>;
}

export interface TelegramBot {
  readonly token: string;
  readonly state: BotState;
  /** A user writes; resolves with the message. `from`: 1 when absent, in the private chat of that user. */
  say(text: string, more?: Said): Message;
  /** Any update, also one that the platform would never send. */
  update(update: object): void;
  /** A group of this number becomes a supergroup of another one. */
  migrate(chat: number, to: number): void;
  revoke(): void;
  /** The token is one of the bot's again. */
  restore(): void;
}

export interface Said {
  readonly from?: number;
  /** Negative: of a group. The user's private chat when absent. */
  readonly chat?: number;
  /** Further keys of the message, such as `photo`, `caption`, `entities`, `message_thread_id`. */
  readonly with?: object;
}

let bots = 0;

/** Ended with the test. */
export async function startTelegramFake(): Promise<TelegramFake> {
  const fake = await openTelegramFake();
  onTestFinished(() => fake.close());
  return fake;
}

/** Its caller closes it. */
export async function openTelegramFake(): Promise<TelegramFake> {
  const byToken = new Map<string, BotState>();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const fake = { fault: "none" as TelegramFake["fault"] };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fake.fault === "down") return void request.socket.destroy();
    if (fake.fault === "silent") return;
    if (fake.fault === "bad-gateway") {
      response.writeHead(502, { "content-type": "text/html" }).end("<html><body>502 Bad Gateway</body></html>");
      return;
    }
    const [, file, token = "", name = ""] = /^\/(file\/)?bot([^/]+)\/(.+)$/.exec(request.url ?? "") ?? [];
    const bot = byToken.get(token);
    if (file !== undefined) return sendFile(bot, decodeURIComponent(name), response);
    const body = await bodyOf(request);
    const closed = new AbortController();
    const close = (): void => closed.abort();
    // What comes over other connections may be read before this one is closed on both sides.
    request.socket.once("end", close);
    response.on("close", () => {
      request.socket.off("end", close);
      close();
    });
    await bot?.holds.pass("before", { method: name, body });
    const result = await called(bot, name, { body, signal: closed.signal }).catch((error: unknown) => {
      if (error instanceof Refusal) return error;
      throw error;
    });
    await bot?.holds.pass("after", { method: name, body });
    if (fake.fault === "unanswered") return void request.socket.destroy();
    if (closed.signal.aborted) return;
    const refused = result instanceof Refusal;
    response
      .writeHead(refused ? result.code : 200, { "content-type": "application/json" })
      .end(JSON.stringify(refused ? result.document() : { ok: true, result }));
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Node closes a connection that is kept open after 5 s by itself.
  server.keepAliveTimeout = 60_000;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return Object.assign(fake, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bot(username = "cairn_bot") {
      const id = 1_000_000_000 + ++bots;
      const token = `${id}:AA${"fakeTokenOfTests".repeat(2)}${bots}`;
      const state = botState({ id, is_bot: true, first_name: "Cairn", username });
      byToken.set(token, state);
      return {
        ...botOf(token, state),
        revoke: () => void byToken.delete(token),
        restore: () => void byToken.set(token, state),
      };
    },
    close,
  });
}

async function called(bot: BotState | undefined, name: string, call: BotCall): Promise<unknown> {
  if (bot === undefined) throw new Refusal(401, "Unauthorized");
  const method = methods[name.toLowerCase()];
  if (method === undefined) throw new Refusal(404, "Not Found: method not found");
  bot.calls.push({ method: name, body: call.body });
  const refusal = bot.refuse?.(name, call.body);
  if (refusal !== undefined) throw refusal;
  return method(bot, call);
}

function botOf(token: string, state: BotState): Omit<TelegramBot, "revoke" | "restore"> {
  return {
    token,
    state,
    say(text, { from = 1, chat = from, with: more = {} } = {}) {
      const user: User = { id: from, is_bot: false, first_name: `User ${from}`, username: `user_${from}` };
      const place =
        chat < 0 ? { id: chat, type: "supergroup", title: "Group" } : { id: chat, type: "private", first_name: "User" };
      const command = /^\/\w+(@\w+)?/.exec(text)?.[0];
      const entities =
        command === undefined ? {} : { entities: [{ type: "bot_command", offset: 0, length: command.length }] };
      state.chats.add(chat);
      const message = {
        message_id: state.nextMessageIn(chat),
        from: user,
        chat: place,
        date: Math.floor(Date.now() / 1_000),
        ...(text === "" ? {} : { text, ...entities }),
        ...more,
      } as Message;
      state.said.add(`${chat} ${message.message_id}`);
      state.put({ message } as Partial<Update>);
      return message;
    },
    update: (update) => state.put(update),
    migrate(chat, to) {
      state.moved.set(chat, to);
      state.chats.add(to);
      const date = Math.floor(Date.now() / 1_000);
      const [group, supergroup] = [
        { id: chat, type: "group", title: "Group" },
        { id: to, type: "supergroup", title: "Group" },
      ];
      const from = { id: 1, is_bot: false, first_name: "User 1" };
      state.put({
        message: { message_id: state.nextMessageIn(chat), from, chat: group, date, migrate_to_chat_id: to },
      });
      // Telegram names its own bot as who has written it.
      const anonymous = { id: 1_087_968_824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" };
      const more = { from: anonymous, sender_chat: supergroup, chat: supergroup, migrate_from_chat_id: chat };
      state.put({ message: { message_id: state.nextMessageIn(to), date, ...more } });
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const type = request.headers["content-type"] ?? "";
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (type.startsWith("multipart/form-data")) {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const fields = [...form].map(async ([key, value]) => {
      if (typeof value === "string") return [key, value] as const;
      return [key, { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) }] as const;
    });
    return Object.fromEntries(await Promise.all(fields));
  }
  return bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
}

async function sendFile(bot: BotState | undefined, path: string, response: ServerResponse): Promise<void> {
  const file = [...(bot?.files.values() ?? [])].find((one) => one.path === path);
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": "application/octet-stream" });
  // A client that has enough goes away.
  await pipeline(Readable.from(file.content()), response).catch(() => undefined);
}

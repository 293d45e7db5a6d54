/**
 * Discord on loopback, by its documentation: REST with its limits and refusals, the gateway with sessions that can be resumed, and files. What
 * users do is called directly; what bots send is kept and counted.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import {
  type BotCall,
  type BotState,
  botState,
  OWNER,
  Refusal,
  type StoredInteraction,
  type StoredMessage,
  tooMany,
} from "./bot.ts";
import { directChannel, routes, shown } from "./routes.ts";
import { IDENTIFY_PAUSE_MS, publish, serveGateway } from "./sessions.ts";

export interface DiscordFake {
  /** `base_url` of a channel. */
  readonly url: string;
  /** Makes a bot, and says what it does and has seen. */
  bot(username?: string): DiscordBot;
  /** Connections are refused, or accepted and not answered, or answered by a page of a proxy; `unanswered`: they break when it is done. */
  fault: "none" | "down" | "silent" | "bad-gateway" | "unanswered";
  close(): Promise<void>;
}

export interface DiscordBot {
  readonly token: string;
  readonly state: BotState;
  /** The owner's private channel with the bot. */
  readonly direct: string;
  /** Makes a channel of a server, or a thread; resolves to its id. */
  channel(type?: 0 | 11): string;
  /** A user writes, in private where no channel is named. */
  say(text: string, more?: Said): StoredMessage;
  /** A file for `attachments` of a message. */
  file(name: string, content: () => AsyncIterable<Buffer> | Iterable<Buffer>, size?: number): { readonly url: string };
  /** A user presses a button or uses a command: `data` and `type` of the interaction. */
  interact(interaction: object, from?: string, channel?: string): StoredInteraction;
  /** Any event, also one that the platform would never send. */
  event(type: string, data: object): void;
  /** What the bot has sent and not removed, in order. */
  sent(): readonly StoredMessage[];
  /** Ends the connections of the bot with a code, or says something else to them. */
  disconnect(code: number): void;
  /** Cuts the connections without a word. */
  cut(): void;
  /** `op` of the gateway to all connections. */
  order(op: number, data: unknown): void;
  revoke(): void;
  /** The token is one of the bot's again. */
  restore(): void;
}

export interface Said {
  readonly from?: string;
  readonly channel?: string;
  /** The gateway does not mention it, as where it is not connected well. */
  readonly isUnheard?: boolean;
  /** Further keys of the message. */
  readonly with?: object;
}

let bots = 0;

/** Ended with the test. */
export async function startDiscordFake(): Promise<DiscordFake> {
  const fake = await openDiscordFake();
  onTestFinished(() => fake.close());
  return fake;
}

/** Its caller closes it. */
export async function openDiscordFake(): Promise<DiscordFake> {
  const byToken = new Map<string, BotState>();
  const files = new Map<string, () => AsyncIterable<Buffer> | Iterable<Buffer>>();
  const fake = { fault: "none" as DiscordFake["fault"] };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const gateway = new WebSocketServer({ noServer: true });
  const unanswered = new Set<Duplex>();
  server.on("upgrade", (request, socket, head) => {
    if (fake.fault === "silent") {
      unanswered.add(socket);
      socket.on("error", () => undefined);
      return;
    }
    if (fake.fault !== "none") {
      socket.destroy();
      return;
    }
    const heartbeatMs = Math.min(...[...byToken.values()].map((bot) => bot.gateway.heartbeatMs));
    gateway.handleUpgrade(request, socket, head, (connection) =>
      serveGateway(connection, heartbeatMs, { botOf: (token) => byToken.get(token), url: address("ws") }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Node closes a connection that is kept open after 5 s by itself.
  server.keepAliveTimeout = 60_000;
  const { port } = server.address() as AddressInfo;
  const address = (protocol: string): string => `${protocol}://127.0.0.1:${port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fake.fault === "down") return void request.socket.destroy();
    if (fake.fault === "silent") return;
    if (fake.fault === "bad-gateway") {
      response.writeHead(502, { "content-type": "text/html" }).end("<html><body>502 Bad Gateway</body></html>");
      return;
    }
    const url = new URL(request.url ?? "/", address("http"));
    const content = files.get(url.pathname);
    if (content) {
      response.writeHead(200, { "content-type": "application/octet-stream" });
      // A client that has enough goes away.
      return void (await pipeline(Readable.from(content()), response).catch(() => undefined));
    }
    const bot = botFor(request, url.pathname, byToken);
    const call = await callOf(request, url);
    const limited = bot ? limits(bot, call) : {};
    const headers = limited instanceof Refusal ? {} : limited;
    await bot?.holds.pass("before", call);
    const result = limited instanceof Refusal ? limited : called(bot, call, address("ws"));
    await bot?.holds.pass("after", call);
    if (fake.fault === "unanswered") return void request.socket.destroy();
    if (result instanceof Refusal) {
      response
        .writeHead(result.status, { "content-type": "application/json", ...result.headers })
        .end(JSON.stringify(result.document()));
    } else if (result === undefined) response.writeHead(204, headers).end();
    else response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(result));
  }

  const close = async (): Promise<void> => {
    if (!server.listening) return;
    for (const connection of gateway.clients) connection.terminate();
    for (const socket of unanswered) socket.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return Object.assign(fake, {
    url: `${address("http")}/api`,
    bot(username = "cairn") {
      const state = botState(++bots, username);
      const token = `${Buffer.from(state.me.id).toString("base64url")}.Gfake.${"tokenOfTests".repeat(3)}${bots}`;
      byToken.set(token, state);
      return botOf(token, state, {
        revoke: () => void byToken.delete(token),
        restore: () => void byToken.set(token, state),
        file(name, content, size = 3) {
          const path = `/cdn/${files.size}/${name}`;
          files.set(path, content);
          return { id: state.newId(), filename: name, size, url: `${address("http")}${path}` };
        },
      });
    },
    close,
  });
}

/** Requests of interactions carry their own token in the path. */
function botFor(request: IncomingMessage, path: string, byToken: ReadonlyMap<string, BotState>): BotState | undefined {
  const given = /^Bot (\S+)$/.exec(request.headers.authorization ?? "")?.[1];
  if (given !== undefined) return byToken.get(given);
  return [...byToken.values()].find((bot) => bot.interactions.some(({ token }) => path.includes(`/${token}/`)));
}

function called(bot: BotState | undefined, call: BotCall, gateway: string): unknown {
  if (bot === undefined) return new Refusal(401, 0, "401: Unauthorized");
  bot.calls.push(call);
  const refusal = bot.refuse?.(call);
  if (refusal !== undefined) return refusal;
  if (call.path === "/gateway/bot") {
    return {
      url: gateway,
      shards: 1,
      session_start_limit: { total: 1_000, remaining: bot.starts, reset_after: 600_000, max_concurrency: 1 },
    };
  }
  for (const [method, pattern, route] of routes) {
    const [found, ...ids] = (method === call.method && pattern.exec(call.path)) || [];
    if (found === undefined) continue;
    try {
      return route(bot, call, ids);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }
  return new Refusal(404, 0, "404: Not Found");
}

/** Headers of the route's bucket, or the refusal of what is too much. */
function limits({ limit, buckets }: BotState, { method, path }: BotCall): Record<string, string> | Refusal {
  const route = `${method} ${path.replace(/(messages)\/\d+/, "$1/ID").replace(/reactions\/.*/, "reactions")}`;
  const now = performance.now();
  const current = buckets.get(route);
  const bucket = current && current.resetAt > now ? current : { count: 0, resetAt: now + limit.windowMs };
  buckets.set(route, bucket);
  bucket.count++;
  const resetS = (bucket.resetAt - now) / 1_000;
  const headers = {
    "x-ratelimit-limit": String(limit.count),
    "x-ratelimit-remaining": String(Math.max(0, limit.count - bucket.count)),
    "x-ratelimit-reset-after": resetS.toFixed(3),
    "x-ratelimit-bucket": Buffer.from(route.replace(/\d+/g, "ID")).toString("hex").slice(0, 32),
  };
  if (bucket.count <= limit.count) return headers;
  limit.refused++;
  const refusal = tooMany(resetS);
  return new Refusal(429, 0, refusal.message, refusal.more, { ...headers, ...refusal.headers });
}

async function callOf(request: IncomingMessage, url: URL): Promise<BotCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const type = request.headers["content-type"] ?? "";
  const of = (body: BotCall["body"], files: BotCall["files"] = []): BotCall => ({
    method: request.method ?? "",
    path: url.pathname.replace(/^\/api\/v10/, ""),
    query: url.searchParams,
    body,
    files,
  });
  if (!type.startsWith("multipart/form-data")) return of(bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8")));
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const entries = [...form].map(async ([, value]) =>
    typeof value === "string" ? [] : [{ name: value.name, bytes: Buffer.from(await value.arrayBuffer()) }],
  );
  return of(JSON.parse(String(form.get("payload_json") ?? "{}")), (await Promise.all(entries)).flat());
}

type Made = Pick<DiscordBot, "revoke" | "restore" | "file">;

function botOf(token: string, state: BotState, made: Made): DiscordBot {
  const direct = directChannel(state, OWNER).id;
  const sockets = () => [...state.sessions.values()].flatMap(({ socket }) => (socket ? [socket] : []));
  const userOf = (id: string) => ({ id, username: `user_${id.slice(-1)}`, bot: false });
  return {
    token,
    state,
    direct,
    ...made,
    channel(type = 0) {
      const id = state.newId();
      state.channels.set(id, { id, type, messages: [], isClosed: false });
      return id;
    },
    say(text, { from = OWNER, channel, isUnheard = false, with: more = {} } = {}) {
      const place = channel === undefined ? directChannel(state, from) : state.channels.get(channel);
      if (place === undefined) throw new Error(`There is no channel ${channel}.`);
      const message: StoredMessage = {
        id: state.newId(),
        channel_id: place.id,
        author: userOf(from),
        content: text,
        timestamp: new Date().toISOString(),
        type: 0,
        attachments: [],
        files: [],
        components: [],
        reactions: [],
        edits: 0,
        deleted: false,
        ...more,
      };
      place.messages.push(message);
      const isDirect = place.type === 1;
      // The gateway names the server; REST does not.
      const event = { ...shown(message), ...(isDirect ? {} : { guild_id: "1" }) };
      if (!isUnheard) publish(state, "MESSAGE_CREATE", event, isDirect);
      return message;
    },
    interact(interaction, from = OWNER, channel = direct) {
      const stored: StoredInteraction = { id: state.newId(), token: `it-${state.newId()}`, channel, answer: undefined };
      state.interactions.push(stored);
      const isDirect = state.channels.get(channel)?.type === 1;
      const user = isDirect ? { user: userOf(from) } : { member: { user: userOf(from) }, guild_id: "1" };
      const { id, token: secret } = stored;
      const place = { channel: { id: channel }, channel_id: channel, application_id: state.application };
      publish(
        state,
        "INTERACTION_CREATE",
        { id, token: secret, version: 1, ...place, ...user, ...interaction },
        isDirect,
      );
      return stored;
    },
    event: (type, data) => publish(state, type, data, false),
    sent: () =>
      [...state.channels.values()]
        .flatMap(({ messages }) => messages.filter(({ author, deleted }) => author.id === state.me.id && !deleted))
        .toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1)),
    disconnect(code) {
      for (const socket of sockets()) socket.close(code);
    },
    cut() {
      for (const socket of sockets()) socket.terminate();
    },
    order(op, data) {
      if (op === 9 && data !== true) state.gateway.identifyFrom = performance.now() + IDENTIFY_PAUSE_MS;
      for (const socket of sockets()) socket.send(JSON.stringify({ op, d: data, s: null, t: null }));
    },
  };
}

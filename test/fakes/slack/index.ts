/**
 * Slack on loopback, by its documentation: the Web API with its limits and refusals, Socket Mode with envelopes that are sent again, and files.
 * What users do is called directly; what apps send is kept and counted.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { onTestFinished } from "vitest";
import { WebSocketServer } from "ws";
import { called, directChannel } from "./methods.ts";
import { announce, deliver, serveSocket } from "./sockets.ts";
import {
  type Call,
  createWorkspace,
  OWNER,
  Refusal,
  type StoredChannel,
  type StoredMessage,
  tooMany,
  type Workspace,
} from "./workspace.ts";

export interface SlackFake {
  /** `base_url` of a channel. */
  readonly url: string;
  /** Installs an app, and says what it does and has seen. */
  app(): SlackApp;
  /** Connections are refused, or accepted and not answered, or answered by a page of a proxy; `unanswered`: they break when it is done. */
  fault: "none" | "down" | "silent" | "bad-gateway" | "unanswered";
  close(): Promise<void>;
}

export interface SlackApp {
  readonly state: Workspace;
  /** The owner's private conversation with the bot. */
  readonly direct: string;
  /** Makes a channel that the bot is in; gives back its id. */
  channel(kind?: "channel" | "group" | "mpim"): string;
  /** A user writes, in private where no channel is named; `isUnheard`: no event says so, as where Slack has given up. */
  say(text: string, more?: Said): StoredMessage;
  /** A file for `files` of a message. */
  file(name: string, content: () => AsyncIterable<Buffer> | Iterable<Buffer>, more?: object): object;
  /** Somebody presses the button with this text. */
  press(message: StoredMessage, label: string, from?: string): void;
  /** Any envelope, also one that the platform would never send. */
  envelope(type: string, payload: object): void;
  /** What the bot has sent and not removed, in order. */
  sent(): readonly StoredMessage[];
  /** As Slack does before it ends a connection. */
  announce(reason: "warning" | "refresh_requested" | "link_disabled" | "too_many_websockets"): void;
  /** Ends the connections whose end was announced. */
  endAnnounced(): void;
  /** Cuts the connections without a word. */
  cut(): void;
  /** Says something else to all connections. */
  raw(text: string): void;
  ping(): void;
}

export interface Said {
  readonly from?: string;
  readonly channel?: string;
  readonly thread?: string;
  readonly isUnheard?: boolean;
  /** Further keys of the event. */
  readonly with?: object;
}

let apps = 0;

export async function startSlackFake(): Promise<SlackFake> {
  const fake = await openSlackFake();
  onTestFinished(() => fake.close());
  return fake;
}

/** Its caller closes it. */
export async function openSlackFake(): Promise<SlackFake> {
  const workspaces: Workspace[] = [];
  const files = new Map<string, () => AsyncIterable<Buffer> | Iterable<Buffer>>();
  const fake = { fault: "none" as SlackFake["fault"] };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const sockets = new WebSocketServer({ noServer: true });
  const unanswered = new Set<Duplex>();
  server.on("upgrade", (request, socket, head) => {
    if (fake.fault === "silent") {
      unanswered.add(socket);
      socket.on("error", () => undefined);
      return;
    }
    const ticket = new URL(request.url ?? "/", address).searchParams.get("ticket") ?? "";
    const workspace = workspaces.find(({ sockets: { tickets } }) => tickets.delete(ticket));
    if (fake.fault !== "none" || workspace === undefined) {
      socket.destroy();
      return;
    }
    sockets.handleUpgrade(request, socket, head, (connection) => serveSocket(connection, workspace));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Node closes a connection that is kept open after 5 s by itself.
  server.keepAliveTimeout = 60_000;
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fake.fault === "down") return void request.socket.destroy();
    if (fake.fault === "silent") return;
    if (fake.fault === "bad-gateway") {
      response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Sign in to the network</body></html>");
      return;
    }
    const { pathname } = new URL(request.url ?? "/", address);
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const workspace = workspaces.find((one) => one.token === token || one.appToken === token);
    if (pathname.startsWith("/files-pri/")) return giveFile(pathname, workspace, token, response);
    if (pathname.startsWith("/upload/")) return takeFile(pathname, request, response);
    const call = await callOf(request, pathname);
    await workspace?.holds.pass("before", call);
    const result = resultOf(workspace, call, token);
    await workspace?.holds.pass("after", call);
    if (fake.fault === "unanswered") return void request.socket.destroy();
    if (result instanceof Refusal) {
      response
        .writeHead(result.status, { "content-type": "application/json", ...result.headers })
        .end(JSON.stringify(result.document()));
    } else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ok: true, ...result }));
  }

  function resultOf(workspace: Workspace | undefined, call: Call, token: string): object | Refusal {
    if (workspace === undefined) return new Refusal(token === "" ? "not_authed" : "invalid_auth");
    try {
      return limited(workspace, call) ?? called(workspace, call, token, address);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  /** Without the right to read files the answer is the page for signing in. */
  async function giveFile(path: string, workspace: Workspace | undefined, token: string, response: ServerResponse) {
    const content = files.get(path);
    if (workspace === undefined || token !== workspace.token || workspace.missingScopes.has("files:read") || !content) {
      response.writeHead(302, { location: "/signin" }).end();
      return;
    }
    response.writeHead(workspace.fileStatus, { "content-type": "application/octet-stream" });
    // A client that has enough goes away.
    await pipeline(Readable.from(content()), response).catch(() => undefined);
  }

  async function takeFile(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = path.split("/").at(-1) ?? "";
    const workspace = workspaces.find(({ uploads }) => uploads.has(id));
    const upload = workspace?.uploads.get(id);
    if (workspace && request.headers.authorization !== undefined) workspace.leaks++;
    const bytes = await bytesOf(request);
    if (upload === undefined || bytes.length !== upload.length) return void response.writeHead(400).end();
    upload.bytes = bytes;
    response.writeHead(200).end(`OK - ${bytes.length}`);
  }

  const close = async (): Promise<void> => {
    if (!server.listening) return;
    for (const connection of sockets.clients) connection.terminate();
    for (const socket of unanswered) socket.destroy();
    for (const { sockets: state } of workspaces) {
      for (const { timer } of state.pending.values()) clearTimeout(timer);
      state.pending.clear();
    }
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return Object.assign(fake, {
    url: `${address}/api`,
    app() {
      const state = createWorkspace(++apps);
      workspaces.push(state);
      return appOf(state, (name, content) => {
        const path = `/files-pri/${files.size}/${name}`;
        files.set(path, content);
        return `${address}${path}`;
      });
    },
    close,
  });
}

/** Changes of messages have a limit a minute; what is sent to one channel is not limited here. */
function limited({ limits, recent }: Workspace, { method }: Call): Refusal | undefined {
  if (method !== "chat.update") return undefined;
  const now = performance.now();
  const times = (recent.get(method) ?? []).filter((time) => time > now - limits.windowMs);
  recent.set(method, [...times, now]);
  if (times.length < limits.updates) return undefined;
  limits.refused++;
  return tooMany(Math.max(1, Math.ceil(limits.windowMs / 1_000)));
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Arguments are a form; those that are no texts are JSON in it. */
async function callOf(request: IncomingMessage, path: string): Promise<Call> {
  const form = new URLSearchParams((await bytesOf(request)).toString("utf8"));
  const entries = [...form].map(([key, value]) => [
    key,
    ["blocks", "files"].includes(key) ? (JSON.parse(value) as unknown) : value,
  ]);
  return { method: path.replace(/^\/api\//, ""), body: Object.fromEntries(entries) };
}

type AddFile = (name: string, content: () => AsyncIterable<Buffer> | Iterable<Buffer>) => string;

function appOf(state: Workspace, addFile: AddFile): SlackApp {
  const direct = directChannel(state, OWNER).id;
  const event = (kind: StoredChannel["kind"], message: object): void =>
    deliver(state, "events_api", {
      token: "verification",
      team_id: "T0TEAM001",
      api_app_id: state.app,
      type: "event_callback",
      event_id: state.newId("Ev"),
      event_time: Math.floor(Date.now() / 1_000),
      event: { type: "message", channel_type: kind, ...message },
    });
  return {
    state,
    direct,
    channel(kind = "channel") {
      const id = state.newId(kind === "channel" ? "C" : "G");
      state.channels.set(id, { id, kind, messages: [], isArchived: false, isMember: true });
      return id;
    },
    say(text, { from = OWNER, channel, thread, isUnheard = false, with: more = {} } = {}) {
      const place = channel === undefined ? directChannel(state, from) : state.channels.get(channel);
      if (place === undefined) throw new Error(`There is no channel ${channel}.`);
      const message: StoredMessage = {
        ts: state.newTs(),
        channel: place.id,
        user: from,
        text,
        thread,
        blocks: [],
        files: [],
        reactions: [],
        more,
        edits: 0,
        deleted: false,
      };
      place.messages.push(message);
      const { ts } = message;
      const within = thread === undefined ? {} : { thread_ts: thread, parent_user_id: OWNER };
      const said = { channel: place.id, user: from, text, ts, event_ts: ts, team: "T0TEAM001", ...within, ...more };
      if (!isUnheard) event(place.kind, said);
      return message;
    },
    file: (name, content, more = {}) => ({
      id: state.newId("F"),
      name,
      mimetype: "text/plain",
      size: 3,
      url_private_download: addFile(name, content),
      ...more,
    }),
    press({ ts, thread, channel, blocks }, label, from = OWNER) {
      const action = blocks.flatMap(({ elements = [] }) => elements).find(({ text }) => text?.text === label);
      if (action === undefined) throw new Error(`There is no button ${label}.`);
      deliver(state, "interactive", {
        type: "block_actions",
        user: { id: from, team_id: "T0TEAM001" },
        api_app_id: state.app,
        channel: { id: channel },
        container: { type: "message", message_ts: ts, channel_id: channel },
        message: { ts, ...(thread === undefined ? {} : { thread_ts: thread }) },
        actions: [{ type: "button", ...action, action_ts: state.newTs() }],
        trigger_id: "1.2.3",
        response_url: "https://hooks.slack.example/actions/secret",
      });
    },
    envelope: (type, payload) => deliver(state, type, payload),
    sent: () =>
      [...state.channels.values()]
        .flatMap(({ messages }) => messages.filter(({ user, deleted }) => user === state.bot && !deleted))
        .toSorted((a, b) => Number(a.ts) - Number(b.ts)),
    announce: (reason) => announce(state, reason),
    endAnnounced() {
      for (const { socket, isLeaving } of state.sockets.open) if (isLeaving) socket.close(1_000);
    },
    cut() {
      for (const { socket } of state.sockets.open) socket.terminate();
    },
    raw(text) {
      for (const { socket } of state.sockets.open) socket.send(text);
    },
    ping() {
      for (const { socket } of state.sockets.open) socket.ping();
    },
  };
}

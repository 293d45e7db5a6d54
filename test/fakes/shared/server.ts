import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { directiveScript } from "./directives.ts";
import type { FakeFault, FakeReply, FakeScript, RecordedRequest } from "./script.ts";
import type { Wire, WireError } from "./wire.ts";

/**
 * A model server on loopback that speaks one API's wire format, does what its script says, records every request and
 * misbehaves on demand. Everything is also reachable over HTTP under /_fake, for tests that run it as a process.
 */

export interface FakeOptions {
  /** Default: `directiveScript`. */
  readonly script?: FakeScript;
  /** When given, requests with another key get 401; null: every one. A function is asked at each request, with its key. */
  readonly apiKey?: string | ((given: string | undefined) => string | null);
  readonly port?: number;
}

export interface FakeCounters {
  /** Chat requests that arrived. */
  readonly requests: number;
  readonly answered: number;
  /** The client went away before the answer was out. */
  readonly closed: number;
  readonly open: number;
  /** Requests to other routes. */
  readonly others: number;
}

export interface FakeServer {
  /** Scheme, host and port. */
  readonly url: string;
  /** What a client takes as its base address. */
  readonly baseUrl: string;
  readonly requests: readonly RecordedRequest[];
  counters(): FakeCounters;
  setScript(script: FakeScript): void;
  /** Replies for the next requests, in order, before the script is asked again. */
  enqueue(...replies: readonly FakeReply[]): void;
  /** Lets every reply go on that waits at the gate, now or later. */
  release(gate: string): void;
  /** Resolves once `count` chat requests have arrived; rejects after the deadline. */
  waitForRequests(count: number, deadlineMs?: number): Promise<void>;
  /** Resolves once `condition` holds; it is looked at after every change. Rejects after the deadline. */
  waitUntil(condition: (fake: FakeServer) => boolean, deadlineMs?: number): Promise<void>;
  /** Forgets requests, queued replies and gates; the script stays. */
  reset(): void;
  close(): Promise<void>;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export async function startFake(wire: Wire, options: FakeOptions = {}): Promise<FakeServer> {
  let script = options.script ?? directiveScript;
  let others = 0;
  const requests: Mutable<RecordedRequest>[] = [];
  const queue: FakeReply[] = [];
  const released = new Set<string>();
  const watchers = new Set<() => void>();
  const changed = (): void => {
    for (const watcher of watchers) watcher();
  };

  const waitFor = (condition: () => boolean, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const poll = (): void => {
        if (condition()) finish(resolve);
      };
      const stop = (): void => finish(() => reject(signal.reason));
      const finish = (resolveOrReject: () => void): void => {
        watchers.delete(poll);
        signal.removeEventListener("abort", stop);
        resolveOrReject();
      };
      if (signal.aborted) return stop();
      watchers.add(poll);
      signal.addEventListener("abort", stop);
      poll();
    });

  const isRefused = (key: string | undefined): boolean => {
    const { apiKey } = options;
    return apiKey !== undefined && key !== (typeof apiKey === "function" ? apiKey(key) : apiKey);
  };

  async function chat(incoming: IncomingMessage, response: ServerResponse, body: unknown, spoken: Wire): Promise<void> {
    const gone = new AbortController();
    const request: Mutable<RecordedRequest> = {
      ...spoken.view(body, incoming.url ?? ""),
      number: requests.length + 1,
      path: incoming.url ?? "",
      headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
      body,
      state: "open",
    };
    response.once("close", () => {
      // The server's own cuts are answers of a kind: only the client can close a request.
      if (request.state === "open") request.state = response.writableFinished ? "answered" : "closed";
      gone.abort(new Error("the client went away"));
      changed();
    });
    requests.push(request);
    changed();

    const key = spoken.keyOf(incoming.headers);
    if (isRefused(key)) {
      sendError(response, { kind: "status", ...refusalOf(key, spoken) }, spoken);
      return;
    }
    const refusal = spoken.check(body, incoming.headers, incoming.url ?? "");
    if (refusal !== undefined) {
      sendError(response, { kind: "status", ...refusal, type: refusal.type ?? "invalid_request_error" }, spoken);
      return;
    }
    const reply = queue.shift() ?? (await script(request));
    try {
      await send(response, request, reply, gone.signal, spoken);
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  }

  async function send(
    response: ServerResponse,
    request: Mutable<RecordedRequest>,
    reply: FakeReply,
    gone: AbortSignal,
    spoken: Wire,
  ): Promise<void> {
    const { fault, hold, paceMs = 0, delayMs = 0 } = reply;
    const gate = async (at: number | undefined): Promise<void> => {
      if (hold !== undefined && hold.after === at) await waitFor(() => released.has(hold.gate), gone);
    };
    if (delayMs > 0) await sleep(delayMs, undefined, { signal: gone });
    await gate(undefined);
    if (fault?.kind === "status") return sendError(response, fault, spoken);
    if (fault?.kind === "garbage") {
      response.writeHead(200, { "content-type": fault.contentType ?? "text/html; charset=utf-8" });
      response.end(fault.body ?? "<!doctype html><title>Welcome</title><p>This is not a model.</p>");
      return;
    }
    if (fault?.kind === "hang" && fault.after === undefined) return waitFor(() => false, gone);
    if (!request.stream && reply.bytes === undefined) {
      sendJson(response, 200, spoken.document(reply, request, request.number));
      return;
    }

    const error = fault?.kind === "error-event" ? [spoken.errorFrame({ status: 200, ...fault })] : undefined;
    const all: readonly (string | Uint8Array)[] = reply.bytes ?? spoken.frames(reply, request, request.number);
    const frames =
      error === undefined || fault?.kind !== "error-event" ? all : [...all.slice(0, fault.after), ...error];
    const type = spoken.streamType ?? "text/event-stream; charset=utf-8";
    response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
    response.flushHeaders();
    const endless =
      fault?.kind === "repeat" ? frames.find((one) => Buffer.from(one).includes(fault.holding)) : undefined;
    for (let sent = 0; ; sent += 1) {
      await gate(sent);
      if (fault?.kind === "hang" && fault.after === sent) return waitFor(() => false, gone);
      if (fault?.kind === "cut" && fault.after === sent) {
        request.state = "answered";
        changed();
        if (fault.how === "end") response.end();
        else response.socket?.destroy();
        return;
      }
      const frame = frames[sent];
      if (frame === undefined) break;
      do {
        gone.throwIfAborted();
        if (!response.write(frame)) await once(response, "drain", { signal: gone });
      } while (frame === endless);
      if (paceMs > 0) await sleep(paceMs, undefined, { signal: gone });
    }
    response.end();
  }

  function sendError(response: ServerResponse, fault: Extract<FakeFault, { kind: "status" }>, spoken: Wire): void {
    const { status, message = `The fake was told to fail with ${status}.`, type } = fault;
    response.writeHead(status, { "content-type": "application/json", ...fault.headers });
    response.end(fault.body ?? JSON.stringify(spoken.errorBody({ status, message, type })));
  }

  async function control(path: string, url: URL, response: ServerResponse, body: unknown): Promise<void> {
    const given: Record<string, unknown> = typeof body === "object" && body !== null ? { ...body } : {};
    switch (path) {
      case "/_fake/state":
        break;
      case "/_fake/replies":
        // The test that posts them knows their shape.
        queue.push(...((given["replies"] ?? []) as FakeReply[]));
        break;
      case "/_fake/release":
        fake.release(String(given["gate"]));
        break;
      case "/_fake/reset":
        fake.reset();
        break;
      case "/_fake/wait":
        await fake.waitForRequests(
          Number(url.searchParams.get("requests") ?? 1),
          Number(url.searchParams.get("deadline_ms") ?? EVENTUALLY_MS),
        );
        break;
      default:
        return sendJson(response, 404, { error: `unknown control ${path}` });
    }
    sendJson(response, 200, { counters: fake.counters(), requests });
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://fake");
    const path = url.pathname;
    const body = parseJson(await readAll(incoming));
    if (path.startsWith("/_fake/")) return control(path, url, response, body);
    const spoken = [wire, wire.also].find((one) => one !== undefined && isChat(one, path));
    if (incoming.method === "POST" && spoken !== undefined) return chat(incoming, response, body, spoken);
    others += 1;
    const key = wire.keyOf(incoming.headers);
    if (isRefused(key)) return sendError(response, { kind: "status", ...refusalOf(key, wire) }, wire);
    const found = wire.other(incoming.method ?? "GET", path, body);
    if (found === undefined) sendError(response, { kind: "status", status: 404, message: `no route ${path}` }, wire);
    else sendJson(response, 200, found);
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    });
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;

  const fake: FakeServer = {
    url,
    baseUrl: `${url}${wire.basePath}`,
    requests,
    counters: () => ({
      requests: requests.length,
      answered: requests.filter((request) => request.state === "answered").length,
      closed: requests.filter((request) => request.state === "closed").length,
      open: requests.filter((request) => request.state === "open").length,
      others,
    }),
    setScript(next) {
      script = next;
    },
    enqueue(...replies) {
      queue.push(...replies);
    },
    release(gate) {
      released.add(gate);
      changed();
    },
    waitForRequests: (count, deadlineMs) => fake.waitUntil(() => requests.length >= count, deadlineMs),
    waitUntil: (condition, deadlineMs = EVENTUALLY_MS) =>
      waitFor(() => condition(fake), AbortSignal.timeout(deadlineMs)),
    reset() {
      requests.length = 0;
      queue.length = 0;
      others = 0;
      released.clear();
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  return fake;
}

function isChat({ chatPath }: Wire, path: string): boolean {
  return typeof chatPath === "string" ? path === chatPath : chatPath.test(path);
}

function refusalOf(key: string | undefined, wire: Wire): WireError {
  return wire.wrongKey?.(key) ?? { status: 401, message: `Incorrect API key provided: ${key}.` };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

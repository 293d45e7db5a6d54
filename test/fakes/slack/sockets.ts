/** Socket Mode: connections by tickets, envelopes that are sent again until they are acknowledged, and the notices before an end. */

import type { RawData, WebSocket } from "ws";
import type { Workspace } from "./workspace.ts";

export interface SocketState {
  /** Each opens one connection. */
  readonly tickets: Set<string>;
  readonly open: Set<FakeConnection>;
  /** Not acknowledged, by the id of the envelope. */
  readonly pending: Map<string, Pending>;
  /** Until what is not acknowledged is sent again. */
  ackMs: number;
  opened: number;
  /** Most connections that were open at once. */
  most: number;
  acknowledged: number;
  /** Acknowledgements of no envelope. */
  strayAcknowledgements: number;
  redelivered: number;
  /** Given up after three attempts. */
  lost: number;
  pongs: number;
}

export interface FakeConnection {
  readonly socket: WebSocket;
  /** Its end was announced: nothing new is sent over it. */
  isLeaving: boolean;
}

interface Pending {
  readonly type: string;
  readonly payload: object;
  readonly attempt: number;
  /** Null: there was none that is open. */
  connection: FakeConnection | null;
  readonly timer: NodeJS.Timeout | undefined;
}

const MOST_CONNECTIONS = 10;
const MOST_ATTEMPTS = 3;

let envelopes = 0;

/** Serves one connection. */
export function serveSocket(socket: WebSocket, workspace: Workspace): void {
  const { sockets, app } = workspace;
  const connection: FakeConnection = { socket, isLeaving: false };
  const say = (message: object): void => socket.send(JSON.stringify(message));
  const host = "applink-fake";
  if (sockets.open.size >= MOST_CONNECTIONS) {
    say({ type: "disconnect", reason: "too_many_websockets", debug_info: { host } });
    socket.close();
    return;
  }
  sockets.open.add(connection);
  sockets.opened++;
  sockets.most = Math.max(sockets.most, sockets.open.size);
  socket.on("message", async (data) => {
    await workspace.holds.pass("before", { method: "acknowledge", body: {} });
    acknowledge(sockets, data);
  });
  socket.on("pong", () => sockets.pongs++);
  socket.on("error", () => undefined);
  socket.on("close", () => {
    sockets.open.delete(connection);
    for (const [id, { connection: of }] of sockets.pending) if (of === connection) again(workspace, id);
  });
  say({
    type: "hello",
    num_connections: sockets.open.size,
    debug_info: { host, started: "2026-01-01 00:00:00.000", build_number: 1, approximate_connection_time: 18_060 },
    connection_info: { app_id: app },
  });
  for (const [id, { connection: of }] of sockets.pending) if (of === null) again(workspace, id);
}

/** Events are sent again until they are acknowledged; what somebody presses is not. */
export function deliver(workspace: Workspace, type: string, payload: object, attempt = 0): void {
  const { sockets } = workspace;
  const id = `envelope-${++envelopes}`;
  const connection = [...sockets.open].findLast(({ isLeaving }) => !isLeaving) ?? null;
  const isEvent = type === "events_api";
  const timer = connection && isEvent ? setTimeout(() => again(workspace, id), sockets.ackMs) : undefined;
  timer?.unref();
  sockets.pending.set(id, { type, payload, attempt, connection, timer });
  const retry = isEvent ? { retry_attempt: attempt, retry_reason: attempt === 0 ? "" : "timeout" } : {};
  const envelope = { envelope_id: id, type, payload, accepts_response_payload: !isEvent, ...retry };
  connection?.socket.send(JSON.stringify(envelope));
}

function again(workspace: Workspace, id: string): void {
  const { sockets } = workspace;
  const pending = sockets.pending.get(id);
  if (pending === undefined) return;
  clearTimeout(pending.timer);
  sockets.pending.delete(id);
  if (pending.type !== "events_api") return;
  if (pending.attempt >= MOST_ATTEMPTS) {
    sockets.lost++;
    return;
  }
  if (pending.connection !== null) sockets.redelivered++;
  deliver(workspace, pending.type, pending.payload, pending.attempt + (pending.connection === null ? 0 : 1));
}

function acknowledge(sockets: SocketState, data: RawData): void {
  const { envelope_id: id }: { envelope_id?: unknown } = JSON.parse(String(data));
  const pending = sockets.pending.get(String(id));
  if (pending === undefined) {
    sockets.strayAcknowledgements++;
    return;
  }
  clearTimeout(pending.timer);
  sockets.pending.delete(String(id));
  sockets.acknowledged++;
}

/** Announces the end of the connections that are open; Slack closes them some seconds later. */
export function announce({ sockets }: Workspace, reason: string): void {
  for (const connection of sockets.open) {
    connection.isLeaving = true;
    connection.socket.send(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "applink-fake" } }));
  }
}

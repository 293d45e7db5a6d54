/** The gateway: sessions with numbered events, which a connection begins or resumes. Strict about what a client says, and when. */

import type { RawData, WebSocket } from "ws";
import type { BotState } from "./bot.ts";

export interface Session {
  readonly id: string;
  readonly intents: number;
  /** All events, from the first one on. */
  readonly events: { readonly t: string; readonly d: object }[];
  socket: WebSocket | null;
}

const GUILD_MESSAGES = 1 << 9;
const DIRECT_MESSAGES = 1 << 12;
const MESSAGE_CONTENT = 1 << 15;
/** A client is to wait 1 to 5 s before it identifies, once its session is invalid. */
export const IDENTIFY_PAUSE_MS = 1_000;

let sessions = 0;

export interface GatewayDeps {
  botOf(token: string): BotState | undefined;
  /** Where sessions are resumed. */
  readonly url: string;
}

/** Serves one connection. */
export function serveGateway(socket: WebSocket, heartbeatMs: number, { botOf, url }: GatewayDeps): void {
  let bot: BotState | undefined;
  let session: Session | undefined;
  const say = (op: number, d: unknown): void => socket.send(JSON.stringify({ op, d, s: null, t: null }));
  say(10, { heartbeat_interval: heartbeatMs });

  function begin(of: BotState, with_: Session): void {
    bot = of;
    session = with_;
    session.socket?.close(4_000);
    session.socket = socket;
    of.gateway.most = Math.max(of.gateway.most, ++of.gateway.open);
  }

  function invalidate(of: BotState): void {
    of.gateway.identifyFrom = performance.now() + IDENTIFY_PAUSE_MS;
    say(9, false);
  }

  function identify(d: Record<string, unknown>) {
    if (session) return socket.close(4_005, "Already authenticated.");
    const of = botOf(String(d["token"]));
    if (of === undefined) return socket.close(4_004, "Authentication failed.");
    const intents = Number(d["intents"]);
    if (!Number.isSafeInteger(intents) || typeof d["properties"] !== "object") {
      return socket.close(4_013, "Invalid intent(s).");
    }
    if ((intents & of.gateway.refusedIntents) !== 0) return socket.close(4_014, "Disallowed intent(s).");
    // As where a bot identifies too often; the pause begins again.
    if (performance.now() < of.gateway.identifyFrom) return invalidate(of);
    if (of.starts-- <= 0) return socket.close(4_008, "Rate limited.");
    of.gateway.identified++;
    const id = `session-${++sessions}`;
    const made: Session = { id, intents, events: [], socket: null };
    of.sessions.set(id, made);
    begin(of, made);
    dispatch(made, "READY", {
      v: 10,
      user: of.me,
      session_id: id,
      resume_gateway_url: url,
      application: { id: of.application, flags: 0 },
      guilds: [],
    });
  }

  function resume(d: Record<string, unknown>) {
    if (session) return socket.close(4_005, "Already authenticated.");
    const of = botOf(String(d["token"]));
    if (of === undefined) return socket.close(4_004, "Authentication failed.");
    const former = of.sessions.get(String(d["session_id"]));
    const seq = Number(d["seq"]);
    if (former === undefined) return invalidate(of);
    if (!(seq >= 0 && seq <= former.events.length)) return socket.close(4_007, "Invalid seq.");
    of.gateway.resumed++;
    begin(of, former);
    for (let index = seq; index < former.events.length; index++) transmit(former, index);
    dispatch(former, "RESUMED", {});
  }

  socket.on("message", (data: RawData) => {
    let payload: { op?: unknown; d?: unknown };
    try {
      payload = JSON.parse(String(data));
    } catch {
      return socket.close(4_002, "Decode error.");
    }
    if (payload.op === 1) {
      if (bot) bot.gateway.heartbeats++;
      if (!bot?.gateway.isZombie) say(11, null);
      return;
    }
    if (payload.op === 2) return identify(payload.d as Record<string, unknown>);
    if (payload.op === 6) return resume(payload.d as Record<string, unknown>);
    if (bot === undefined) socket.close(4_003, "Not authenticated.");
    else socket.close(4_001, "Unknown opcode.");
  });
  socket.on("close", (code) => {
    if (bot === undefined || session?.socket !== socket) return;
    session.socket = null;
    bot.gateway.open--;
    if (code === 1_000 || code === 1_001) bot.sessions.delete(session.id);
  });
}

export function dispatch(session: Session, t: string, d: object): void {
  session.events.push({ t, d });
  transmit(session, session.events.length - 1);
}

/** To each session, as far as its intents go. */
export function publish(bot: BotState, t: string, d: object, isDirect: boolean): void {
  for (const session of bot.sessions.values()) {
    if (t === "MESSAGE_CREATE" && (session.intents & (isDirect ? DIRECT_MESSAGES : GUILD_MESSAGES)) === 0) continue;
    const isHidden = t === "MESSAGE_CREATE" && !isDirect && (session.intents & MESSAGE_CONTENT) === 0;
    dispatch(session, t, isHidden ? { ...d, content: "", attachments: [] } : d);
  }
}

function transmit({ socket, events }: Session, index: number): void {
  const event = events[index];
  if (event) socket?.send(JSON.stringify({ op: 0, ...event, s: index + 1 }));
}

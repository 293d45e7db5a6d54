/** Who writes during a soak: every way into the memory, each repeated under the same key until it is acknowledged. */

import { setTimeout as sleep } from "node:timers/promises";
import { sessionKey } from "../../../runtime/domain/session-key.ts";
import { TOKEN } from "../../../test/support/node-process.ts";
import { messageText } from "../node.ts";
import { type Ledger, mark, type Sent } from "./ledger.ts";

export interface WriterDeps {
  /** Address of the node, which changes when it starts anew. */
  readonly url: () => string;
  readonly ledger: Ledger;
  /** When writing may go on: see phases.ts. */
  readonly burst: () => Promise<void>;
  /** Ends the writing; what is under way is repeated until it is acknowledged. */
  readonly until: AbortSignal;
  /** Ends everything, acknowledged or not. */
  readonly signal: AbortSignal;
  readonly onRetry: () => void;
}

const BATCH = 100;
const REQUEST_MS = 30_000;
const PAUSE_MS = 200;
/** Of the ledger's patience with one write: a fault lasts some seconds. */
const MOST_ATTEMPTS = 300;
/** Between two batches of a client: an assistant thinks, too. */
const BETWEEN_MS = 100;

/** Batches of a coding assistant's session; the first half of a batch is sent again with the next one. */
export async function captureSessions(writer: number, deps: WriterDeps): Promise<void> {
  let before: Sent[] = [];
  for (let batch = 0; !deps.until.aborted; batch += 1) {
    await deps.burst();
    const key = `soak:capture:${writer}:${Math.floor(batch / 20)}`;
    const rows = Array.from({ length: BATCH }, (_, n) => row("capture", writer, batch * BATCH + n, key));
    const repeated = before[0]?.sessionKey === key ? before.slice(0, BATCH / 2) : [];
    const events = [...repeated, ...rows].map((one) => ({
      event_id: one.mark,
      role: one.role,
      content: one.content,
      ...(one.toolName === null ? {} : { tool_name: one.toolName, tool_args: { of: one.mark } }),
      ...(one.toolResult === null ? {} : { tool_result: one.toolResult }),
    }));
    const body = { session_key: key, agent: "main", channel: "capture", source: "soak", events };
    await post("/api/capture", { ...body, finalize: batch % 20 === 19 }, deps);
    for (const one of rows) deps.ledger.acknowledged(one);
    before = rows;
    await sleep(BETWEEN_MS, undefined, { signal: deps.signal });
  }
}

/** Single messages by memory_append. */
export async function appendMessages(writer: number, deps: WriterDeps): Promise<void> {
  for (let n = 0; !deps.until.aborted; n += 1) {
    await deps.burst();
    const one = row("append", writer, n, `soak:append:${writer}:${Math.floor(n / 200)}`);
    await post(
      "/api/memory/tool/memory_append",
      {
        session_key: one.sessionKey,
        role: one.role,
        content: one.content,
        ...(one.toolName === null ? {} : { tool_name: one.toolName, tool_args: { of: one.mark } }),
        ...(one.toolResult === null ? {} : { tool_result: one.toolResult }),
        event_id: one.mark,
      },
      deps,
    );
    deps.ledger.acknowledged(one);
  }
}

/** Turns: the user's text is stored as it was sent, and the turn starts once. */
export async function takeTurns(writer: number, deps: WriterDeps): Promise<void> {
  for (let n = 0; !deps.until.aborted; n += 1) {
    await deps.burst();
    const session = `turns-${writer}-${Math.floor(n / 50)}`;
    const id = mark("turn", writer, n);
    const content = `[${id}] ${messageText(n)}`;
    const one = { mark: id, role: "user", content, toolName: null, toolResult: null };
    const body = { session, user: "soak", text: one.content };
    const end = await post("/api/agents/main/messages", body, deps, { "idempotency-key": one.mark });
    const sent = { ...one, sessionKey: keyOf(session) };
    if (end === "done") deps.ledger.acknowledged(sent);
    else deps.ledger.failed(sent);
  }
}

function keyOf(conversation: string): string {
  return sessionKey({ agent: "main", channel: "agent", conversation, user: "soak" });
}

function row(kind: string, writer: number, n: number, key: string): Sent {
  const id = mark(kind, writer, n);
  const tail = TAILS[n % TAILS.length] ?? "";
  const tool = n % 7 === 3;
  return {
    mark: id,
    sessionKey: key,
    role: tool ? "assistant" : (ROLES[n % ROLES.length] ?? "user"),
    content: tool ? "" : `[${id}] ${messageText(n)}${tail}`,
    toolName: tool ? "shell" : null,
    toolResult: tool ? `ran ${id}\n${messageText(n + 1)}` : null,
  };
}

const ROLES = ["user", "assistant", "system", "tool"];
/** What is easily spoiled on the way: several scripts, surrogate pairs, quotes, line ends, length. */
const TAILS = [
  "",
  " 🦊👩‍👩‍👧",
  " שלום مرحبا",
  " \"quoted\" \\ and 'single'",
  "\r\n\ttabbed\n",
  ` ${"long ".repeat(600)}`,
  " ８ｘ ﬁ é e\u0301",
];

async function post(
  path: string,
  body: unknown,
  deps: WriterDeps,
  headers: Record<string, string> = {},
): Promise<"done" | "turn failed"> {
  const text = JSON.stringify(body);
  for (let attempt = 0; ; attempt += 1) {
    deps.signal.throwIfAborted();
    const failure = await attemptOnce(new URL(path, deps.url()), text, headers, deps.signal);
    if (failure === null) return "done";
    if (failure.turnEnded) return "turn failed";
    if (failure.final || attempt >= MOST_ATTEMPTS) throw new Error(`${path}: ${failure.why}`);
    deps.onRetry();
    await sleep(PAUSE_MS, undefined, { signal: deps.signal });
  }
}

async function attemptOnce(url: URL, body: string, headers: Record<string, string>, signal: AbortSignal) {
  try {
    const response = await fetch(url, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    });
    const answer = await response.text();
    if (response.ok) return null;
    // A repeat that meets the first attempt still under way, and whatever may pass.
    const passes = response.status >= 500 || response.status === 409 || response.status === 429;
    // Its turn has ended so, and a repeat is told the same.
    const turnEnded = response.status >= 500 && /"turn_id":/.test(answer);
    return { final: !passes, turnEnded, why: `${response.status} ${answer.slice(0, 500)}` };
  } catch (error) {
    signal.throwIfAborted();
    return { final: false, turnEnded: false, why: String(error) };
  }
}

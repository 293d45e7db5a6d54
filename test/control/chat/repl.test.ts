import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createChatView } from "../../../control/chat/chat-view.ts";
import { runRepl } from "../../../control/chat/repl.ts";
import type { ChatNode } from "../../../control/chat/turn-stream.ts";
import type { Mark } from "../../../control/output/terminal.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../../runtime/contracts/stream.ts";

const same = (text: string): string => text;
const PLAIN: Mark = { title: same, good: same, warn: same, error: same, name: same, dim: same };
const refused = () => new RuntimeError("RUNTIME_NOT_RUNNING", "No node answers at http://127.0.0.1:1 (ECONNREFUSED).");
const draining = () => new RuntimeError("RUNTIME_DRAINING", "The node is stopping.");
const STOPPED: StreamEvent = {
  type: "turn.finished",
  turn_id: "one",
  session: "s",
  text: "",
  usage: { inputTokens: 1, outputTokens: 1 },
  interrupted: true,
  notice: "Stopped.",
};

describe("a conversation while its node is away", () => {
  it("says once that the connection is gone, and that it is back", async () => {
    const chat = openChat();
    chat.type("one\r");
    await chat.until(() => chat.asked.length === 1);
    chat.asked[0]?.watch?.("lost");
    await chat.untilShown("(The connection to the node is gone; it is being taken up again.)");
    chat.asked[0]?.watch?.("back");
    await chat.untilShown("(The node is back.)");
    expect(chat.shown().match(/connection to the node is gone/g)).toHaveLength(1);
  });

  it.each([
    ["is there no more", refused, "(The node does not answer; the message waits and is sent when it is back.)"],
    ["drains", draining, "(The node finishes the turns that run before it stops; the message waits"],
  ])("sends what was typed while it %s, in its order, each under one key", async (_what, error, words) => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const chat = openChat();
    chat.fail = error;
    chat.type("one\rtwo\r");
    await chat.untilShown(words);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(chat.shown()).not.toContain("Error:");
    chat.fail = null;
    await vi.advanceTimersByTimeAsync(2_000);
    await chat.untilShown("(The node is back.)");
    await chat.until(() => chat.accepted.length === 2);
    expect(chat.accepted).toEqual(["one", "two"]);
    expect(new Set(chat.asked.filter(({ text }) => text === "one").map(({ key }) => key)).size).toBe(1);
  });

  it("says on leaving what the node has not confirmed", async () => {
    const chat = openChat();
    chat.fail = refused;
    chat.type("hello?\r");
    await chat.untilShown("the message waits");
    chat.type("\u0003");
    await chat.untilShown("(The node does not answer: /stop was not given.)");
    chat.type("\u0003");
    expect(await chat.farewell).toBe("interrupted");
    expect(chat.shown()).toContain("The node has not confirmed this message: hello?");
    expect(chat.shown()).not.toContain("The turn goes on");
  });
});

describe("Ctrl-C", () => {
  it("stops the turn, and leaves the second time, also where the turn has ended in between", async () => {
    const chat = openChat();
    chat.type("one\r");
    await chat.until(() => chat.asked.length === 1);
    chat.type("\u0003");
    await chat.untilShown("! Stopped.");
    expect(chat.shown()).not.toMatch(/^Stopped\./m);
    chat.type("\u0003");
    expect(await chat.farewell).toBe("interrupted");
    expect(chat.shown()).not.toContain("Ctrl-C again leaves");
  });
});

interface Asked {
  readonly text: string;
  readonly key: string | undefined;
  readonly watch: ((state: "lost" | "back") => void) | undefined;
}

function openChat() {
  // A terminal, as far as the conversation asks for one.
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => input,
  }) as unknown as NodeJS.ReadStream;
  const output = Object.assign(new PassThrough(), { columns: 200 }) as unknown as NodeJS.WriteStream;
  const mark = PLAIN;
  let shown = "";
  output.on("data", (piece: Buffer) => {
    shown += piece.toString("utf8");
  });
  const stopped = Promise.withResolvers<StreamEvent>();
  const chat = {
    asked: [] as Asked[],
    accepted: [] as string[],
    fail: null as (() => Error) | null,
    shown: () => shown,
    type: (keys: string) => void input.push(keys),
    until: (done: () => boolean) => vi.waitFor(() => expect(done()).toBe(true)),
    untilShown: (words: string) => vi.waitFor(() => expect(shown).toContain(words)),
    farewell: Promise.resolve("done"),
  };
  const node: ChatNode = {
    async *stream(_agent, { text }, { idempotencyKey: key, onConnection, signal } = {}) {
      chat.asked.push({ text, key, watch: onConnection });
      if (chat.fail) throw chat.fail();
      chat.accepted.push(text);
      onConnection?.("accepted");
      yield { type: "turn.started", turn_id: text, session: "s", agent: "main", attempt: 1 };
      const aborted = new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      yield await Promise.race([stopped.promise, aborted]);
    },
    follow: () => {
      throw new Error("not asked for");
    },
    async command(_agent, { line }) {
      if (line !== "/stop") return { text: "", data: {} };
      if (chat.fail) throw chat.fail();
      // The turn's end may be here before the command's answer.
      stopped.resolve(STOPPED);
      await new Promise((resolve) => setImmediate(resolve));
      return { text: "Stopped.", data: { stopped: true } };
    },
  };
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  let ids = 0;
  chat.farewell = runRepl(node, {
    conversation: { agent: "main", session: "s" },
    input,
    output,
    mark,
    view: createChatView(mark),
    newId: () => `key${++ids}`,
    signal: leaving.signal,
  });
  return chat;
}

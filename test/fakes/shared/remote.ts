import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import type { FakeReply, RecordedRequest } from "./script.ts";
import type { FakeCounters } from "./server.ts";

/** A fake that runs in a process of its own, so that it outlives the process under test. */
export interface RemoteFake {
  readonly url: string;
  readonly baseUrl: string;
  state(): Promise<{ readonly counters: FakeCounters; readonly requests: readonly RecordedRequest[] }>;
  enqueue(...replies: readonly FakeReply[]): Promise<void>;
  release(gate: string): Promise<void>;
  waitForRequests(count: number, deadlineMs?: number): Promise<void>;
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function spawnFake(
  api: "openai" | "anthropic" | "chat-completions" | "gemini" | "ollama" | "xai",
  args: readonly string[] = [],
): Promise<RemoteFake> {
  const entry = fileURLToPath(new URL(`../${api}/main.ts`, import.meta.url));
  const child = spawn(process.execPath, [entry, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const { url, baseUrl } = await addresses(child);
  const call = async (path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${url}/_fake/${path}`, init);
    if (!response.ok) throw new Error(`The fake answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  return {
    url,
    baseUrl,
    // The shapes of server.ts, over HTTP.
    state: async () => (await call("state")) as Awaited<ReturnType<RemoteFake["state"]>>,
    enqueue: async (...replies) => void (await call("replies", { replies })),
    release: async (gate) => void (await call("release", { gate })),
    waitForRequests: async (count, deadlineMs = EVENTUALLY_MS) =>
      void (await call(`wait?requests=${count}&deadline_ms=${deadlineMs}`)),
    reset: async () => void (await call("reset", {})),
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

async function addresses(
  child: ChildProcessByStdio<Writable, Readable, null>,
): Promise<{ readonly url: string; readonly baseUrl: string }> {
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line);
  throw new Error("The fake ended before it listened.");
}

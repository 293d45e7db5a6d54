/**
 * A server as a child process. The library's own transport signals the program alone, waits four seconds for its end, and lets it
 * inherit the terminal; this one ends the whole process group within a second.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { codeOf } from "../../contracts/system-errors.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import type { StdioTarget } from "./settings.ts";

const KILL_GRACE_MS = 1_000;
/** For output that is still in the pipes when the program has ended. */
const PIPE_CLOSE_MS = 500;
const STDERR_BYTES = 2_000;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why it ended; null while it runs. */
  endReason: string | null = null;
  readonly #target: StdioTarget;
  readonly #env: Readonly<Record<string, string>>;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  readonly #ended = Promise.withResolvers<void>();
  #child: Child | null = null;
  #errorOutput = Buffer.alloc(0);

  constructor(target: StdioTarget, env: Readonly<Record<string, string>>) {
    this.#target = target;
    this.#env = env;
  }

  /** The end of what the program wrote to its error output, for the log alone. */
  get errorOutput(): string {
    return this.#errorOutput.toString("utf8");
  }

  /** Rejects when the program cannot be started. */
  async start(): Promise<void> {
    const { command, args, cwd } = this.#target;
    const child: Child = spawn(command, [...args], {
      cwd,
      env: { ...this.#env },
      stdio: ["pipe", "pipe", "pipe"],
      // A group of its own, so that it can be ended with all that it has started.
      detached: true,
    });
    this.#child = child;
    const started = new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        this.#finish(`its program cannot be started (${codeOf(error) ?? "unknown error"})`);
        reject(error);
      });
    });
    // Where descriptors are short there are no streams, and the error comes later.
    if (child.stdout === null || child.stderr === null || child.stdin === null) return started;
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#errorOutput = Buffer.concat([this.#errorOutput, chunk]).subarray(-STDERR_BYTES);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", (error) => this.onerror?.(error));
    }
    child.once("exit", (code, signal) => void this.#onExit(child, code, signal));
    await started;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable || this.endReason !== null) throw new Error("The program has ended.");
    await new Promise<void>((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Resolves when the program and its group are gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === null || this.endReason !== null) return this.#finish("it was stopped");
    child.stdin.end();
    signalGroup(child, "SIGTERM");
    await Promise.race([this.#ended.promise, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
    if (this.endReason === null) signalGroup(child, "SIGKILL");
    await Promise.race([this.#ended.promise, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
    this.#finish("it was stopped");
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch {
      this.#refuseMessage();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message: many programs write greetings to their output.
        this.onerror?.(error instanceof Error ? error : new Error("an unreadable line"));
      }
    }
  }

  #refuseMessage(): void {
    if (this.#child) {
      this.#child.stdout.destroy();
      signalGroup(this.#child, "SIGKILL");
    }
    this.#finish(`it sent a message of more than ${MAX_MESSAGE_BYTES / 1024 ** 2} MiB`);
  }

  async #onExit(child: Child, code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    // What it has started and left behind ends with it, also where it has ended by itself.
    signalGroup(child, "SIGKILL");
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    await Promise.race([closed, sleep(PIPE_CLOSE_MS, undefined, { ref: false })]);
    child.stdout.destroy();
    child.stderr.destroy();
    this.#finish(signal === null ? `its program ended with code ${code}` : `its program was ended by ${signal}`);
  }

  #finish(reason: string): void {
    this.#buffer.clear();
    if (this.endReason !== null) return;
    this.endReason = reason;
    this.#ended.resolve();
    this.onclose?.();
  }
}

function signalGroup({ pid }: Child, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // None of the group is left.
  }
}

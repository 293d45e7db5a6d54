/**
 * Processes that run one command line after the other (command-server.ts); as many as a test file runs at once. Files that share a process
 * share them. They end with the process that has started them, and do not keep it alive.
 */

import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { CommandLine } from "./command-server.ts";

const SERVER = fileURLToPath(new URL("./command-server.ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./cairn.ts", import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class CommandServers {
  /** With the service that each starts: it is chosen once, when the process begins. */
  readonly #idle: { readonly server: ChildProcess; readonly standIn: string | undefined }[] = [];

  /** Rejects never: a command that ends its process has the process's exit code. */
  async run(line: Omit<CommandLine, "end">): Promise<Outcome> {
    const standIn = line.env["CAIRN_STAND_IN"];
    const at = this.#idle.findIndex((one) => one.standIn === standIn);
    const server = this.#idle.splice(at, at === -1 ? 0 : 1)[0]?.server ?? (await this.#started(line.env));
    const end = `\0${randomUUID()}\0`;
    const stdout = textUntil(server.stdout, end);
    const stderr = textUntil(server.stderr, end);
    const ended = endOf(server);
    server.send({ ...line, end } satisfies CommandLine);
    const { code, lives } = await ended;
    const outcome = { code, stdout: await stdout, stderr: await stderr };
    if (lives) this.#idle.push({ server, standIn });
    return outcome;
  }

  async #started(env: CommandLine["env"]): Promise<ChildProcess> {
    const server = fork(SERVER, [PROGRAM], { env: { ...env }, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    await once(server, "message");
    server.unref();
    server.channel?.unref();
    return server;
  }
}

/** The exit code of the command, and whether its process lives on. */
function endOf(server: ChildProcess): Promise<{ readonly code: number | null; readonly lives: boolean }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; lives: boolean }>();
  const answered = (code: unknown): void => resolve({ code: Number(code), lives: true });
  const closed = (): void => resolve({ code: server.exitCode, lives: false });
  server.once("message", answered);
  server.once("close", closed);
  return promise.finally(() => server.off("message", answered).off("close", closed));
}

/** What the stream brings before `end`, or before it is closed. */
async function textUntil(stream: ChildProcess["stdout"], end: string): Promise<string> {
  if (!stream) throw new Error("the process has no output to read");
  const { promise, resolve } = Promise.withResolvers<void>();
  let bytes = Buffer.alloc(0);
  const listener = (piece: Buffer): void => {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.subarray(-end.length).toString("latin1") === end) resolve();
  };
  stream.on("data", listener);
  stream.once("close", resolve);
  await promise;
  stream.off("data", listener);
  stream.off("close", resolve);
  const text = bytes.toString("utf8");
  return text.endsWith(end) ? text.slice(0, -end.length) : text;
}

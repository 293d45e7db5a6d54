/** The processes of a cluster: each has a log, and all end together, with the test's own process at the latest. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const STOP_MS = 10_000;
const POLL_MS = 100;
const LAST_LINES = 5;

export interface Processes {
  /** Starts one; its output goes to `<name>.log`. */
  run(name: string, program: string, args: readonly string[]): void;
  /** Waits until `done` gives true; throws when a process has ended, and after `timeoutMs`. */
  until(done: () => boolean | Promise<boolean>, timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
  /** What each of them said last. */
  lastWords(): string;
}

/** `inside`: makes of a program and its arguments what is started. `directory`: for the logs. */
export function clusterProcesses(
  directory: string,
  inside: (program: string, args: readonly string[]) => readonly string[] = (program, args) => [program, ...args],
): Processes {
  const children = new Map<string, ChildProcess>();
  const log = (name: string) => join(directory, `${name}.log`);
  const bound = spawnSync("setpriv", ["--version"], { stdio: "ignore" }).status === 0;
  return {
    run(name, program, args) {
      const line = [...(bound ? ["setpriv", "--pdeathsig", "KILL", "--"] : []), ...inside(program, args)];
      const output = openSync(log(name), "a");
      children.set(name, spawn(line[0] ?? program, line.slice(1), { stdio: ["ignore", output, output] }));
    },
    async until(done, timeoutMs) {
      const deadline = Date.now() + timeoutMs;
      while (!(await done())) {
        const ended = [...children].find(([, child]) => child.exitCode !== null);
        if (ended !== undefined) throw new Error(`${ended[0]} has ended`);
        if (Date.now() > deadline) throw new Error("it takes too long");
        await sleep(POLL_MS);
      }
    },
    async stop() {
      for (const child of [...children.values()].toReversed()) await end(child);
    },
    lastWords: () =>
      [...children.keys()]
        .map(log)
        .filter(existsSync)
        .map((file) => readFileSync(file, "utf8").trim().split("\n").slice(-LAST_LINES).join("\n"))
        .join("\n"),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  // What it would tidy up is removed as a whole.
  child.kill("SIGKILL");
  await Promise.race([gone, sleep(STOP_MS, undefined, { ref: false })]);
}

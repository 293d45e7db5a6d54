/**
 * Loaded into a node before anything else (`--import`): after SIGUSR2 it kills the process at the statement that
 * CAIRN_TEST_KILL names, on its way to the embedded store's thread or with its answer on the way back. The product knows
 * nothing of it.
 */

import { Worker } from "node:worker_threads";
import { parseKillPoint, Trap, WireWatcher } from "./wire-watcher.ts";

const point = parseKillPoint(process.env.CAIRN_TEST_KILL ?? "");
const watchers = new WeakMap<Worker, WireWatcher>();
let trap: Trap | null = null;
process.on("SIGUSR2", () => {
  trap = new Trap(point, () => process.kill(process.pid, "SIGKILL"));
  process.send?.({ type: "armed" });
});

function watcherOf(worker: Worker): WireWatcher {
  const watcher = watchers.get(worker) ?? new WireWatcher(() => trap);
  watchers.set(worker, watcher);
  return watcher;
}

function bytesOf(message: unknown): Uint8Array | null {
  const isBytes = typeof message === "object" && message !== null && "bytes" in message;
  return isBytes && message.bytes instanceof Uint8Array ? message.bytes : null;
}

const { postMessage, emit } = Worker.prototype;
Worker.prototype.postMessage = function (this: Worker, message: unknown, ...rest: never[]) {
  const bytes = bytesOf(message);
  if (bytes) watcherOf(this).client(bytes);
  return postMessage.call(this, message, ...rest);
};
Worker.prototype.emit = function (this: Worker, event: string | symbol, ...args: unknown[]) {
  const bytes = event === "message" ? bytesOf(args[0]) : null;
  if (bytes) watcherOf(this).server(bytes);
  return emit.call(this, event, ...args);
};

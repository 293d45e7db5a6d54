/**
 * Every npm script goes through here: find or fetch the Node that the project needs, install packages when the lockfile
 * changed, build when a source changed, then run the task. Runs on Node 18 or newer.
 */
// @ts-check

import process from "node:process";
import { ensureBuilt } from "./lib/build-stamp.js";
import { runToEnd } from "./lib/child.js";
import { ensureDependencies } from "./lib/dependencies.js";
import { findNode } from "./lib/node.js";
import { TASKS } from "./lib/tasks.js";

const [name = "", ...args] = process.argv.slice(2);
const task = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined;
if (task === undefined) {
  process.stderr.write(`Unknown task "${name}". Known: ${Object.keys(TASKS).join(", ")}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = await main(task);
}

/** @param {import("./lib/tasks.js").Task} task */
async function main(task) {
  try {
    const node = await findNode();
    await ensureDependencies(node);
    if (task.built) await ensureBuilt(node);
    return await runToEnd(node, [...task.command, ...args], { env: { ...task.env, ...process.env } });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

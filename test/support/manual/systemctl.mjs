#!/usr/bin/env node
/**
 * Plays `systemctl` of one manager, for machines on which no systemd runs: units are files of $XDG_CONFIG_HOME/systemd/user, and their
 * processes are real. What it leaves out: restarts after a failure, control groups, confinement, and all that is not asked of it here.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;
const folder = join(process.env.XDG_CONFIG_HOME ?? "", "systemd", "user");
const flags = process.argv.slice(2).filter((word) => word.startsWith("--"));
const [verb, named = ""] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const unit = named.replace(/\.service$/, "");
const file = join(folder, `${unit}.service`);
const state = join(folder, `${unit}.pid`);

if (["daemon-reload", "enable"].includes(verb)) process.exit(0);
if (flags.includes("--system") || !existsSync(file)) fail(`Unit ${named} could not be found.`);

const verbs = {
  cat: () => process.stdout.write(readFileSync(file, "utf8")),
  "is-active": () => process.stdout.write(`${activity()}\n`),
  show: () => process.stdout.write(`${activity() === "active" ? pid() : 0}\n`),
  "reset-failed": () => undefined,
  stop,
  start,
  async restart() {
    await stop();
    start();
  },
};
const work = verbs[verb];
if (work === undefined) fail(`This stand-in knows no ${verb}.`);
await work();

function activity() {
  if (!existsSync(state)) return "inactive";
  return isAlive(pid()) ? "active" : "failed";
}

function pid() {
  return Number(readFileSync(state, "utf8"));
}

async function stop() {
  if (activity() === "active") {
    process.kill(pid(), "SIGTERM");
    while (isAlive(pid())) await sleep(POLL_MS);
  }
  rmSync(state, { force: true });
}

function start() {
  if (activity() === "active") return;
  const text = readFileSync(file, "utf8");
  const words = (key) => [...(line(text, key).matchAll(/"((?:[^"\\]|\\.)*)"/g) ?? [])].map(([, word]) => word);
  const [program, ...args] = words("ExecStart");
  const env = Object.fromEntries(words("Environment").map((word) => word.split(/=(.*)/s, 2)));
  mkdirSync(folder, { recursive: true });
  const log = openSync(join(folder, `${unit}.log`), "a");
  const child = spawn(program, args, {
    cwd: line(text, "WorkingDirectory"),
    env,
    stdio: ["ignore", log, log],
    detached: true,
  });
  child.unref();
  writeFileSync(state, String(child.pid));
}

function line(text, key) {
  return new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
}

/** A process that has ended and was not waited for is none. */
function isAlive(one) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${one}/status`, "utf8"));
  } catch {
    return false;
  }
}

function fail(words) {
  process.stderr.write(`${words}\n`);
  process.exit(1);
}

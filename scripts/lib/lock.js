/** One at a time: two commands that are started together must not set up the same folder twice. */
// @ts-check

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE } from "./paths.js";

const POLL_MS = 200;

/** Longer than the slowest set-up on a slow line, in milliseconds. */
const DEADLINE_MS = 15 * 60_000;

/**
 * Does `work` while no other process does work of this name; waits for the one that does. A lock whose process has ended
 * is taken over. Throws after a quarter of an hour.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T> | T} work
 * @param {string} [folder]
 * @returns {Promise<T>}
 */
export async function withLock(name, work, folder = CACHE) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.lock`);
  const deadline = Date.now() + DEADLINE_MS;
  while (!take(file)) {
    const holder = holderOf(file);
    if (holder !== undefined && !isAlive(holder)) removeStale(file, holder);
    else if (Date.now() > deadline) throw new Error(`Process ${holder} has held ${file} for too long`);
    else await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} file */
function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** Undefined while the file is being written, or when it has just gone. @param {string} file */
function holderOf(file) {
  try {
    const pid = Number.parseInt(readFileSync(file, "utf8"), 10);
    return Number.isNaN(pid) ? undefined : pid;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Moved aside before it is removed: another process may have taken the lock over meanwhile. @param {string} file @param {number} holder */
function removeStale(file, holder) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (holderOf(aside) === holder) rmSync(aside, { force: true });
  else renameSync(aside, file);
}

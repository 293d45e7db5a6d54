/** Runs a child process in the foreground, as if it stood in the place of this one. */
// @ts-check

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { delimiter, dirname } from "node:path";
import process from "node:process";
import { ROOT } from "./paths.js";

/** @type {readonly NodeJS.Signals[]} */
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"];

/**
 * Runs `node args...` from the root of the repository with this terminal, passes signals on, and resolves with the exit code
 * (128 + n for an end by signal n). Children of the child find the same Node first on PATH.
 *
 * @param {string} node
 * @param {readonly string[]} args
 * @param {{ stdout?: "inherit" | "stderr", env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export function runToEnd(node, args, { stdout = "inherit", env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, {
      cwd: ROOT,
      stdio: ["inherit", stdout === "stderr" ? 2 : "inherit", "inherit"],
      env: { ...env, PATH: `${dirname(node)}${delimiter}${env.PATH ?? ""}` },
    });
    const handlers = FORWARDED.map((signal) => {
      const handler = () => {
        // On a terminal Ctrl-C reaches the whole process group: the child has had it already.
        if (signal === "SIGINT" && process.stdin.isTTY) return;
        child.kill(signal);
      };
      process.on(signal, handler);
      return { signal, handler };
    });
    const release = () => {
      for (const { signal, handler } of handlers) process.off(signal, handler);
    };
    child.once("error", (error) => {
      release();
      reject(error);
    });
    child.once("close", (code, signal) => {
      release();
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

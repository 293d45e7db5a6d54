/** Opens an address in the user's browser, where there is one. */

import { spawn } from "node:child_process";

/** Milliseconds after which a command that opens a browser counts as having done so: some run as long as it does. */
const OPENED_MS = 2_000;

/** The command, or null on a machine without a display. Pure. */
export function browserCommand(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly string[] | null {
  if (env["BROWSER"]) return [env["BROWSER"]];
  if (platform === "darwin") return ["open"];
  if (platform === "linux" && (env["DISPLAY"] || env["WAYLAND_DISPLAY"])) return ["xdg-open"];
  return null;
}

/** False when it could not be opened: the address has to be opened by hand. Never rejects. */
export async function openBrowser(url: string, command: readonly string[], signal: AbortSignal): Promise<boolean> {
  const [program = "", ...args] = command;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  // It lives on when this command ends.
  child.unref();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("error", () => resolve(false));
  child.once("exit", (code) => resolve(code === 0));
  const timer = setTimeout(() => resolve(true), OPENED_MS);
  const end = (): void => resolve(true);
  signal.addEventListener("abort", end, { once: true });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** A user with coding assistants, and Cairn's home with the hook's files, over a stand-in of the node. */

import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { runHook } from "../../runtime/client/hook/run.ts";
import { capturePaths, writeCaptureSettings } from "../../runtime/client/hook/settings.ts";
import type { CaptureEvent } from "../../runtime/contracts/capture.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { captureNode } from "./capture-node.ts";

export async function captureHome() {
  const userHome = await mkdtemp(join(tmpdir(), "cairn-hook-"));
  onTestFinished(() => rm(userHome, { recursive: true, force: true }));
  const home = join(userHome, ".cairn");
  const node = await captureNode();
  await writeCaptureSettings(home, { version: 1, base_url: node.url, local: true, token_id: null }, "token");
  const paths = capturePaths(home);
  const machine = { env: {}, userHome };
  return {
    home,
    userHome,
    node,
    paths,
    machine,
    /** Calls the hook as the harness would. */
    hook: (harness: string, payload: object | string, signal = AbortSignal.timeout(EVENTUALLY_MS)) =>
      runHook({
        harness,
        home,
        payload: typeof payload === "string" ? payload : JSON.stringify(payload),
        machine,
        signal,
      }),
    log: () => readFile(paths.log, "utf8").catch(() => ""),
    /** A path below the user's home whose directory is there. */
    async place(...parts: string[]): Promise<string> {
      const path = join(userHome, ...parts);
      await mkdir(dirname(path), { recursive: true });
      return path;
    },
  };
}

/** What an event says, whatever it is. */
export function saying(event: CaptureEvent): unknown {
  return event.content ?? event.tool_result ?? event.tool_args;
}

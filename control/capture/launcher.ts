/** The texts that are written for the harnesses: what they start, and OpenCode's plugin. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { shellQuote } from "../../runtime/contracts/shell-quote.ts";
import { templateDirectory } from "../wizard/templates.ts";

export interface LauncherPlaces {
  /** Cairn's home. */
  readonly home: string;
  /** `bin/cairn-capture.js` of this installation. */
  readonly script: string;
  /** The Node that runs this command. */
  readonly node: string;
}

export const SIGNATURE = "Written by `cairn capture install opencode`";

export async function launcherText({ home, script, node }: LauncherPlaces): Promise<string> {
  const template = await readFile(join(templateDirectory(), "capture", "hook"), "utf8");
  const values: Readonly<Record<string, string>> = { HOME: home, SCRIPT: script, NODE: node };
  return template.replace(/@(HOME|SCRIPT|NODE)@/g, (_all, name: string) => shellQuote(values[name] ?? ""));
}

export async function pluginText(launcher: string): Promise<string> {
  const template = await readFile(join(templateDirectory(), "capture", "opencode-plugin.js"), "utf8");
  return template.replace('"@HOOK@"', () => JSON.stringify(launcher));
}

/** The command in a harness's settings. Settings hold no secret: the launcher finds the token by its place. */
export function hookCommand(launcher: string, harness: string): string {
  return `${shellQuote(launcher)} ${harness}`;
}

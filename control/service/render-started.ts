/** How a node that is started is announced. */

import type { ConfigIssue } from "../../runtime/config/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type { InitResult } from "../wizard/init.ts";
import type { StartResult } from "./launch.ts";

export function renderStarted({ pid, url, token, agent, home }: StartResult, mark: Mark): string {
  const rows = [
    ["url", mark.name(url)],
    ["token", token],
    ["log", `${home}/logs (\`cairn logs --follow\`)`],
    ["talk", `\`cairn chat --agent ${agent}\``],
    ["stop", "`cairn stop`"],
  ].map(([name = "", text = ""]) => [mark.dim(name), text]);
  return `${mark.good("The node is ready")} (process ${pid}).\n${columns(rows)}`;
}

/** What the configuration is warned of, a line each. */
export function renderWarnings(warnings: readonly ConfigIssue[], mark: Mark): string[] {
  return warnings.map(({ path, message }) => `${mark.warn("Note:")} ${visible(`${path}: ${message}`)}`);
}

/** What the first start has set up; the rest follows when the node is there. */
export function renderFirstSetup({ dir, provider, notes }: InitResult, mark: Mark): string {
  const model = provider.model === undefined ? "" : `, model ${provider.model}`;
  return [
    `There was no configuration: one was written to ${mark.name(dir)}.`,
    `The provider is ${mark.title(provider.id)}${model}: ${provider.reason}.`,
    ...notes.map((note) => `${mark.warn("Note:")} ${note}`),
  ].join("\n");
}

/** How a node that has been started is announced. */

import { columns, type Mark } from "../output/terminal.ts";
import type { StartResult } from "./launch.ts";

export function renderStarted({ pid, url, token, agent, home }: StartResult, mark: Mark): string {
  const rows = [
    ["url", mark.name(url)],
    ["token", token],
    ["log", `${home}/logs (cairn logs --follow)`],
    ["talk", `cairn chat ${agent}`],
    ["stop", "cairn stop"],
  ].map(([name = "", text = ""]) => [mark.dim(name), text]);
  return `${mark.good("The node is ready")} (process ${pid}).\n${columns(rows)}`;
}

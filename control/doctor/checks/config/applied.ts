/** Whether the running node has the configuration as it is written: it reads cairn.yaml and .env once, at its start. */

import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { SECRETS_FILE } from "../../../../runtime/config/secrets-file.ts";
import { duration } from "../../../output/words.ts";
import { type Check, pass, skip, warn } from "../check.ts";

export const configApplied: Check = {
  id: "config.applied",
  subject: "whether the node has read the configuration as it is now",
  async run(context) {
    if ((await context.target()) !== null) {
      return skip("The nodes have what was deployed: `cairn infra preview` shows how it differs.");
    }
    const { state } = await context.node();
    if (state !== "running") return skip("No node of this home runs.");
    const { started_at: startedAt } = await context.health();
    const started = Date.parse(startedAt);
    const { file, dir } = context.paths;
    const times = await Promise.all([file, join(dir, SECRETS_FILE)].map(changedAt));
    const later = times.filter(({ at }) => at > started);
    if (later.length === 0) return pass("The node has read the configuration as it is.");
    const newest = Math.max(...later.map(({ at }) => at));
    return warn(
      `${later.map(({ name }) => name).join(" and ")} ${later.length === 1 ? "was" : "were"} changed ${duration(Math.max(0, newest - started))} after the node started: it works with what was there before.`,
      "Let the node read it: `cairn restart`.",
    );
  },
};

async function changedAt(path: string): Promise<{ readonly name: string; readonly at: number }> {
  const at = await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  return { name: basename(path), at };
}

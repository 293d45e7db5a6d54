/** Directories that the configuration names for plugins and skills. */

import { stat } from "node:fs/promises";
import { type Check, pass, skip, warn } from "../check.ts";

export const configDirectories: Check = {
  id: "config.directories",
  subject: "directories of plugins and skills",
  async run(context) {
    const config = await context.config();
    const named = (["plugin_dirs", "skill_dirs"] as const).flatMap((key) => config[key].map((path) => ({ key, path })));
    if (named.length === 0) return skip("The configuration names neither plugin_dirs nor skill_dirs.");
    const checked = await Promise.all(
      named.map(async (entry) => ({ ...entry, isThere: await isDirectory(entry.path) })),
    );
    const missing = checked.filter(({ isThere }) => !isThere);
    if (missing.length === 0) return pass("The directories of plugins and skills are there.");
    return warn(
      `${missing.map(({ key, path }) => `${key}: ${path} is no directory`).join("; ")}.`,
      "Make the directory, or correct its path in cairn.yaml: one that is relative begins beside that file.",
    );
  },
};

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

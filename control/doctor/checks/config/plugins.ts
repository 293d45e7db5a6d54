/** Whether the node has loaded the plugins of plugin_dirs; without a node, whether it could find them. */

import { getuid } from "node:process";
import { pluginAccessProblem } from "../../../../runtime/files/plugin-access.ts";
import { visible } from "../../../output/visible.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, skip } from "../check.ts";

export const configPlugins: Check = {
  id: "config.plugins",
  subject: "plugins of plugin_dirs",
  async run(context) {
    const snapshot = await context.configuration();
    // Throws where there is no valid one.
    if (snapshot.state !== "valid") await context.config();
    const plugins = snapshot.state === "valid" ? snapshot.plugins : [];
    if (plugins.length === 0) return skip("The configuration names no directory with plugins.");
    const reports = await context.health().then(
      (health) => health.plugins ?? [],
      () => [],
    );
    const problems = await Promise.all(
      plugins.map(async ({ id, path, problem }) => {
        const found = problem ?? (await pluginAccessProblem(path, getuid?.() ?? 0));
        const report = reports.find((one) => (id === null ? one.path === path : one.id === id));
        const reason = found ?? report?.reason ?? null;
        return reason === null ? [] : [`${id ?? path}: ${visible(reason)}`];
      }),
    );
    const lines = problems.flat();
    if (lines.length === 0) return pass("The plugins can be used.");
    return fail(
      `${lines.length} of ${plugins.length} plugins cannot be used; the node runs without them.`,
      `Correct what is wrong, or take the folder out of plugin_dirs, then ${await applyCommand(context)}. Changed code counts once the node is stopped and started.`,
      { details: lines },
    );
  },
};

/** Whether a workspace, in which agents write, holds the deployment directory or the home with the service's secrets. */

import { checkWorkspacePlaces } from "../../../../runtime/config/checks/places.ts";
import { formatPath } from "../../../../runtime/config/tree.ts";
import { type Check, pass, warn } from "../check.ts";

export const secretsWorkspace: Check = {
  id: "secrets.workspace",
  subject: "workspaces around the service's own files",
  async run(context) {
    const { dir } = context.paths;
    const found = await checkWorkspacePlaces(await context.config(), { dir, home: context.paths.home ?? dir });
    if (found.length === 0) return pass("Workspaces hold neither the service's own files nor each other.");
    const lines = found.map(({ path, message }) => `${formatPath(path)}: ${message}`);
    return warn(
      lines.length === 1 ? `${lines[0]}.` : `${lines.length} workspaces lie where agents should not write.`,
      "Give each a directory of its own below the deployment directory, such as `runtime.workspace: workspace`.",
      { details: lines },
    );
  },
};

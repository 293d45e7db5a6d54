/** Whether agents can keep notes in their workspaces. */

import { access, constants } from "node:fs/promises";
import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import { type Check, fail, pass, Unavailable } from "../check.ts";
import { workspacesOf } from "./places.ts";

export const workspaceWritable: Check = {
  id: "workspace.writable",
  subject: "whether the agents' workspaces can be written",
  async run(context) {
    const results = await Promise.all(
      (await workspacesOf(context)).map(async ({ path }) => ({
        path,
        refused: await access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
          () => null,
          (error) => codeOf(error) ?? "unknown error",
        ),
      })),
    );
    const there = results.filter(({ refused }) => refused !== "ENOENT");
    if (there.length === 0) throw new Unavailable("There is no workspace.", ["workspace.exists"]);
    const closed = there.filter(({ refused }) => refused !== null);
    if (closed.length === 0) return pass("The workspace can be written.");
    const lines = closed.map(({ path, refused }) => `${path} (${refused})`);
    return fail(
      `The workspace cannot be written: ${lines.join(", ")}.`,
      `Give it to the user of the service: \`chown -R USER ${closed.map(({ path }) => shellWord(path)).join(" ")}\`.`,
    );
  },
};

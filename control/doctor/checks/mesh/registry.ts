/** Whether the registry of the mesh can be read, and what the node says of itself as a member. */

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { ProbeContext } from "../../context/probe-context.ts";
import { reasonOf } from "../../context/regular-file.ts";
import { type Check, fail, pass, warn } from "../check.ts";
import { readMembers, registryPath, requireMesh } from "./members.ts";

export const meshRegistry: Check = {
  id: "mesh.registry",
  subject: "the registry of the mesh",
  async run(context) {
    await requireMesh(context);
    const path = registryPath(context);
    let members: Awaited<ReturnType<typeof readMembers>>;
    try {
      members = await readMembers(context);
    } catch (error) {
      return fail(
        `${path} cannot be used: ${reasonOf(error)}.`,
        "Run `cairn restart`: the node sets it aside, and writes down what its database knows.",
      );
    }
    const said = await ofMesh(context);
    if (said?.standing === "revoked" || said?.standing === "left") {
      const fix = "`cairn mesh leave` gives it a new identity; run `cairn restart` then, and join with a token.";
      return fail(`${said.standing === "left" ? "This node has left its mesh" : "This node was revoked"}.`, fix);
    }
    const problem = said?.problem;
    if (problem != null)
      return fail(`Of the mesh the node says: ${problem.replace(/[.]$/, "")}.`, "`cairn logs --level warn` has more.");
    const aside = await setAside(path);
    if (aside !== null) {
      return warn(
        `A registry that could not be read was set aside as ${aside}.`,
        "`cairn mesh list` shows what the node knows: if that is all, delete the file; else join again with a token.",
      );
    }
    if (members === null) return warn(`There is no ${path} yet.`, "`cairn start` writes it.");
    if (members.length <= 1) return pass("No other node is a member yet: `cairn mesh token` lets one join.");
    return pass(`${path} names ${members.length} nodes.`);
  },
};

/** Null where no node answers. */
async function ofMesh(context: ProbeContext) {
  try {
    return (await context.health()).mesh;
  } catch {
    return null;
  }
}

/** The newest one; null: there is none. */
async function setAside(path: string): Promise<string | null> {
  const names = await readdir(dirname(path)).catch(() => []);
  const newest = names
    .filter((name) => name.startsWith(`${basename(path)}.unreadable-`))
    .sort()
    .at(-1);
  return newest === undefined ? null : join(dirname(path), newest);
}

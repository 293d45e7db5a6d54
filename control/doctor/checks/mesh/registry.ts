/** Whether the registry of the mesh can be read. */

import { reasonOf } from "../../context/regular-file.ts";
import { type Check, fail, pass, warn } from "../check.ts";
import { readMembers, registryPath, requireMesh } from "./members.ts";

export const meshRegistry: Check = {
  id: "mesh.registry",
  subject: "the registry of the mesh",
  async run(context) {
    await requireMesh(context);
    const path = registryPath(context);
    try {
      const members = await readMembers(context);
      if (members === null) {
        const { seeds, mdns } = (await context.config()).mesh;
        if (seeds.length > 0 || mdns)
          return pass(`There is no ${path} yet: it is written when the first other node is found.`);
        return warn(
          `There is no ${path}, and no way to find other nodes.`,
          "Name other nodes in mesh.seeds, or let mesh.mdns look for them.",
        );
      }
      return pass(`${path} names ${members.length} ${members.length === 1 ? "node" : "nodes"}.`);
    } catch (error) {
      return fail(
        `${path} cannot be used: ${reasonOf(error)}.`,
        "Delete it and run `cairn restart`: the node gets a new one from its seeds and peers.",
      );
    }
  },
};

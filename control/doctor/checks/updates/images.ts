/** Images of the deployed nodes against the newest one that was built. */

import { join } from "node:path";
import { readRegularFile, reasonOf } from "../../context/regular-file.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

export const updatesImages: Check = {
  id: "updates.images",
  subject: "the images of the deployed nodes",
  async run(context) {
    const path = join(context.paths.dir, "infra", "release.json");
    const text = await readRegularFile(path);
    if (text === null) return skip("No image was built for a deployment yet.");
    let versions: ReturnType<typeof readVersions>;
    try {
      versions = readVersions(JSON.parse(text));
    } catch (error) {
      return fail(
        `${path} cannot be read: ${reasonOf(error)}.`,
        "Restore it from git or from a backup; `cairn infra up` needs it.",
      );
    }
    const { built, nodes } = versions;
    if (built === null || nodes.length === 0) return skip("No node is deployed from an image yet.");
    const older = nodes.filter((node) => node.version !== built.version || node.id !== built.id);
    if (older.length === 0) return pass(`All ${nodes.length} deployed nodes have the newest image (${built.version}).`);
    return warn(
      `${older.length} of ${nodes.length} nodes have another image than the newest one (${built.version}): ${older.map(({ name }) => name).join(", ")}.`,
      `Give it to them one by one: \`cairn infra up --node ${older[0]?.name}\`.`,
    );
  },
};

interface Image {
  readonly id: string | null;
  readonly version: string;
}

function readVersions(release: unknown): {
  readonly built: Image | null;
  readonly nodes: readonly (Image & { readonly name: string })[];
} {
  if (typeof release !== "object" || release === null) throw new Error("it is no release file");
  const nodes: unknown = Reflect.get(release, "nodes");
  const entries = typeof nodes === "object" && nodes !== null ? Object.entries(nodes) : [];
  return {
    built: imageOf(Reflect.get(release, "built")),
    nodes: entries.flatMap(([name, image]) => {
      const parsed = imageOf(image);
      return parsed === null ? [] : [{ name, ...parsed }];
    }),
  };
}

function imageOf(image: unknown): Image | null {
  if (typeof image !== "object" || image === null) return null;
  const { id, version }: { id?: unknown; version?: unknown } = image;
  return { id: typeof id === "string" ? id : null, version: typeof version === "string" ? version : "unknown" };
}

/** The Pulumi project that belongs to a deployment: its files as text, made as `infra render` makes them. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** File name to text, sorted by name; empty where nothing is deployed. */
export async function infraFiles(target: string, stack: string): Promise<ReadonlyMap<string, string>> {
  if (target === "manual") return new Map();
  const { renderProject } = await import("../../infra/render.ts");
  const dir = await mkdtemp(join(tmpdir(), "cairn-init-"));
  try {
    const { directory } = await renderProject({ dir, stack });
    const entries = await readdir(directory, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    const read = names.sort().map(async (name) => [name, await readFile(join(directory, name), "utf8")] as const);
    return new Map(await Promise.all(read));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Lets `pulumi up` by hand find this program. The commands of `infra` do so too, and report a failure. */
export async function linkProject(dir: string, stack: string): Promise<void> {
  const { renderProject } = await import("../../infra/render.ts");
  await renderProject({ dir, stack }).catch(() => undefined);
}

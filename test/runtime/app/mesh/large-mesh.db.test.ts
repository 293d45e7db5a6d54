/** A mesh of 500 nodes: kept in the store, copied to `mesh.json`, and read back from it where the store was lost. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createMeshStore } from "../../../../runtime/app/mesh/mesh-store.ts";
import { createMeshCopy, restoreMesh } from "../../../../runtime/host/mesh-copy.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { firstNode } from "../../../support/meshes.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";

const NODES = 500;

describeEachDatabase("a mesh of 500 nodes", (open) => {
  it("is whole again from its copy in a store that knows nothing of it, and half a copy is set aside", async () => {
    const own = firstNode("own");
    const members = Array.from({ length: NODES - 1 }, (_, index) => own.admits(`node-${index}`));
    const now = new Date();
    const records = members.map((member) => member.record(1, { made_at: now.toISOString() }));
    const store = createMeshStore({ database: await open({ fresh: true }), logger: quietLogger });
    await store.enter({ root: own.id, own: own.id, admission: own.admission, records, revocations: [] });
    const seen = await store.read(now);
    expect(seen.mesh.records.size).toBe(NODES - 1);

    const file = join(await temporaryDirectory(), "mesh.json");
    const copy = () => createMeshCopy({ file, clock: { now: () => now }, logger: quietLogger });
    await copy().write(seen);
    const { state, aside } = await copy().read();
    if (state === null) throw new Error(`the copy was not read: ${aside}`);
    const next = createMeshStore({ database: await open({ fresh: true }), logger: quietLogger });
    await restoreMesh(next, state, own.id);
    expect((await next.read(now)).mesh).toEqual(seen.mesh);

    const text = await readFile(file, "utf8");
    await writeFile(file, text.slice(0, text.length / 2));
    const half = await copy().read();
    expect(half.state).toBeNull();
    expect(await readdir(join(file, ".."))).toEqual([half.aside?.split("/").at(-1)]);
    expect(await readFile(half.aside ?? "", "utf8")).toBe(text.slice(0, text.length / 2));
  });
});

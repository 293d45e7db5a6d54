/** An embedded store beside the PostgreSQL database that is used now: what was said there is in no search. */

import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { bytes } from "../../../output/words.ts";
import { readStore } from "../../context/store.ts";
import { type Check, pass, skip, warn } from "../check.ts";

export const memoryFormer: Check = {
  id: "memory.former",
  subject: "an embedded store that was left behind",
  async run(context) {
    if ((await context.target()) !== null)
      return skip("The nodes run on a target: this machine has no store of theirs.");
    const { backend, embedded } = (await context.config()).memory;
    if (backend === "embedded") return pass("The embedded store is the one that is used.");
    const store = await readStore(embedded.path);
    if (store.state === "complete") {
      return warn(
        `The memory is in PostgreSQL, and ${store.path} has an embedded store (${bytes(store.bytes)}): what was said there is not found.`,
        `\`cairn memory move postgres\` takes it along, into a database in which nothing was said yet. Where it is of no use, delete ${store.path}.`,
      );
    }
    const moved = await movedStores(store.path);
    if (moved.length === 0) return pass("No embedded store was left behind.");
    return pass(`What was in the embedded store was moved; when all is well, delete ${moved.join(" and ")}.`);
  },
};

/** `memory move` renames the store that it has moved. */
async function movedStores(path: string): Promise<readonly string[]> {
  const names = await readdir(dirname(path)).catch(() => []);
  return names.filter((name) => name.startsWith(`${basename(path)}.moved-`)).map((name) => join(dirname(path), name));
}

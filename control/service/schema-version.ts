/** Which schema of the store this program brings along. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** Number of the newest migration below the package's directory; null where there is none. */
export async function newestMigration(root: string): Promise<number | null> {
  const names = await readdir(join(root, "migrations")).catch(() => []);
  const numbers = names.flatMap((name) => /^(\d+).*\.sql$/.exec(name)?.[1] ?? []).map(Number);
  return numbers.length === 0 ? null : Math.max(...numbers);
}

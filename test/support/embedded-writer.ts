/** Inserts numbers into an embedded store for ever, and prints each as soon as its commit was acknowledged. */

import { openEmbedded } from "../../runtime/plugins/memory/embedded/index.ts";
import { quietLogger } from "./quiet-logger.ts";

const path = process.argv[2];
if (path === undefined) throw new Error("usage: embedded-writer.ts STORE");

const database = await openEmbedded({ path, logger: quietLogger });
await database.script("create table if not exists written (n int primary key, at timestamptz not null default now())");
const { rows } = await database.query<{ next: number }>("select coalesce(max(n), 0)::int + 1 as next from written");
for (let n = rows[0]?.next ?? 1; ; n += 1) {
  await database.transaction((tx) => tx.query("insert into written (n) values ($1)", [n]));
  process.stdout.write(`${n}\n`);
}

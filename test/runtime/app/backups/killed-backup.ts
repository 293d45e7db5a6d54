/** Begins a backup in the directory of its argument that never comes to its end; says so once bytes of it are written. */

import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { BackupDirectory } from "../../../../runtime/app/backups/directory.ts";

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(65_536, 1);
    process.send?.("written");
    await sleep(5);
  }
}

await new BackupDirectory(process.argv[2] ?? "").write({
  name: "cairn-20300131T020304Z.backup",
  bytes: endless(),
  expectedBytes: 0,
  verify: async () => undefined,
  signal: new AbortController().signal,
});

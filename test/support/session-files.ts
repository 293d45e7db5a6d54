/** The sample sessions of test/fixtures/sessions, as the coding assistants would have written them. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";

const FIXTURES = fileURLToPath(new URL("../fixtures/sessions", import.meta.url));

export const OPENCODE_SESSION = "ses_5d8f1c2a3b4c5d6e7f8a9b0c1d";

export function sessionText(harness: "claude-code" | "codex"): Promise<string> {
  return readFile(join(FIXTURES, `${harness}.jsonl`), "utf8");
}

export async function sessionLines(harness: "claude-code" | "codex"): Promise<unknown[]> {
  return (await sessionText(harness))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Makes OpenCode's database at the path, in WAL mode as OpenCode does, and runs more SQL on it. */
export async function writeOpenCodeDatabase(path: string, more = ""): Promise<void> {
  const database = new DatabaseSync(path);
  try {
    database.exec("pragma journal_mode = wal");
    database.exec(await readFile(join(FIXTURES, "opencode.sql"), "utf8"));
    database.exec(more);
  } finally {
    database.close();
  }
}

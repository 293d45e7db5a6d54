import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCli } from "../support/cli.ts";
import { run, say, start } from "../support/real-service.ts";

describe("two machines", () => {
  it("moves messages between two memories as JSON lines, skipping what is there", async () => {
    const cli = await createCli({ configured: false });
    await start(cli);
    await say(cli, "The harbour opens at six.");
    await run(cli, ["stop"]);
    await run(cli, ["memory", "export", "a.jsonl"]);

    const other = await createCli({ configured: false });
    await run(other, ["init", "--yes"]);
    const file = join(cli.home, "a.jsonl");
    const imported = await run(other, ["memory", "import", file]);
    expect(imported).toMatchObject({ imported: 2, skipped: 0 });
    expect(await run(other, ["memory", "import", file])).toMatchObject({ imported: 0, skipped: 2 });
  });
});

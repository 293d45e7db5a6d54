import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

describe("usage", () => {
  it("is a table with its sum, and says which calls have no price", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["usage", "--by", "model", "--since", "2026-02-01"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/model +calls +input +cached +output +cost/);
    expect(stdout).toMatch(/scripted:one\\u001b\[31m +2 +1200 +1000 +34 +\$0\.0042/);
    expect(stdout).toMatch(/total +2 +1200 +1000 +34 +\$0\.0042/);
    expect(stdout).toContain("1 call without a price");
  });

  it("is one document with --json, from the first day on that --since says", async () => {
    const cli = await createCli();
    await cli.node();
    const { stdout } = await cli.run(["usage", "--since", "2026-02-01", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ from: "2026-02-01", by: "day", total: { calls: 2, cost_usd: 0.0042 } });
    const monthAgo = () => new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
    const before = monthAgo();
    const { stdout: usual } = await cli.run(["usage", "--json"]);
    expect([before, monthAgo()]).toContain(JSON.parse(usual).from);
  });

  it("refuses what is no time and no kind of line", async () => {
    const cli = await createCli();
    expect((await cli.run(["usage", "--since", "lately"])).code).toBe(2);
    expect((await cli.run(["usage", "--by", "week"])).code).toBe(2);
  });
});

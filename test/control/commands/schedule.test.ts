import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

describe("schedule", () => {
  it("list is a table in the times of each schedule's zone, with what is wrong below it", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["schedule", "list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/agent +name +cron +timezone +next run +last run +outcome +turn/);
    expect(stdout).toMatch(
      /main +morning +0 8 \* \* 1-5 +Europe\/Berlin +2030-02-01 08:00 +2030-01-31 08:00 +failed +turn-1/,
    );
    expect(stdout).toMatch(/second +evening +0 18 \* \* \* +UTC +paused +- +- +-/);
    expect(stdout).toContain("main/morning: its last run failed: no model");
  });

  it("run tells the turn, and whether an earlier run waits still", async () => {
    const cli = await createCli();
    await cli.node();
    expect((await cli.run(["schedule", "run", "morning"])).stdout).toBe("A run of morning was started: turn turn-2.\n");
    expect((await cli.run(["schedule", "run", "evening", "--agent", "main"])).stdout).toContain("still waits");
  });

  it("run needs a node that runs: none is started for it", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["schedule", "run", "morning"]);
    expect(code).toBe(1);
    expect(stderr).toContain("No node is running");
  });

  it("pause and resume say how it goes on", async () => {
    const cli = await createCli();
    await cli.node();
    expect((await cli.run(["schedule", "pause", "morning"])).stdout).toContain("cairn schedule resume morning");
    expect((await cli.run(["schedule", "resume", "morning"])).stdout).toContain("2030-02-01 08:00 Europe/Berlin");
  });

  it("asks whose it is where several agents have one of the name, and refuses one that is none", async () => {
    const cli = await createCli();
    await cli.node();
    for (const action of ["run", "pause", "resume"]) {
      const ambiguous = await cli.run(["schedule", action, "evening"]);
      expect(ambiguous).toMatchObject({ code: 2, stderr: expect.stringMatching(/main, second[\s\S]*--agent main/) });
      const unknown = await cli.run(["schedule", action, "noon", "--agent", "main"]);
      expect(unknown).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/no schedule "noon"[\s\S]*schedule list/),
      });
    }
  });
});

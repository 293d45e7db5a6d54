import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

describe("mesh list", () => {
  it("shows who runs and hosts what, and which node answers", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "list"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "NODE             STATE    VERSION  SCHEMA  HOSTS        ADDRESS\n" +
        "attic            offline  0.1.0    22      -            -\n" +
        "box\\u001b[31m *  online   0.1.0    22      main, other  https://box:7433\n",
    );
  });
});

describe("mesh ping", () => {
  it("says of each node how long it took, or why it has not answered, which fails", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "ping"]);
    expect(code).toBe(1);
    expect(stdout).toBe(
      "NODE   PING  CLOCK  REASON\n" + "attic  no    -      No node answers at https://attic:7433 (ECONNREFUSED).\n",
    );
  });

  it("names a node that there is not", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stderr } = await cli.run(["mesh", "ping", "shed"]);
    expect(code).toBe(1);
    expect(stderr).toContain("There is no other node shed in the fleet.");
  });
});

describe("mesh status", () => {
  it("shows what is wrong first, then every node", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["mesh", "status"]);
    expect(code).toBe(1);
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("attic: ended, or lost the database, without saying so");
    expect(lines[1]).toContain("cairn logs");
    expect(lines[3]).toMatch(/^NODE +STATE +VERSION +SCHEMA +HOSTS +HEARD +PING +ADDRESS +CERTIFICATE$/);
    expect(lines[4]).toMatch(/^attic +offline +0\.1\.0 +22 +- +2 min \d+ s ago +no +- +-$/);
    expect(lines[5]).toMatch(/^box\\u001b\[31m \* +online +0\.1\.0 +22 +main, other +now +- +https:\/\/box:7433 +-$/);
  });
});

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

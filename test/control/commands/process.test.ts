/** A command as a process: it says and ends with the same as in the process that the other tests share, and leaves none behind. */

import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

describe("a command in a process of its own", () => {
  it.each([
    ["that succeeds", ["version"], 0],
    ["with a document", ["config", "validate", "--json"], 0],
    ["that fails", ["chat", "hello"], 1],
    ["that says no", ["status", "--json"], 1],
    ["that does not exist", ["nonsense"], 2],
    ["with a wrong flag", ["status", "--nonsense"], 2],
    ["that asks for help", ["memory", "--help"], 0],
  ])("%s prints and answers as elsewhere", async (_what, argv, code) => {
    const cli = await createCli();
    const single = await cli.runInOwnProcess(argv);
    expect(single.code).toBe(code);
    expect(await cli.run(argv)).toEqual(single);
    // Neither is there anything of the command before in the next one.
    expect(await cli.run(argv)).toEqual(single);
  });

  it("reads its input to the end", async () => {
    const cli = await createCli();
    await cli.node();
    const options = { input: "first line\nsecond line\n" };
    const single = await cli.runInOwnProcess(["chat"], options);
    expect(single.stdout).toContain("second line");
    expect(await cli.run(["chat"], options)).toEqual(single);
  });
});

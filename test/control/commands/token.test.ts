import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

it("says beside a new token what it may do, and nothing but the token on standard output", async () => {
  const cli = await createCli();
  await cli.node();
  const create = ["token", "create", "website", "--scope", "agent"];
  const { code, stdout, stderr } = await cli.run(create);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+\n$/) });
  expect(stderr).toContain("With the scope agent it may");
  expect(stderr).toContain("main: memory_search, memory_browse");

  const file = join(cli.home, "cairn.yaml");
  const given = "main: { tools: { others: { include: [shell] } } }";
  await writeFile(file, (await readFile(file, "utf8")).replace(/main: .*/, given));
  const { grants } = JSON.parse((await cli.run([...create, "--json"])).stdout);
  expect(grants[0].agents).toEqual([{ agent: "main", tools: ["shell"], commands: "sandbox", network: false }]);
});

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

it("gives a token an expiry, lists it with that, and revokes it by name", async () => {
  const cli = await createCli();
  await cli.node();
  const create = (expires: string) =>
    cli.run(["token", "create", "laptop", "--scope", "capture", "--expires", expires, "--json"]);
  expect(JSON.parse((await create("2199-01-31")).stdout).expires_at).toBe("2199-01-31T00:00:00.000Z");
  const relative = new Date(JSON.parse((await create("90d")).stdout).expires_at);
  expect(Math.round((relative.getTime() - Date.now()) / 86_400_000)).toBe(90);
  for (const wrong of ["soon", "2199-02-31", "2020-01-01", "90"]) {
    expect(await create(wrong), wrong).toMatchObject({ code: 2 });
  }
  expect((await cli.run(["token", "list"])).stdout).toMatch(/laptop +capture +\S+ +never +active until 2199-01-31/);
  expect((await cli.run(["token", "revoke", "laptop"])).stdout).toBe("The token laptop (id-1) is revoked.\n");
});

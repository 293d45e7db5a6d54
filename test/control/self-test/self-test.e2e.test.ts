import { join } from "node:path";
import { expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";

/** The real service; no stand-in. No key and no local model server, so that it is the offline provider which answers. */
const REAL = { CAIRN_STAND_IN: "", SERVICE_API_TOKEN: "", SERVICE_LISTEN: "127.0.0.1:0" };

it("passes on a node that was started a moment ago, and fails when there is none", async () => {
  const cli = await createCli({ configured: false });
  await placeEmbeddedCopy(join(cli.home, "store"));
  const none = await cli.run(["test", "--json"], { env: REAL });
  expect(none.code).toBe(1);

  const started = await cli.run(["start", "--detach", "--json"], { env: REAL });
  expect(started.code, started.stderr).toBe(0);
  const whole = await cli.run(["test", "--json"], { env: REAL });
  expect(JSON.parse(whole.stdout)).toMatchObject({ schema: 1, status: "pass", agent: "main" });
  expect(whole.code).toBe(0);
  const words = await cli.run(["test", "--quick", "--verbose"], { env: REAL });
  expect(words.stdout).toMatch(/^ok {3}node .*\nok {3}store +embedded/);
  expect(words.stdout).toContain("skip recall");
  expect((await cli.run(["stop", "--json"], { env: REAL })).code).toBe(0);
});

import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { identity } from "../../support/certificates.ts";
import { createCli } from "../../support/cli.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { MINIMAL } from "../../support/deployment.ts";
import { REAL, run, say, start } from "../../support/real-service.ts";

const TLS = "runtime: { tls: { cert: cert.pem, key: key.pem } }\n";

async function home(spec: Parameters<typeof identity>[0] = {}) {
  const cli = await createCli();
  await placeEmbeddedCopy(join(cli.home, "store"));
  const { cert, key } = await identity(spec);
  await writeFile(join(cli.home, "cert.pem"), cert);
  await writeFile(join(cli.home, "key.pem"), key);
  await chmod(join(cli.home, "key.pem"), 0o600);
  await writeFile(join(cli.home, "cairn.yaml"), MINIMAL + TLS);
  return cli;
}

test("every command talks to a node whose certificate nobody signs", async () => {
  const cli = await home();
  // A short-lived node behind the command shows it, too.
  expect(await run(cli, ["memory", "stats"])).toHaveProperty("messages");
  await start(cli);
  const status = await run(cli, ["status"]);
  expect(status).toMatchObject({ running: true, url: expect.stringMatching(/^https:/), error: null });
  expect(status["health"]).not.toBeNull();
  expect(await say(cli, "hello")).not.toBe("");
  expect(await run(cli, ["memory", "stats"])).toHaveProperty("messages");
  const { checks } = await run(cli, ["doctor", "--only", "deployment.node,database.reachable"]);
  expect(checks).toMatchObject([{ status: "pass" }, { status: "pass" }]);
  const { steps } = await run(cli, ["test", "--quick"]);
  expect(JSON.stringify(steps)).not.toContain('"fail"');
});

test("a node whose certificate has expired, or is another one, is refused with the way out", async () => {
  const cli = await home({ from: -3, to: -1 });
  await start(cli);
  const refused = { code: "RUNTIME_CERTIFICATE_REFUSED", hint: expect.stringContaining("`cairn restart`") };
  expect(await run(cli, ["status"], 1)).toMatchObject({ running: true, health: null, error: refused });
  const expired = await run(cli, ["chat", "hello"], 1);
  expect(expired).toMatchObject({ error: { ...refused, message: expect.stringContaining("expired") } });

  const file = join(cli.home, "run", "node.json");
  const node = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...node, certificate_sha256: "AB".repeat(32).match(/../g)?.join(":") }));
  const changed = await run(cli, ["memory", "stats"], 1);
  expect(changed).toMatchObject({ error: { ...refused, message: expect.stringContaining("another certificate") } });
  const said = await cli.run(["doctor", "--only", "deployment.node", "--json"], { env: REAL });
  expect(JSON.parse(said.stdout).checks).toMatchObject([
    {
      status: "fail",
      message: expect.stringContaining("another certificate"),
      fix: expect.stringContaining("restart"),
    },
  ]);
});

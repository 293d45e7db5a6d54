import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createCli } from "../../support/cli.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { MINIMAL } from "../../support/deployment.ts";
import { REAL, run, start } from "../../support/real-service.ts";

test("a restart that cannot succeed leaves the node that runs, and says so", async () => {
  const cli = await createCli();
  await placeEmbeddedCopy(join(cli.home, "store"));
  const file = join(cli.home, "cairn.yaml");
  await writeFile(file, MINIMAL);
  await start(cli);
  const { pid } = JSON.parse(await readFile(join(cli.home, "run", "node.json"), "utf8"));

  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const listen = { ...REAL, SERVICE_LISTEN: `127.0.0.1:${port}` };
  for (const [yaml, env, message] of [
    [`${MINIMAL}memory: { postgres: { connection_string: "postgresql://u:p@127.0.0.1:1/db" } }\n`, REAL, /database/i],
    [
      `${MINIMAL}runtime: { tls: { cert: none.pem, key: none.pem } }\n`,
      REAL,
      /certificate of runtime\.tls cannot be read/,
    ],
    [MINIMAL, listen, new RegExp(`127\\.0\\.0\\.1:${port} cannot be listened on \\(EADDRINUSE\\)`)],
  ] as const) {
    await writeFile(file, yaml);
    const { code, stdout } = await cli.run(["restart", "--json"], { env });
    expect(code, stdout).toBe(1);
    const said = JSON.parse(stdout).error.message;
    expect(said).toMatch(message);
    expect(said).toContain(`The node that runs (process ${pid}) was left as it is.`);
    expect(await run(cli, ["status"])).toMatchObject({ running: true, pid });
  }
  await writeFile(file, MINIMAL);
  const restarted = await run(cli, ["restart"]);
  expect(restarted).toMatchObject({ stopped: { was_running: true, pid } });
  await run(cli, ["stop"]);
});

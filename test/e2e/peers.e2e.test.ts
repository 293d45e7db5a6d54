/** Nodes of a fleet that call each other over TLS with certificates of their own, as processes, and the commands that show it. */

import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../../control/service/processes.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { identity } from "../support/certificates.ts";
import { type Cli, createCli } from "../support/cli.ts";
import { MINIMAL } from "../support/deployment.ts";
import { freePort } from "../support/ports.ts";
import { REAL } from "../support/real-service.ts";
import { databaseUrl } from "../support/running-node.ts";

async function home(name: string, port: number, database: string): Promise<Cli> {
  const cli = await createCli();
  const yaml = [
    MINIMAL.trimEnd(),
    `runtime: { tls: auto, lease: 2s, listen: "127.0.0.1:${port}" }`,
    `mesh: { name: ${name}, advertise: "127.0.0.1:${port}" }`,
    `memory: { postgres: { connection_string: "${database}" } }`,
  ];
  await writeFile(join(cli.home, "cairn.yaml"), `${yaml.join("\n")}\n`);
  return cli;
}

/** At the address of its configuration. */
const ENV = { ...REAL, SERVICE_LISTEN: "" };

async function json(cli: Cli, argv: readonly string[]) {
  const { code, stdout } = await cli.run([...argv, "--json"], { env: ENV });
  return { code, said: JSON.parse(stdout) };
}

/** Ends with the test. */
async function start(cli: Cli): Promise<void> {
  const { code, said } = await json(cli, ["start", "--detach"]);
  expect(code, JSON.stringify(said)).toBe(0);
  onTestFinished(() => {
    if (isAlive(said.pid)) process.kill(said.pid, "SIGKILL");
  });
}

test(
  "they reach each other by their certificates, and say why they do not",
  async () => {
    const [database, port, other] = [await databaseUrl(), await freePort(), await freePort()];
    const box = await home("box", port, database);
    const attic = await home("attic", other, database);
    await start(box);
    await start(attic);
    const asked = (argv: readonly string[]) => json(box, argv);
    const pinged = await asked(["mesh", "ping"]);
    expect(pinged).toMatchObject({ code: 0, said: { pings: [{ name: "attic", error: null }] } });
    expect(Math.abs(pinged.said.pings[0].clock_ahead_s)).toBeLessThan(30);
    const well = await asked(["mesh", "status"]);
    expect(well).toMatchObject({ code: 0, said: { node: "box", problems: [] } });
    expect(well.said.members.map(({ name, self }: { name: string; self: boolean }) => [name, self])).toEqual([
      ["attic", false],
      ["box", true],
    ]);
    expect((await asked(["status"])).said.fleet).toHaveLength(2);
    const peers = await asked(["doctor", "--only", "mesh.peers"]);
    expect(peers.said.checks).toMatchObject([{ id: "mesh.peers", status: "pass" }]);

    // Stopped on purpose: it does not answer, and nothing is wrong.
    expect((await json(attic, ["stop"])).code).toBe(0);
    expect(await asked(["mesh", "ping", "attic"])).toMatchObject({
      code: 1,
      said: { pings: [{ ms: null, error: { code: "RUNTIME_NOT_RUNNING" } }] },
    });
    expect(await asked(["mesh", "status"])).toMatchObject({ code: 0, said: { problems: [] } });

    // Somebody else at its address learns nothing: no token is sent.
    const seen: unknown[] = [];
    const stranger = createServer(await identity(), (request, response) => {
      seen.push(request.headers);
      response.end();
    });
    await new Promise<void>((resolve) => stranger.listen(other, "127.0.0.1", resolve));
    onTestFinished(() => {
      stranger.closeAllConnections();
      stranger.close();
    });
    expect(await asked(["mesh", "ping", "attic"])).toMatchObject({
      code: 1,
      said: { pings: [{ error: { code: "RUNTIME_CERTIFICATE_REFUSED" } }] },
    });
    expect(seen).toEqual([]);
  },
  4 * EVENTUALLY_MS,
);

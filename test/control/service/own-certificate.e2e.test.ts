import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
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

/** A node that makes its certificate itself. */
async function homeOfItsOwn(more = "") {
  const cli = await createCli();
  await placeEmbeddedCopy(join(cli.home, "store"));
  await writeFile(join(cli.home, "cairn.yaml"), `${MINIMAL}runtime: { tls: auto }\n${more}`);
  return cli;
}

test.each([
  ["a node whose certificate nobody signs", home],
  ["a node that makes its certificate itself", homeOfItsOwn],
])("every command talks to %s", async (_which, prepare) => {
  const cli = await prepare();
  // A short-lived node behind the command shows it, too.
  expect(await run(cli, ["memory", "stats"])).toHaveProperty("messages");
  await start(cli);
  const status = await run(cli, ["status"]);
  expect(status).toMatchObject({
    running: true,
    url: expect.stringMatching(/^https:/),
    certificate_sha256: expect.stringMatching(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/),
    error: null,
  });
  expect(status["health"]).not.toBeNull();
  expect(await say(cli, "hello")).not.toBe("");
  expect(await run(cli, ["memory", "stats"])).toHaveProperty("messages");
  const { checks } = await run(cli, ["doctor", "--only", "deployment.node,database.reachable"]);
  expect(checks).toMatchObject([{ status: "pass" }, { status: "pass" }]);
  const { steps } = await run(cli, ["test", "--quick"]);
  expect(JSON.stringify(steps)).not.toContain('"fail"');
});

interface Announced {
  readonly url: string;
  readonly certificate_sha256: string;
  readonly next_certificate_sha256: string;
}

test("a node keeps the certificate that it has made, shows it to other clients under its names, and gets one for a new name", async () => {
  const cli = await homeOfItsOwn();
  const announced = async (): Promise<Announced> =>
    JSON.parse(await readFile(join(cli.home, "run", "node.json"), "utf8"));
  await start(cli);
  const first = await announced();
  const ca = await readFile(join(cli.home, "tls.pem"));
  /** As curl does it with `--cacert`: the status code, or the code of what the certificate is refused for. */
  const asked = (name: string): Promise<number | string | undefined> =>
    new Promise((resolve) => {
      const sent = request({
        host: "127.0.0.1",
        port: new URL(first.url).port,
        path: "/health/live",
        servername: name,
        ca,
      });
      sent.on("response", (answer) => resolve(answer.resume().statusCode));
      sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code)).end();
    });
  expect([await asked("localhost"), await asked("box.example")]).toEqual([200, "ERR_TLS_CERT_ALTNAME_INVALID"]);
  // What is restored from a backup has no public copy.
  await rm(join(cli.home, "tls.pem"));
  await run(cli, ["restart"]);
  const again = await announced();
  expect(again.certificate_sha256).toBe(first.certificate_sha256);
  expect(again.next_certificate_sha256).toBe(first.next_certificate_sha256);
  expect(await readFile(join(cli.home, "tls.pem"))).toEqual(ca);

  const yaml = await readFile(join(cli.home, "cairn.yaml"), "utf8");
  await writeFile(join(cli.home, "cairn.yaml"), `${yaml}mesh: { advertise: "https://box.example" }\n`);
  await run(cli, ["restart"]);
  expect((await announced()).certificate_sha256).not.toBe(first.certificate_sha256);
  expect(await run(cli, ["status"])).toMatchObject({ running: true, error: null });

  // Half of it is no reason not to start: what is there now is another certificate, and the log says so.
  const keys = await readFile(join(cli.home, "tls.key"), "utf8");
  await writeFile(join(cli.home, "tls.key"), keys.slice(0, keys.length / 2));
  await run(cli, ["restart"]);
  expect(await run(cli, ["status"])).toMatchObject({ running: true, error: null });
  expect(JSON.stringify(await run(cli, ["logs", "--level", "warn"]))).toContain("was damaged");
  await run(cli, ["stop"]);
});

test("a restart that cannot read its certificate leaves the node that runs", async () => {
  const cli = await homeOfItsOwn();
  await start(cli);
  await rm(join(cli.home, "tls.key"));
  await mkdir(join(cli.home, "tls.key"));
  expect(await run(cli, ["restart"], 1)).toMatchObject({
    error: { message: expect.stringMatching(/tls\.key cannot be read.*was left as it is/) },
  });
  expect(await run(cli, ["status"])).toMatchObject({ running: true, error: null });
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

/** From nothing to an agent that remembers, in containers, by the commands that an operator types. */

import { readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { defaultMemory } from "../../infra/plan/default-limits.ts";
import { certificatePin } from "../../runtime/contracts/certificates.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { lacks } from "../lanes/tools.ts";
import { docker, uniqueName } from "../support/docker/containers.ts";
import { ensureTestImages, IMAGES_TIMEOUT_MS } from "../support/docker/images.ts";
import { type Operator, operator } from "../support/operator.ts";
import { freePort } from "../support/ports.ts";

const TOKEN = "cairn_test-token-of-a-deployed-stack";

interface Changes {
  readonly settings: readonly unknown[];
  readonly summary: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly op: string; readonly name: string; readonly type: string }[];
}

describe.skipIf(lacks("pulumi-docker", "pulumi-command"))("a stack on docker", () => {
  it("is built, deployed, changed, removed and deployed again, and its agent still knows", {
    timeout: IMAGES_TIMEOUT_MS,
  }, async () => {
    const images = await ensureTestImages();
    const stack = uniqueName("stack");
    const { dir, cairn, document, enter, configure, say, printed, kept } = await operator(TOKEN);
    const port = await freePort();
    const config = {
      version: 1,
      runtime: { max_tool_iterations: 50, tls: "auto" },
      agents: { main: {} },
      providers: { offline: {} },
      memory: { postgres: {} },
      deployment: {
        name: stack,
        target: "docker",
        nodes: [{ name: "a", port }],
        docker: { network: stack },
        datahub: { postgres: true, image: images.postgres },
      },
    };
    await configure(config);
    onTestFinished(() => removeStack(stack));

    const container = async (): Promise<string> => docker("inspect", "--format", "{{.Id}}", `${stack}-postgres`);

    await cairn("build", "--base-image", images.node, "--tag", `${stack}:1`);
    await cairn("infra", "up", "--yes");
    const limits = await docker("inspect", "--format", "{{.HostConfig.Memory}}", `${stack}-a`, `${stack}-postgres`);
    const machine = Number(await docker("info", "--format", "{{.MemTotal}}"));
    const expected = defaultMemory(machine, 1);
    expect(limits.split("\n").map(Number)).toEqual([expected.node, expected.database]);

    const pin = await showsItsOwnCertificate(stack, dir, port);
    await say("My cat is called Mitzi.");
    expect(await say("What is my cat called?")).toContain("Mitzi");

    await isReachedByEveryCommand(stack, { cairn, document, enter });

    expect((await cairn<Changes>("infra", "preview")).changes).toEqual([]);
    await cairn("infra", "up", "--yes");

    await configure({ ...config, runtime: { ...config.runtime, max_tool_iterations: 40 } });
    const database = await container();
    const preview = await cairn<Changes>("infra", "preview");
    expect(preview.changes.length).toBeGreaterThan(0);
    expect(preview.changes.filter(({ name }) => !name.startsWith(`${stack}-a`))).toEqual([]);
    expect(preview.settings).toEqual([
      { nodes: ["a"], setting: "runtime.max_tool_iterations", before: "50", after: "40" },
    ]);
    await cairn("infra", "up", "--yes");
    expect(await container()).toBe(database);
    expect(await showsItsOwnCertificate(stack, dir, port)).toBe(pin);
    expect(await docker("exec", `${stack}-a`, "cat", "/etc/cairn/cairn.yaml")).toContain("max_tool_iterations: 40");

    const backup = join(dir, "a.backup");
    await cairn("memory", "backup", backup);
    expect((await readFile(backup)).length).toBeGreaterThan(100);

    const seen = `${await docker("inspect", `${stack}-a`, `${stack}-postgres`)}${printed()}`;
    const state = await kept();
    const url = await docker("exec", `${stack}-a`, "sh", "-c", "grep ^SERVICE_PG_URL /etc/cairn/.env");
    const password = /:([^:@]{20,})@/.exec(url)?.[1] ?? "";
    expect(password).not.toBe("");
    for (const secret of [TOKEN, password]) {
      expect(seen).not.toContain(secret);
      expect(state).not.toContain(secret);
    }

    // The passphrase is lost: one command brings the stack back over its data, and leaves no file with a secret behind.
    const files = await anonymousVolumes(stack);
    expect(files).not.toEqual([]);
    await rm(join(dir, "infra", ".passphrase"));
    await cairn("infra", "recover", "--confirm", stack);
    expect(await say("What is my cat called?")).toContain("Mitzi");
    const present = (await docker("volume", "ls", "--quiet")).split("\n");
    expect(files.filter((name) => present.includes(name))).toEqual([]);

    await cairn("infra", "destroy", "--yes");
    expect(await docker("ps", "--all", "--quiet", "--filter", `label=cairn.stack=${stack}`)).toBe("");
    await cairn("infra", "up", "--yes");
    expect(await say("What is my cat called?")).toContain("Mitzi");

    await cairn("infra", "destroy", "--delete-data", "--confirm", stack, "--yes");
    expect(await docker("volume", "ls", "--quiet", "--filter", `name=${stack}`)).toBe("");
  });
});

/** Beyond loopback, and as the record knows it, which nothing but the node's own container has told. The pin. */
async function showsItsOwnCertificate(stack: string, dir: string, port: number): Promise<string> {
  const record = JSON.parse(await readFile(join(dir, "infra", "stack.json"), "utf8"));
  const [node] = record.nodes;
  expect(node.url).toBe(`https://127.0.0.1:${port}`);
  expect(await docker("port", `${stack}-a`)).toContain(`0.0.0.0:${port}`);
  const pem = await docker("exec", `${stack}-a`, "cat", "/var/lib/cairn/tls.pem");
  expect(pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.map(certificatePin)).toEqual([
    node.certificate_sha256,
    node.next_certificate_sha256,
  ]);
  const { code, body } = await livenessAt(port, pem);
  expect({ code, body }).toMatchObject({ code: 200 });
  return node.certificate_sha256;
}

/** As a program that trusts this certificate asks it. */
function livenessAt(port: number, ca: string): Promise<{ readonly code: number | undefined; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: "/health/live", servername: "localhost", ca }, (answer) => {
      text(answer).then((body) => resolve({ code: answer.statusCode, body }), reject);
    });
    sent.on("error", reject).end();
  });
}

/** Volumes without a name of ours: the files that are put into containers, secrets among them. */
async function anonymousVolumes(stack: string): Promise<string[]> {
  const containers = await docker("ps", "--all", "--quiet", "--filter", `label=cairn.stack=${stack}`);
  const format = '{{range .Mounts}}{{if eq .Type "volume"}}{{println .Name}}{{end}}{{end}}';
  const names = (await docker("inspect", "--format", format, ...containers.split("\n"))).split("\n");
  return [...new Set(names.map((name) => name.trim()))].filter((name) => name !== "" && !name.startsWith(stack));
}

interface Report {
  readonly checks: readonly { readonly id: string; readonly status: string; readonly message: string }[];
}

/** Doctor, logs and exec of a healthy stack, and doctor of one whose database has been stopped by hand. */
async function isReachedByEveryCommand(
  stack: string,
  { cairn, document, enter }: Pick<Operator, "cairn" | "document" | "enter">,
): Promise<void> {
  const failed = ({ checks }: Report) =>
    checks.flatMap(({ id, status, message }) => (status === "fail" ? [`${id}: ${message}`] : []));
  // The test's own machine is not what is looked at.
  const only = ["doctor", "--only", "database,deployment,memory,queues,channels,providers,secrets.token,system.clock"];
  const well = await cairn<Report>(...only);
  expect(failed(well)).toEqual([]);
  const passed = well.checks.filter(({ status }) => status === "pass").map(({ id }) => id);
  expect(passed).toEqual(
    expect.arrayContaining([
      "database.reachable",
      "database.version",
      "database.extensions",
      "database.migrations",
      "database.pool",
      "system.clock",
      "memory.writes",
    ]),
  );

  const { entries } = await cairn<{ entries: readonly { msg?: string }[] }>("logs", "--lines", "500");
  expect(entries.filter(({ msg }) => msg !== undefined).length).toBeGreaterThan(0);
  expect(JSON.stringify(await cairn("logs", "--postgres"))).toContain("ready to accept connections");

  expect(await enter(["sh", "-c", "cat; id -u; exit 7"], "typed\n")).toEqual({ code: 7, stdout: "typed\n1000\n" });
  const sql = ["--postgres", "--", "psql", "-U", "postgres", "-Atc", "select 1", "cairn"];
  expect(await enter(sql)).toMatchObject({ code: 0, stdout: "1\n" });

  await docker("stop", `${stack}-postgres`);
  try {
    await expect
      .poll(async () => failed(await document<Report>(...only)), { timeout: EVENTUALLY_MS })
      .toEqual([expect.stringMatching(/^database\.reachable: /)]);
  } finally {
    await docker("start", `${stack}-postgres`);
  }
  await expect.poll(async () => failed(await document<Report>(...only)), { timeout: EVENTUALLY_MS }).toEqual([]);
}

async function removeStack(stack: string): Promise<void> {
  const containers = await docker("ps", "--all", "--quiet", "--filter", `label=cairn.stack=${stack}`);
  if (containers !== "") await docker("rm", "--force", "--volumes", ...containers.split("\n"));
  const volumes = await docker("volume", "ls", "--quiet", "--filter", `name=${stack}`);
  if (volumes !== "") await docker("volume", "rm", "--force", ...volumes.split("\n"));
  await execa("docker", ["network", "rm", stack], { reject: false });
  await execa("docker", ["image", "rm", "--force", `${stack}:1`], { reject: false });
}

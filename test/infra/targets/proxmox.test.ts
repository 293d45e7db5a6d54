/** The Proxmox target on the mock engine: what it declares, what of it is secret, and what cannot be lost. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "dotenv";
import { expect, test } from "vitest";
import { databaseFiles } from "../../../infra/components/proxmox/postgres.ts";
import type { ProxmoxPlan } from "../../../infra/plan/types.ts";
import { TLS_PEM } from "../../support/postgres-tls.ts";
import { type Declaration, declare, nodePlan, proxmoxPlan, WORDS } from "../../support/proxmox/mocks.ts";

function everything(): ProxmoxPlan {
  const digest = `registry.example/cairn@sha256:${"2".repeat(64)}`;
  const pulled = { id: null, digest, reference: "registry.example/cairn:0.1.0", version: "0.1.0", revision: null };
  return proxmoxPlan({
    sharedStorage: true,
    vlan: 30,
    nameserver: "192.168.1.1",
    nodes: [
      nodePlan("alpha"),
      nodePlan("beta", {
        vmid: 702,
        pveNode: "pve2",
        address: "dhcp",
        image: pulled,
        limits: { memoryBytes: null, cpus: null },
        publish: { address: "0.0.0.0", port: 8443 },
        tls: true,
      }),
    ],
  });
}

const named = ({ resources }: Declaration, name: string) => {
  const found = resources.find((resource) => resource.name === name);
  if (found) return found;
  throw new Error(`${name} was not declared: ${resources.map((resource) => resource.name).join(", ")}`);
};

/** What a shell makes of a line; the scripts themselves, which are constants, only by their place. */
function words(line: string): unknown[] {
  const text = execFileSync("/bin/sh", ["-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  return text
    .split("\0")
    .slice(0, -1)
    .map((word) => (word.startsWith("'/bin/sh' ") ? words(word) : word.startsWith("set -eu\n") ? "(script)" : word));
}

/** Files that a container is given, by their path below its configuration. */
function files(declaration: Declaration, name: string): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "cairn-files-"));
  try {
    const input = String(named(declaration, name).inputs["stdin"]);
    execFileSync("/bin/sh", ["-c", 'base64 -d | tar -x -C "$0" -f -', folder], { input });
    const paths = readFileSync(join(folder, "paths"), "utf8").trim().split("\n");
    return new Map(paths.map((path, index) => [path, readFileSync(join(folder, String(index)), "utf8")]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("what is declared for PostgreSQL, two nodes on two members and shared storage stays as it was", async () => {
  const declared = await declare(everything());
  const resources = declared.resources.map(({ inputs, ...rest }) => {
    const { create, update, delete: removal, ...others } = inputs;
    expect(update).toBe(create);
    return { ...rest, inputs: { ...others, create: words(String(create)), delete: words(String(removal)) } };
  });
  await expect(`${JSON.stringify({ resources, outputs: declared.outputs }, null, 2)}\n`).toMatchFileSnapshot(
    "../../fixtures/infra/targets/proxmox.json",
  );
});

test("nothing secret stands in an input that the engine does not encrypt", async () => {
  const without = proxmoxPlan({ postgres: null, postgresVmid: null, postgresAddress: null });
  const declared = [await declare(everything()), await declare(without)];
  for (const { inputs } of declared.flatMap(({ resources }) => resources)) {
    expect(["[secret]", undefined]).toContain(inputs["stdin"]);
  }
  const text = JSON.stringify(declared);
  for (const word of [...Object.values(WORDS), "PRIVATE KEY"]) {
    const forms = [word, encodeURIComponent(word), JSON.stringify(word).slice(1, -1)];
    for (const form of [...forms, ...forms.map((one) => Buffer.from(one).toString("base64").slice(0, -4))]) {
      expect(text).not.toContain(form);
    }
  }
  expect(text).toContain("[secret]");
});

test("data are protected and kept, their removal runs nothing, and nothing else is protected", async () => {
  const { resources } = await declare(everything());
  const kept = resources.filter(({ options }) => options["protect"] === true);
  expect(kept.map(({ name }) => name)).toEqual([
    "fleet-alpha-home",
    "fleet-alpha-workspace",
    "fleet-beta-home",
    "fleet-beta-workspace",
    "fleet-postgres-data",
    "fleet-shared",
    "fleet-shared-pve2",
  ]);
  for (const { inputs, options } of kept) {
    expect(options["retainOnDelete"]).toBe(true);
    const removal = String(inputs["delete"]);
    expect(execFileSync("/bin/sh", ["-c", removal.startsWith("'true'") ? removal : "true"]).toString()).toBe("");
    expect(removal).not.toMatch(/\brm\b|destroy/);
  }
});

test("every connection has the pinned key, and the provider never gets to choose", async () => {
  const plan = everything();
  const { resources } = await declare(plan, { reveal: true });
  for (const { inputs } of resources) {
    expect(inputs["connection"]).toMatchObject({ hostKey: plan.ssh.hostKey, user: "root" });
    expect(inputs["addPreviousOutputInEnv"]).toBe(false);
    expect(inputs["environment"]).toBeUndefined();
  }
  await expect(declare({ ...plan, ssh: { ...plan.ssh, hostKey: "" } })).rejects.toMatchObject({
    code: "INFRA_PLAN_INVALID",
  });
});

test("a node gets its variables and the database's address in .env, and the image's credentials where it is pulled", async () => {
  const declaration = await declare(everything(), { reveal: true });
  const env = parse(files(declaration, "fleet-alpha-container").get(".env") ?? "");
  expect(env["SERVICE_API_TOKEN"]).toBe(WORDS.token);
  const url = new URL(env["SERVICE_PG_URL"] ?? "");
  expect([url.host, url.pathname, decodeURIComponent(url.password)]).toEqual([
    "192.168.1.40:5432",
    "/cairn",
    WORDS.password,
  ]);
  expect(files(declaration, "fleet-postgres-container").get("password")).toBe(`${WORDS.password}\n`);
  // The server has the key, the node what it is to show, and no more.
  expect(files(declaration, "fleet-postgres-container").get("server.pem")).toBe(TLS_PEM);
  expect(url.searchParams.get("sslmode")).toBe("verify-ca");
  expect(url.searchParams.get("sslrootcert")).toBe("/etc/cairn/postgres.pem");
  expect(files(declaration, "fleet-alpha-container").get("postgres.pem")).toBe(
    TLS_PEM.slice(TLS_PEM.indexOf("\n-----BEGIN CERT") + 1),
  );
  const config = JSON.parse(
    Buffer.from(String(named(declaration, "fleet-beta-image").inputs["stdin"]), "base64").toString(),
  );
  expect(config.auths["registry.example"].auth).toBe(Buffer.from(`ops:${WORDS.registry}`).toString("base64"));
  expect(named(declaration, "fleet-alpha-image").inputs["stdin"]).toBeUndefined();
});

test("a changed secret changes the node's own input and no other", async () => {
  const before = await declare(everything(), { reveal: true });
  const plan = everything();
  const [alpha] = plan.nodes;
  const file = { path: "/etc/cairn/cairn.yaml", content: "version: 1\nagents: {}\n" };
  const after = await declare(
    { ...plan, nodes: [{ ...(alpha ?? nodePlan("x")), files: [file] }, ...plan.nodes.slice(1)] },
    { reveal: true },
  );
  const changed = after.resources.filter(({ name, inputs }) => {
    const { connection: _one, ...now } = inputs;
    const { connection: _two, ...then } = named(before, name).inputs;
    return JSON.stringify(now) !== JSON.stringify(then);
  });
  expect(changed.map(({ name }) => name)).toEqual(["fleet-alpha-container"]);
});

test("the database takes its nodes alone: by address, by network where DHCP gives it, all where it is published", () => {
  const rules = (plan: ProxmoxPlan) =>
    (
      databaseFiles(plan, { password: "p", tls: TLS_PEM }).find(({ path }) => path.endsWith("/pg_hba.conf"))?.content ??
      ""
    )
      .split("\n")
      .filter((line) => !/^#|^$|^local all postgres peer$| (?:127\.0\.0\.1\/32|::1\/128) /.test(line));
  const plan = everything();
  expect(rules(plan)).toEqual([
    "hostssl cairn cairn 192.168.1.41/32 scram-sha-256",
    "hostssl cairn cairn samenet scram-sha-256",
  ]);
  expect(rules({ ...plan, nodes: [nodePlan("alpha")] })).toEqual(["hostssl cairn cairn 192.168.1.41/32 scram-sha-256"]);
  const published = { image: "x", publish: { address: "0.0.0.0", port: 5432 } };
  expect(rules({ ...plan, postgres: published })).toEqual(["hostssl cairn cairn all scram-sha-256"]);
});

test.each([
  ["a database without a fixed address", { postgresAddress: "dhcp" }],
  ["a data directory with a comma in it", { dataDir: "/data,mp=/etc" }],
  ["a node whose data would lie in the database's", { nodes: [nodePlan("postgres")] }],
])("%s is refused with what to do", async (_what, change) => {
  const error = await declare({ ...everything(), ...change }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "INFRA_PLAN_INVALID", details: { hint: expect.any(String) } });
});

test("a node without an image is refused", async () => {
  const plan = proxmoxPlan({ nodes: [nodePlan("alpha", { image: null })] });
  await expect(declare(plan)).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
});

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { backupDeployed } from "../../../control/deploy/backup-deployed.ts";
import { createDriver } from "../../../control/deploy/drivers/index.ts";
import { createNodeAccess } from "../../../control/deploy/node-access.ts";
import { databaseReachable } from "../../../control/doctor/checks/database/reachable.ts";
import { deploymentNode } from "../../../control/doctor/checks/deployment/node.ts";
import { openConnection } from "../../../control/service/connect.ts";
import { readNodeStatus } from "../../../control/service/node-status.ts";
import { readProject } from "../../../infra/project.ts";
import { resolveDirectories } from "../../../runtime/config/directories.ts";
import { certificatePin } from "../../../runtime/contracts/certificates.ts";
import { type Identity, type IdentitySpec, identity, tlsNode } from "../../support/certificates.ts";
import { bareEnvironment } from "../../support/deployment.ts";
import { probeContextWith } from "../doctor/probe-context.ts";

const never = new AbortController().signal;

/** A directory that has deployed a node with this certificate on the local engine; the record tells of that one or of another. */
async function deployed({
  recorded,
  announced = false,
  ...spec
}: IdentitySpec & { readonly recorded?: Identity; readonly announced?: boolean }) {
  const own = await identity(spec);
  const node = await tlsNode(own);
  const record = {
    schema: 1,
    stack: "fleet",
    target: "docker",
    backend: "file://./state",
    deployed_at: "2030-01-01T00:00:00.000Z",
    version: "1.0.0",
    nodes: [
      {
        name: "main",
        workload: "fleet-main",
        place: "local",
        image: "i",
        url: node.url,
        certificate_sha256: certificatePin((recorded ?? own).cert),
        // It was the next one when the record was written.
        ...(announced ? { next_certificate_sha256: certificatePin(own.cert) } : {}),
      },
    ],
    data: [],
  };
  const yaml = `version: 1
agents: { main: {} }
providers: { offline: {} }
runtime: { tls: { cert: cert.pem, key: key.pem } }
deployment: { name: fleet, target: docker, nodes: [{ name: main, port: ${node.port} }] }
`;
  const fixture = await probeContextWith({
    yaml,
    env: "SERVICE_API_TOKEN=cairn_test-token-of-the-owner\n",
    files: { "cert.pem": own.cert, "key.pem": own.key, "infra/stack.json": JSON.stringify(record) },
  });
  const { dir } = fixture.paths;
  const home = join(dir, "home");
  await mkdir(home, { recursive: true });
  const env = bareEnvironment({ SERVICE_HOME: home });
  return { fixture, node, own, deployment: resolveDirectories({ flags: { dir }, env, cwd: dir, homedir: dir }) };
}

describe("a deployed node with a certificate of its own", () => {
  test.each([
    ["the recorded one", async () => ({})],
    ["the one that was recorded as the next", async () => ({ recorded: await identity(), announced: true })],
  ])("is reached at 127.0.0.1 with %s by status, chat's way, backup and doctor", async (_name, spec) => {
    const { fixture, deployment } = await deployed(await spec());
    const { health, error } = await readNodeStatus(deployment, never);
    expect({ error, version: health?.version }).toEqual({ error: null, version: "1.2.3" });

    const connection = await openConnection(deployment, never);
    expect(await connection.client.ready()).toBe(true);
    await connection.close();

    const { plan, secrets } = await readProject({ dir: deployment.dir, home: deployment.home, env: bareEnvironment() });
    const driver = await createDriver(plan, secrets);
    const file = join(deployment.dir, "a.backup");
    await backupDeployed({ file, node: "main", deployment, driver, signal: never });
    expect(await readFile(file, "utf8")).toBe("the archive");

    expect(await deploymentNode.run(fixture, never)).toMatchObject({ status: "pass" });
    expect(await databaseReachable.run(fixture, never)).toMatchObject({ status: "pass" });
  });

  test.each([
    ["another certificate than the recorded one", async () => ({ recorded: await identity() }), /another certificate/],
    ["an expired one", async () => ({ from: -3, to: -1 }), /expired/],
  ])("is refused with %s, with the way out, by every command and by doctor", async (_name, spec, words) => {
    const { fixture, node, deployment } = await deployed(await spec());
    const { running, error } = await readNodeStatus(deployment, never);
    expect({ running, error }).toMatchObject({
      running: false,
      error: {
        code: "RUNTIME_CERTIFICATE_REFUSED",
        message: expect.stringMatching(words),
        hint: expect.stringContaining("`cairn infra up`"),
      },
    });
    expect(await deploymentNode.run(fixture, never)).toMatchObject({
      status: "fail",
      message: expect.stringMatching(words),
      fix: expect.stringContaining("`cairn infra up`"),
    });
    expect(node.tokens).toEqual([]);
  });

  test("is asked by a rollout with what is recorded of it", async () => {
    const asked = async (spec: Parameters<typeof deployed>[0]) => {
      const { node, deployment } = await deployed(spec);
      const { dir, home } = deployment;
      const project = await readProject({ dir, home, env: bareEnvironment() });
      const driver = await createDriver(project.plan, project.secrets);
      await createNodeAccess(deployment).resume({ project, driver, node: "main" }, never);
      return node.tokens;
    };
    expect(await asked({})).toEqual(["Bearer cairn_test-token-of-the-owner"]);
    expect(await asked({ recorded: await identity(), announced: true })).toHaveLength(1);
    // The certificate of cairn.yaml may be one that the node does not have yet.
    const refused = { code: "RUNTIME_CERTIFICATE_REFUSED" };
    await expect(asked({ recorded: await identity() })).rejects.toMatchObject(refused);
  });

  test("a record of an earlier version names the way out, too", async () => {
    const { deployment } = await deployed({});
    const path = join(deployment.dir, "infra", "stack.json");
    const record = JSON.parse(await readFile(path, "utf8"));
    delete record.nodes[0].certificate_sha256;
    await writeFile(path, JSON.stringify(record));
    const { error } = await readNodeStatus(deployment, never);
    expect(error).toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
      hint: expect.stringContaining("`cairn infra up`"),
    });
  });
});

test("doctor asks for a deployment where the target has none, and does not look for its database", async () => {
  const fixture = await probeContextWith({
    yaml: "version: 1\nagents: { main: {} }\nproviders: { offline: {} }\ndeployment: { target: docker, datahub: { postgres: true } }\n",
  });
  expect(await deploymentNode.run(fixture, never)).toMatchObject({
    status: "warn",
    message: "Nothing is deployed on docker.",
    fix: expect.stringContaining("`cairn infra up`"),
  });
  await expect(databaseReachable.run(fixture, never)).rejects.toThrow("Nothing is deployed on docker");
});

/**
 * The main scenario on a live cluster, by the command line and with the real image (CAIRN_TEST_RUNTIME_IMAGE, which the
 * cluster's machines must have): an agent remembers through a changed setting, `destroy` and the next `up`.
 */

import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKubernetesDriver } from "../../../control/deploy/drivers/kubernetes/driver.ts";
import { kubernetesBinaries } from "../../support/kubernetes/binaries.ts";
import { findLiveCluster, type LiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { kubernetesPlan, secretValues } from "../../support/kubernetes/plans.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TOKEN = "owner-token-that-must-stay-secret-0123456789";
const image = process.env.CAIRN_TEST_RUNTIME_IMAGE;
const { kubectl: program } = await kubernetesBinaries();
const live = findLiveCluster(program);
const missing = "missing" in live ? live.missing : image ? undefined : "CAIRN_TEST_RUNTIME_IMAGE names no image";

describe.skipIf(missing)(`an agent on a live cluster${missing ? ` (${missing})` : ""}`, () => {
  if ("missing" in live) return;
  const { cluster } = live;
  const namespace = `cairn-test-${randomBytes(4).toString("hex")}`;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "cairn-kubernetes-"));
    await mkdir(join(dir, "infra"));
    await mkdir(join(dir, "workspace"));
    await writeFile(join(dir, "workspace", "AGENTS.md"), "# Ada\n");
    await writeFile(join(dir, ".env"), `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
    const built = { id: null, digest: null, reference: image, version: "0.1.0", revision: null };
    await writeFile(join(dir, "infra", "release.json"), JSON.stringify({ schema: 1, built, nodes: {} }));
    await writeFile(join(dir, "cairn.yaml"), configuration(cluster, namespace, "UTC"));
  });
  afterAll(async () => {
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`];
    await execa(program, [...where, "delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
    await rm(dir, { recursive: true, force: true });
  });

  const infra = async (command: string, ...flags: string[]) => {
    const source = `const { default: it } = await import(process.argv[1]); await it.run(process.argv.slice(2), ${JSON.stringify(join(ROOT, "package.json"))});`;
    const file = join(ROOT, "control", "commands", "infra", `${command}.ts`);
    const args = ["--no-warnings", "--input-type=module", "-e", source, file, "--dir", dir, ...flags];
    // The cluster's own kubectl, not whichever the machine has.
    const env = { PATH: `${dirname(program)}${delimiter}${process.env.PATH ?? ""}` };
    const { stdout, stderr } = await execa(process.execPath, args, { env });
    expect(stdout + stderr).not.toContain(TOKEN);
    return stdout;
  };
  const say = async (session: string, text: string): Promise<string> => {
    const { kubeconfig, context } = cluster;
    const plan = kubernetesPlan({ stack: "field", kubeconfig, context, namespace });
    const connection = await createKubernetesDriver(plan, secretValues(), { program }).connect(
      "main",
      AbortSignal.timeout(60_000),
    );
    try {
      const response = await fetch(`${connection.url}/api/agents/ada/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ session, text }),
      });
      return await response.text();
    } finally {
      await connection.close();
    }
  };

  it("answers, and up again changes nothing", async () => {
    await infra("up", "--yes");
    expect(await say("one", "my favourite mountain is Piz Palue")).toContain('"ok":true');
    expect(await infra("preview")).toContain("No changes");
  });

  it("gets a changed setting, and nothing else changes", async () => {
    await writeFile(join(dir, "cairn.yaml"), configuration(cluster, namespace, "Europe/Zurich"));
    expect(await infra("up", "--yes")).toMatch(/2 updated, \d+ unchanged/);
  });

  it("remembers after destroy and up", async () => {
    expect(await infra("destroy", "--yes")).toContain("data-field-postgres-0");
    await infra("up", "--yes");
    expect(await say("two", "what is my favourite mountain?")).toContain("Piz Palue");
  });

  it("loses its data only when they are asked for by name, after a backup", async () => {
    const said = await infra("destroy", "--yes", "--delete-data", "--confirm", "field");
    const backup = /^Backup: (.+)$/m.exec(said)?.[1] ?? "";
    expect((await readFile(backup)).byteLength).toBeGreaterThan(100);
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, `--namespace=${namespace}`];
    expect((await execa(program, [...where, "get", "persistentvolumeclaims", "--output=name"])).stdout).toBe("");
  });
});

function configuration(cluster: LiveCluster, namespace: string, timezone: string): string {
  return `version: 1
runtime: { default_agent: ada, timezone: ${timezone} }
providers: { offline: { kind: offline } }
agents: { ada: { provider: offline, workspace: workspace } }
memory: { postgres: { connection_string: "\${SERVICE_PG_URL}" } }
deployment:
  name: field
  target: kubernetes
  datahub: { postgres: true, image: "${cluster.postgresImage}" }
  kubernetes:
    kubeconfig: ${cluster.kubeconfig}
    context: ${cluster.context}
    namespace: ${namespace}
    storage_size: 64Mi
    database_size: 256Mi
    requests: { memory: 128Mi, cpus: 0.05 }
`;
}

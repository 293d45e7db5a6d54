/** What nodes that make their certificates themselves show: read in their containers, and written into the record. */

import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TargetDriver } from "../../../../control/deploy/driver.ts";
import { createDockerDriver } from "../../../../control/deploy/drivers/docker/driver.ts";
import { createKubernetesDriver } from "../../../../control/deploy/drivers/kubernetes/driver.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import type { ObservedNode } from "../../../../control/deploy/inspection.ts";
import { recordOwnCertificates } from "../../../../control/deploy/operations/own-certificates.ts";
import type { OperationInput } from "../../../../control/deploy/operations/services.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { dockerPlan, nodePlan } from "../../../support/docker-target.ts";
import { createFakeTools, type FakeTools } from "../../../support/fake-tools.ts";
import { nodePlan as groupPlan, kubernetesPlan, secretValues } from "../../../support/kubernetes/plans.ts";

const pin = (byte: string) => Array(32).fill(byte).join(":");
const NODES = ["one", "two", "sick", "plain"];

let tools: FakeTools;
let dir: string;

beforeEach(async () => {
  tools = await createFakeTools();
  vi.stubEnv("PATH", `${tools.directory}:${process.env["PATH"]}`);
  vi.stubEnv("DOCKER_HOST", undefined);
  dir = await mkdtemp(join(tmpdir(), "cairn-certificates-"));
  await mkdir(join(dir, "infra"));
  const node = (name: string) => ({ name, workload: name, place: "local", image: "i", url: null });
  const record = {
    schema: 1,
    stack: "fleet",
    target: "docker",
    backend: "b",
    deployed_at: "d",
    version: "1",
    data: [],
  };
  await writeFile(join(dir, "infra", "stack.json"), JSON.stringify({ ...record, nodes: NODES.map(node) }));
});
afterEach(() => tools.remove());

type Played = readonly [plan: DeploymentPlan, driver: TargetDriver];

function onDocker(): Played {
  const plan = dockerPlan({ nodes: NODES.map((name) => nodePlan(name, { tls: name !== "plain" })) });
  return [plan, createDockerDriver(plan, { registry: null })];
}

function onKubernetes(): Played {
  const plan = kubernetesPlan({ nodes: NODES.map((name) => groupPlan({ name, tls: name !== "plain" })) });
  return [plan, createKubernetesDriver(plan, secretValues())];
}

/** What is recorded of each node then. `certificate`: the one that all are given. */
async function recorded([plan, driver]: Played, certificate: string | null = null) {
  // Of the run only these are asked for.
  const run = { dir, signal: new AbortController().signal } as OperationInput;
  const secrets = { variables: {}, registry: null };
  const project = { dir, plan, secrets, certificate, warnings: [], redactValues: [] };
  const seen = NODES.map((name): ObservedNode => {
    const health = name === "sick" ? "unhealthy" : "healthy";
    const about = { image: null, version: null, since: null, restarts: 0 };
    return { name, workload: name, place: "local", state: "running", health, ...about };
  });
  await recordOwnCertificates({ run, files: infraFiles(dir, "fleet"), driver }, project, NODES, seen);
  const { nodes } = JSON.parse(await readFile(join(dir, "infra", "stack.json"), "utf8"));
  return Object.fromEntries(
    nodes.map((node: Record<string, string>) => [
      node["name"],
      [node["certificate_sha256"], node["next_certificate_sha256"]],
    ]),
  );
}

/** After `docker exec` answered so. */
async function asDocker(answer: string, certificate?: string) {
  await tools.add("docker", answer);
  return recorded(onDocker(), certificate);
}

const announced = (shown: unknown, next: unknown = null) =>
  `echo '${JSON.stringify({ pid: 1, url: "https://127.0.0.1:7433", certificate_sha256: shown, next_certificate_sha256: next })}'`;

describe("what nodes show that make their certificates themselves", () => {
  it("is what each says in its own container, the next one included; nobody else is asked", async () => {
    const answer = `case "$*" in *fleet-one*) ${announced(pin("AA"), pin("AB"))} ;; *) ${announced(pin("BB"), pin("BC"))} ;; esac`;
    expect(await asDocker(answer)).toMatchObject({ one: [pin("AA"), pin("AB")], two: [pin("BB"), pin("BC")] });
    const calls = (await tools.calls()).map((call) => call.join(" "));
    expect(calls.sort()).toEqual(
      ["one", "two"].map((name) => `docker exec -i fleet-${name} cat /var/lib/cairn/run/node.json`),
    );
  });

  it("is read in the pod of each on Kubernetes", async () => {
    const pods = JSON.stringify({
      items: [
        {
          metadata: { name: "POD", labels: {} },
          spec: { containers: [{ name: "cairn", image: "cairn:1" }] },
          status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
        },
      ],
    });
    const podOf = (node: string) => `echo '${pods.replace("POD", `cairn-${node}-0`)}'`;
    await tools.add(
      "kubectl",
      `case "$*" in
        *"get pods"*node=one*) ${podOf("one")} ;;
        *"get pods"*) ${podOf("two")} ;;
        *exec*pod/cairn-one-0*" cat /var/lib/cairn/run/node.json") ${announced(pin("AA"), pin("AB"))} ;;
        *exec*pod/cairn-two-0*" cat /var/lib/cairn/run/node.json") ${announced(pin("BB"))} ;;
        *) exit 1 ;;
      esac`,
    );
    expect(await recorded(onKubernetes())).toMatchObject({ one: [pin("AA"), pin("AB")], two: [pin("BB"), null] });
  });

  it("is not asked for where all have been given one", async () => {
    await asDocker("exit 1", pin("CC"));
    expect(await tools.calls()).toEqual([]);
  });

  it.each([
    ["no certificate", announced(null)],
    ["something else", announced("trust me")],
    ["no JSON", "echo starting"],
  ])("is refused where a node tells of %s", async (_what, answer) => {
    await expect(asDocker(answer)).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/which certificate (one|two) shows: it says of none/),
    });
  });

  it("is an error of the container, or of its host, where that cannot be entered", async () => {
    const broken = `case "$*" in exec*) echo "cat: no such file" >&2; exit 1 ;; esac`;
    await expect(asDocker(broken)).rejects.toMatchObject({ message: expect.stringContaining("no such file") });
    const unreachable = `echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock" >&2; exit 1`;
    await expect(asDocker(unreachable)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
  });
});

/** What nodes that make their certificates themselves show: read in their containers, and written into the record. */

import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDockerDriver } from "../../../../control/deploy/drivers/docker/driver.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import type { ObservedNode } from "../../../../control/deploy/inspection.ts";
import { recordOwnCertificates } from "../../../../control/deploy/operations/own-certificates.ts";
import type { OperationInput } from "../../../../control/deploy/operations/services.ts";
import { dockerPlan, nodePlan } from "../../../support/docker-target.ts";
import { createFakeTools, type FakeTools } from "../../../support/fake-tools.ts";

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

/** After `docker exec` answered so; `certificate`: the one that all are given. */
async function recorded(answer: string, certificate: string | null = null) {
  await tools.add("docker", answer);
  const plan = dockerPlan({ nodes: NODES.map((name) => nodePlan(name, { tls: name !== "plain" })) });
  const driver = createDockerDriver(plan, { registry: null });
  // Of the run only these are asked for.
  const run = { dir, signal: new AbortController().signal } as OperationInput;
  const project = {
    dir,
    plan,
    secrets: { variables: {}, registry: null },
    certificate,
    warnings: [],
    redactValues: [],
  };
  const seen = NODES.map((name): ObservedNode => {
    const health = name === "sick" ? "unhealthy" : "healthy";
    return {
      name,
      workload: name,
      place: "local",
      state: "running",
      health,
      image: null,
      version: null,
      since: null,
      restarts: 0,
    };
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

const announced = (shown: unknown, next: unknown = null) =>
  `echo '${JSON.stringify({ pid: 1, url: "https://127.0.0.1:7433", certificate_sha256: shown, next_certificate_sha256: next })}'`;

describe("what nodes show that make their certificates themselves", () => {
  it("is what each says in its own container, the next one included; nobody else is asked", async () => {
    const answer = `case "$*" in *fleet-one*) ${announced(pin("AA"), pin("AB"))} ;; *) ${announced(pin("BB"), pin("BC"))} ;; esac`;
    expect(await recorded(answer)).toMatchObject({ one: [pin("AA"), pin("AB")], two: [pin("BB"), pin("BC")] });
    const calls = (await tools.calls()).map((call) => call.join(" "));
    expect(calls.sort()).toEqual(
      ["one", "two"].map((name) => `docker exec -i fleet-${name} cat /var/lib/cairn/run/node.json`),
    );
  });

  it("is not asked for where all have been given one", async () => {
    await recorded("exit 1", pin("CC"));
    expect(await tools.calls()).toEqual([]);
  });

  it.each([
    ["no certificate", announced(null)],
    ["something else", announced("trust me")],
    ["no JSON", "echo starting"],
  ])("is refused where a node tells of %s", async (_what, answer) => {
    await expect(recorded(answer)).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/which certificate (one|two) shows: it says of none/),
    });
  });

  it("is an error of the container, or of its host, where that cannot be entered", async () => {
    const broken = `case "$*" in exec*) echo "cat: no such file" >&2; exit 1 ;; esac`;
    await expect(recorded(broken)).rejects.toMatchObject({ message: expect.stringContaining("no such file") });
    const unreachable = `echo "Cannot connect to the Docker daemon at unix:///var/run/docker.sock" >&2; exit 1`;
    await expect(recorded(unreachable)).rejects.toMatchObject({ code: "INFRA_HOST_UNREACHABLE" });
  });
});

/** Which target reads which setting of `deployment`: the table of the validation, held against the schema and against plans. */

import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { DEPLOYMENT_TARGETS, deploymentSection } from "../../../runtime/config/schema/deployment.ts";
import { type DeploymentTarget, TARGET_SETTINGS } from "../../../runtime/config/target-settings.ts";
import { CairnError } from "../../../runtime/contracts/errors.ts";
import { inspectText } from "../../support/deployment.ts";
import { AGENTS, planOf } from "../../support/infra/project.ts";

/** A value of each setting that is not what the base configurations have. */
const OTHERS: Readonly<Record<string, unknown>> = {
  name: "other",
  stop_timeout: "300s",
  "nodes.*.name": "other",
  "nodes.*.host": "ssh://u@h",
  "nodes.*.port": 7500,
  "nodes.*.host_key": "ssh-ed25519 BBBB",
  "nodes.*.user": "other",
  "nodes.*.identity_file": "/other",
  "nodes.*.unit": "other",
  "nodes.*.memory": "3Gi",
  "nodes.*.cpus": 3,
  "nodes.*.vmid": 900,
  "nodes.*.pve_node": "pve2",
  "nodes.*.address": "10.0.0.5/24",
  "nodes.*.labels": { disk: "ssd" },
  "nodes.*.advertise": "a.example.org:7433",
  "datahub.postgres": true,
  "datahub.image": "pgvector/pgvector:0.8.2-pg17",
  "datahub.publish": "10.0.0.8:5432",
  "datahub.memory": "3Gi",
  "datahub.cpus": 3,
  "datahub.shared_storage": true,
  docker: { network: "other", pids: 100 },
  proxmox: { host: "pve9", host_key: "ssh-ed25519 BBBB", postgres_address: "10.0.0.9/24" },
  kubernetes: { namespace: "other" },
};

const BASE: Readonly<Record<DeploymentTarget, object>> = {
  docker: { target: "docker", nodes: [{ name: "a" }] },
  proxmox: {
    target: "proxmox",
    nodes: [{ name: "a" }],
    proxmox: { host: "pve", host_key: "ssh-ed25519 AAAA", postgres_address: "10.0.0.9/24" },
  },
  kubernetes: { target: "kubernetes", nodes: [{ name: "a" }] },
  manual: { target: "manual", nodes: [{ name: "a" }] },
};

const PLANNED = DEPLOYMENT_TARGETS.filter((target) => target !== "manual");

/** The settings of the table that a plan can show, one a test. `image` is read by the build, `target` chooses the plan. */
const SETTINGS = TARGET_SETTINGS.map(({ path, targets }) => ({ name: path.join("."), targets })).filter(
  ({ name }) => !["image", "target"].includes(name),
);

/** The base of a target with one more setting; where that is one of the database, the base has a database. */
function withSetting(target: DeploymentTarget, name: string | null, database: boolean): string {
  const base = structuredClone(BASE[target]);
  if (database) Reflect.set(base, "datahub", { postgres: true });
  if (name !== null) {
    const parts = name.split(".");
    const parent = parts.slice(0, -1).reduce<object>((at, part) => {
      const key = part === "*" ? "0" : part;
      if (!Object.hasOwn(at, key)) Reflect.set(at, key, {});
      return Reflect.get(at, key);
    }, base);
    Reflect.set(parent, parts.at(-1) ?? "", OTHERS[name]);
  }
  return `${AGENTS}${stringify({ deployment: base })}`;
}

async function outcome(yaml: string): Promise<string> {
  const plan = await planOf(yaml).catch((error: unknown) => {
    if (error instanceof CairnError) return { refused: error.details.issues };
    throw error;
  });
  return JSON.stringify(plan);
}

function keysBelow(schema: unknown, path: readonly string[] = []): string[] {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  if (inner instanceof z.ZodArray && path.at(-1) === "nodes") return keysBelow(inner.element, [...path, "*"]);
  if (!(inner instanceof z.ZodObject)) return [path.join(".")];
  return Object.entries(inner.shape).flatMap(([key, child]) => keysBelow(child, [...path, key]));
}

test("the table has each setting of the schema once, and no other", () => {
  const lines = TARGET_SETTINGS.map(({ path }) => path.join("."));
  const linesOf = (key: string) => lines.filter((line) => key === line || key.startsWith(`${line}.`));
  const keys = keysBelow(deploymentSection);
  expect(keys.filter((key) => linesOf(key).length !== 1)).toEqual([]);
  expect(lines.filter((line) => !keys.some((key) => linesOf(key).includes(line)))).toEqual([]);
});

describe.each(PLANNED)("the plan for %s", (target) => {
  test.each(SETTINGS)("changes by $name only where the target reads it", async ({ name, targets }) => {
    const database = name.startsWith("datahub.") && name !== "datahub.postgres";
    const before = await outcome(withSetting(target, null, database));
    const after = await outcome(withSetting(target, name, database));
    expect(after !== before).toBe(targets.includes(target));
  });
});

describe.each(DEPLOYMENT_TARGETS)("the validation for %s", (target) => {
  test.each(SETTINGS)("warns of $name only where the target does not read it", async ({ name, targets }) => {
    const yaml = withSetting(target, name, false);
    const { warnings } = await inspectText(yaml, { env: { SERVICE_API_TOKEN: "t".repeat(20) } });
    const found = warnings.filter(({ code }) => code === "other-target").map(({ path }) => path);
    const path = `deployment.${name.replace(".*", "[0]")}`;
    expect(found).toEqual(targets.includes(target) ? [] : [path]);
  });
});

test("a setting that is off, empty or left out is no reason for a warning, and the words name the targets", async () => {
  const off = await inspectText(
    `${AGENTS}${stringify({ deployment: { target: "manual", datahub: { postgres: false }, kubernetes: {}, nodes: [{ name: "a", labels: {} }] } })}`,
  );
  expect(off.warnings).toEqual([]);
  const { warnings } = await inspectText(
    `${AGENTS}${stringify({ deployment: { nodes: [{ name: "a", vmid: 700 }] } })}`,
  );
  expect(warnings).toMatchObject([
    {
      path: "deployment.nodes[0].vmid",
      message: "changes nothing: it is for the target proxmox, and the target is manual",
    },
  ]);
});

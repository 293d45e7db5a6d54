/** A stack of the Docker target on a real Pulumi engine, with a state of its own. */

import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { type EngineEvent, LocalWorkspace, type OpMap, type Stack } from "@pulumi/pulumi/automation/index.js";
import type { DockerPlan } from "../../infra/plan/types.ts";
import { target } from "../../infra/targets/docker.ts";
import { docker } from "./docker-lane.ts";
import { until } from "./eventually.ts";

export interface StackInput {
  readonly plan: DockerPlan;
  readonly variables: Readonly<Record<string, string>>;
  readonly password: string;
  /** As issueServerTls makes it. */
  readonly tls: string;
  readonly adopt?: readonly string[];
}

/** Step of a resource, by its own name: `create`, `update`, `replace`, `delete`. */
export type Steps = Readonly<Record<string, string>>;

export interface TestStack {
  readonly directory: string;
  up(input: StackInput): Promise<Steps>;
  preview(input: StackInput): Promise<Steps>;
  /** Steps that bring the records to what is there; changes nothing. */
  refresh(input: StackInput): Promise<Steps>;
  /** Leaves what is protected. */
  destroy(input: StackInput): Promise<Steps>;
  /** Breaks the lock of a run that died, and tells what it was doing. */
  recover(input: StackInput): Promise<readonly { readonly type: string; readonly name: string }[]>;
  /** All files of the state as they are on disk, in one. */
  stored(): Promise<string>;
  remove(): Promise<void>;
}

export async function createTestStack(directory?: string): Promise<TestStack> {
  const root = directory ?? (await mkdtemp(join(tmpdir(), "cairn-stack-")));
  return {
    directory: root,
    up: async (input) => {
      const made = await steps(root, input, (stack, onEvent) => stack.up({ onEvent }));
      // The engine only starts them.
      await until(async () => (await unhealthy(input.plan.stack)).length === 0);
      return made;
    },
    preview: (input) => steps(root, input, (stack, onEvent) => stack.preview({ onEvent })),
    refresh: (input) => steps(root, input, (stack, onEvent) => stack.refresh({ onEvent })),
    destroy: (input) => steps(root, input, (stack, onEvent) => stack.destroy({ onEvent, excludeProtected: true })),
    recover: async (input) => {
      const stack = await open(root, input);
      await stack.cancel();
      const { deployment } = await stack.exportStack();
      const pending: readonly Pending[] = deployment.pending_operations ?? [];
      return pending.map(({ resource }) => ({ type: resource.type, name: String(resource.inputs?.["name"] ?? "") }));
    },
    stored: async () => {
      const entries = await readdir(join(root, ".pulumi"), { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "utf8")))).join("\n");
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

/** Containers of the stack that run and are not healthy, or do not run although they should. */
async function unhealthy(stack: string): Promise<string[]> {
  const all = await docker(
    "ps",
    "--all",
    "--filter",
    `label=cairn.stack=${stack}`,
    "--format",
    "{{.Names}} {{.Status}}",
  );
  return all.split("\n").filter((line) => line !== "" && !/^\S+\.files | \(healthy\)$/.test(line));
}

interface Pending {
  readonly resource: { readonly type: string; readonly inputs?: Readonly<Record<string, unknown>> };
}

async function open(root: string, input: StackInput): Promise<Stack> {
  // The engine makes a temporary folder otherwise, and leaves it.
  const workDir = join(root, "work");
  await mkdir(workDir, { recursive: true });
  const program = async () => {
    const parent = new pulumi.ComponentResource("cairn:index:Stack", input.plan.stack);
    const outputs = await target({
      plan: input.plan,
      secrets: { variables: input.variables, registry: null },
      postgresSecrets: input.plan.postgres ? pulumi.secret({ password: input.password, tls: input.tls }) : null,
      adopt: new Set(input.adopt ?? []),
      parent,
    });
    return { outputs };
  };
  return LocalWorkspace.createOrSelectStack(
    { stackName: input.plan.stack, projectName: "cairn", program },
    {
      workDir,
      envVars: {
        PULUMI_BACKEND_URL: `file://${root}`,
        PULUMI_CONFIG_PASSPHRASE: "of a test",
        PULUMI_SKIP_UPDATE_CHECK: "1",
      },
    },
  );
}

async function steps(
  root: string,
  input: StackInput,
  run: (stack: Stack, onEvent: (event: EngineEvent) => void) => Promise<unknown>,
): Promise<Steps> {
  const stack = await open(root, input);
  const seen: Record<string, string> = {};
  await run(stack, ({ resourcePreEvent, resOutputsEvent }) => {
    const metadata = resourcePreEvent?.metadata ?? resOutputsEvent?.metadata;
    if (!metadata || QUIET.has(metadata.op)) return;
    const name = metadata.urn.split("::").at(-1) ?? "";
    // A replacement is also told as the steps that it is made of.
    const op = metadata.op.includes("replace") ? "replace" : metadata.op;
    if (!metadata.type.startsWith("pulumi:") && !metadata.type.startsWith("cairn:")) seen[name] = op;
  });
  return seen;
}

const QUIET = new Set<string>(["same", "read", "refresh"] satisfies (keyof OpMap)[]);

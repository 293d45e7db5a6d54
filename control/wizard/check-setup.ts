/** Whether what a setup would write is valid and can be deployed; checked in a directory of its own. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CONFIG_FILE, type Environment, inspectConfig } from "../../runtime/config/index.ts";
import { CairnError, ConfigError } from "../../runtime/contracts/errors.ts";
import type { PlannedFile } from "./generate.ts";

interface Around {
  /** With a value for every variable that the file refers to. */
  readonly env: Environment;
  readonly home: string;
  readonly deployed: boolean;
}

/** CONFIG_INVALID, or INFRA_PLAN_INVALID where the nodes could not be deployed like that. */
export async function checkNew(files: readonly PlannedFile[], { env, home, deployed }: Around): Promise<void> {
  await staged(files, async (dir) => {
    const inspection = await inspectConfig({ dir, home, env, deployment: deployed });
    if (inspection.error !== null) {
      const lines = inspection.errors.map((issue) => `  ${issue.path}: ${issue.message}`);
      throw new ConfigError("CONFIG_INVALID", ["The answers do not make a valid configuration:", ...lines].join("\n"), {
        issues: inspection.errors,
        hint: "Nothing was written. Give other answers.",
      });
    }
    // Addresses that clash, a database that nodes cannot reach: the plan finds them before anything is deployed.
    if (deployed) await plan(dir, { env, home });
  });
}

/** INFRA_PLAN_INVALID for what could not be deployed any more; what could not be before is no reason to change nothing. */
export async function checkChange(before: string, after: string, around: Omit<Around, "deployed">): Promise<void> {
  const earlier = await planProblem(before, around);
  const problem = await planProblem(after, around);
  const issues = new Set((earlier?.details.issues ?? []).map(keyOf));
  if (
    problem !== null &&
    (earlier === null || (problem.details.issues ?? []).some((issue) => !issues.has(keyOf(issue))))
  )
    throw problem;
}

async function planProblem(content: string, around: Omit<Around, "deployed">): Promise<CairnError | null> {
  try {
    await staged([{ path: CONFIG_FILE, content, mode: "create" }], (dir) => plan(dir, around));
    return null;
  } catch (error) {
    // Anything else is reported by the validation of the configuration.
    if (error instanceof CairnError && error.code === "INFRA_PLAN_INVALID") return error;
    if (error instanceof CairnError) return null;
    throw error;
  }
}

async function plan(dir: string, { env, home }: Omit<Around, "deployed">): Promise<void> {
  const { readProject } = await import("../../infra/project.ts");
  await readProject({ dir, home, env, readSecret: async (reference) => reference });
}

async function staged(files: readonly PlannedFile[], inspect: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "cairn-check-"));
  try {
    for (const { path, content } of files) {
      await mkdir(dirname(join(dir, path)), { recursive: true });
      await writeFile(join(dir, path), content, { mode: 0o600 });
    }
    await inspect(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function keyOf({ path, message }: { readonly path: string; readonly message: string }): string {
  return `${path} ${message}`;
}

/**
 * The Pulumi program of a deployment: one root component, and below it what the target declares. The commands run it inline,
 * and the rendered project runs the same by hand. The SDK is loaded when the program runs: commands that only plan do without.
 */
import type { Output, Resource } from "@pulumi/pulumi";
import { InfraError } from "../runtime/contracts/errors.ts";
import type { DeploymentPlan, SecretValues, StackOutputs } from "./plan/types.ts";
import type { TargetInput } from "./targets/target.ts";

/** Type of the component that everything hangs below. */
const ROOT_TYPE = "cairn:index:Stack";
/** Namespace and key of the database's password in the stack's configuration. */
const CONFIG_NAMESPACE = "cairn";
const PASSWORD_KEY = "postgresPassword";
/** The same as the engine's own command calls it. */
export const POSTGRES_PASSWORD = `${CONFIG_NAMESPACE}:${PASSWORD_KEY}`;

export interface ProgramInput {
  readonly plan: DeploymentPlan;
  readonly secrets: SecretValues;
}

export interface ProgramOptions {
  /** Data that exists already and is taken over instead of made: the volume's or claim's own name. */
  readonly adopt?: ReadonlySet<string>;
}

/** What the stack tells once its resources are there, key by key. */
export type ProgramOutputs = { readonly [Key in keyof StackOutputs]: Output<StackOutputs[Key]> };

/** Errors of the target, and INFRA_PLAN_INVALID where the stack's configuration lacks the database's password. */
export function createProgram(
  { plan, secrets }: ProgramInput,
  options: ProgramOptions = {},
): () => Promise<ProgramOutputs> {
  return async () => {
    const { ComponentResource, output } = await import("@pulumi/pulumi");
    const parent = new ComponentResource(ROOT_TYPE, plan.stack);
    const postgresPassword = plan.postgres === null ? null : await databasePassword(plan.stack);
    const adopt = options.adopt ?? new Set<string>();
    const made = output(await declare(plan, { secrets, postgresPassword, adopt, parent }));
    return { nodes: made.apply(({ nodes }) => nodes), data: made.apply(({ data }) => data) };
  };
}

async function databasePassword(stack: string): Promise<Output<string>> {
  const { Config } = await import("@pulumi/pulumi");
  const password = new Config(CONFIG_NAMESPACE).getSecret(PASSWORD_KEY);
  if (password) return password;
  throw new InfraError("INFRA_PLAN_INVALID", `The stack ${stack} has no password for its PostgreSQL.`, {
    hint: `\`cairn infra up\` makes one and keeps it, encrypted, in Pulumi.${stack}.yaml as ${POSTGRES_PASSWORD}.`,
  });
}

type Surroundings = Omit<TargetInput, "plan" | "parent"> & { readonly parent: Resource };

/** Only the target that is used is loaded: each brings a provider's SDK of its own. */
async function declare(plan: DeploymentPlan, surroundings: Surroundings) {
  switch (plan.target) {
    case "docker":
      return (await import("./targets/docker.ts")).target({ plan, ...surroundings });
    case "proxmox":
      return (await import("./targets/proxmox.ts")).target({ plan, ...surroundings });
    case "kubernetes":
      return (await import("./targets/kubernetes.ts")).target({ plan, ...surroundings });
  }
}

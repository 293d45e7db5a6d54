/**
 * The Pulumi program of a deployment: one root component, and below it what the target declares. The commands run it inline,
 * and the rendered project runs the same by hand. The SDK is loaded when the program runs: commands that only plan do without.
 */
import type { Output, Resource } from "@pulumi/pulumi";
import { InfraError } from "../runtime/contracts/errors.ts";
import type { DeploymentPlan, PostgresSecrets, SecretValues, StackOutputs } from "./plan/types.ts";
import type { TargetInput } from "./targets/target.ts";

/** Type of the component that everything hangs below. */
const ROOT_TYPE = "cairn:index:Stack";
/** The database's secrets in the stack's configuration, as the engine's own command calls them. */
export const POSTGRES_PASSWORD = "cairn:postgresPassword";
export const POSTGRES_TLS = "cairn:postgresTls";

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

/** Errors of the target, and INFRA_PLAN_INVALID where the stack's configuration lacks the database's secrets. */
export function createProgram(
  { plan, secrets }: ProgramInput,
  options: ProgramOptions = {},
): () => Promise<ProgramOutputs> {
  return async () => {
    const { ComponentResource, output } = await import("@pulumi/pulumi");
    const parent = new ComponentResource(ROOT_TYPE, plan.stack);
    const postgresSecrets = plan.postgres === null ? null : await databaseSecrets(plan.stack);
    const adopt = options.adopt ?? new Set<string>();
    const made = output(await declare(plan, { secrets, postgresSecrets, adopt, parent }));
    return { nodes: made.apply(({ nodes }) => nodes), data: made.apply(({ data }) => data) };
  };
}

async function databaseSecrets(stack: string): Promise<Output<PostgresSecrets>> {
  const { all, Config } = await import("@pulumi/pulumi");
  const secret = (key: string, what: string): Output<string> => {
    const [namespace = "", name = ""] = key.split(":");
    const value = new Config(namespace).getSecret(name);
    if (value) return value;
    throw new InfraError("INFRA_PLAN_INVALID", `The stack ${stack} has no ${what} for its PostgreSQL.`, {
      hint: `\`cairn infra up\` makes one and keeps it, encrypted, in Pulumi.${stack}.yaml as ${key}.`,
    });
  };
  return all([secret(POSTGRES_PASSWORD, "password"), secret(POSTGRES_TLS, "certificate")]).apply(([password, tls]) => ({
    password,
    tls,
  }));
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

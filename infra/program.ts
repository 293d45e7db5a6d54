/**
 * The Pulumi program of a deployment: one root component, and below it what the target declares. The commands run it inline,
 * and the rendered project runs the same by hand. The SDK is loaded when the program runs: commands that only plan do without.
 */
import type { Output, Resource } from "@pulumi/pulumi";
import { InfraError } from "../runtime/contracts/errors.ts";
import { stackNames } from "./plan/names.ts";
import type { DeploymentPlan, PostgresSecrets, SecretValues, StackOutputs } from "./plan/types.ts";
import { pinnedCertificate } from "./postgres/configuration.ts";
import type { TargetInput } from "./targets/target.ts";

/** Type of the component that everything hangs below. */
const ROOT_TYPE = "cairn:index:Stack";
/**
 * Type of the component that records what nodes reach the stack's PostgreSQL with. It has nothing on the target: a run for one node
 * compares it, and does not change what only all nodes can get together with the database.
 */
export const DATABASE_ACCESS_TYPE = "cairn:index:DatabaseAccess";
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

/** Outputs of the stack. */
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
    if (postgresSecrets !== null) {
      const access = { ...placeOf(plan), secrets: postgresSecrets.apply(sharedSecrets) };
      new ComponentResource(DATABASE_ACCESS_TYPE, `${stackNames(plan.stack).postgres}-access`, access, { parent });
    }
    const adopt = options.adopt ?? new Set<string>();
    const made = output(await declare(plan, { secrets, postgresSecrets, adopt, parent }));
    return { nodes: made.apply(({ nodes }) => nodes), data: made.apply(({ data }) => data) };
  };
}

/** Where the database is found from outside its own machine. */
function placeOf(plan: DeploymentPlan) {
  const publish = plan.postgres?.publish ?? null;
  switch (plan.target) {
    case "docker":
      return { host: plan.host, publish };
    case "proxmox":
      return { host: plan.postgresAddress, publish };
    case "kubernetes":
      return { host: null, publish };
  }
}

/** What the database and its nodes must have in common. A renewed certificate of the same authority is no other one. */
function sharedSecrets({ password, tls }: PostgresSecrets) {
  return { password, authority: pinnedCertificate(tls) };
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

/**
 * What every target is to the program: a function from its plan to resources, run inside a Pulumi program. The file
 * `targets/<name>.ts` exports it as `target`.
 */

import type { Input, Output, Resource } from "@pulumi/pulumi";
import type { DeploymentPlan, PostgresSecrets, SecretValues, StackOutputs } from "../plan/types.ts";

export interface TargetInput<Plan extends DeploymentPlan = DeploymentPlan> {
  readonly plan: Plan;
  readonly secrets: SecretValues;
  /** Null without datahub.postgres. */
  readonly postgresSecrets: Output<PostgresSecrets> | null;
  /** Data that exists already and is taken over instead of made: the volume's or claim's own name. */
  readonly adopt: ReadonlySet<string>;
  /** The stack's root component: what a target declares at its top hangs below it. */
  readonly parent?: Resource;
}

/** Declares the resources. Data resources are protected and retained. */
export type Target<Plan extends DeploymentPlan> = (input: TargetInput<Plan>) => Input<StackOutputs>;

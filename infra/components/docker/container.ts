/** What every container of a stack that serves is held to: limits, logs, and the least rights that it can work with. */

import type { ContainerArgs } from "@pulumi/docker";
import type { DockerPlan, ResourceLimits } from "../../plan/types.ts";
import type { Label } from "./labels.ts";

const MIB = 1024 * 1024;
/** Microseconds, as Docker's own. */
const CPU_PERIOD = 100_000;

/** The provider reports a change of these as an update, and leaves the container as it is: it takes a new one. */
export const NEVER_UPDATED = ["cpuPeriod", "cpuQuota", "healthcheck", "init", "tmpfs"] as const;

type Limited = Pick<ContainerArgs, "memory" | "memorySwap" | "cpuPeriod" | "cpuQuota">;

/** Docker counts memory in MiB here. No swap on top: a limit is a limit, and left out the provider sees a change each time. */
export function limitArgs(limits: ResourceLimits): Limited {
  const memory = limits.memoryBytes === null ? null : Math.max(Math.floor(limits.memoryBytes / MIB), 1);
  return {
    ...(memory === null ? {} : { memory, memorySwap: memory }),
    // The provider has `cpus`, too, but reads whole numbers back in another form than it was given, and sees a change.
    ...(limits.cpus === null ? {} : { cpuPeriod: CPU_PERIOD, cpuQuota: Math.round(limits.cpus * CPU_PERIOD) }),
  };
}

/** Memory is limited anew while a container runs, but Docker does not remove a limit: then a label makes it a new one. */
export function limitLabels({ memoryBytes }: ResourceLimits): Label[] {
  return memoryBytes === null ? [] : [{ label: "cairn.memory", value: "limited" }];
}

export function hardeningArgs() {
  return {
    readOnly: true,
    privileged: false,
    capabilities: { drops: ["ALL"] },
    securityOpts: ["no-new-privileges:true"],
  } satisfies Partial<ContainerArgs>;
}

export function logArgs(plan: DockerPlan) {
  return {
    logDriver: "json-file",
    logOpts: { "max-file": String(plan.logMaxFiles), "max-size": String(plan.logMaxBytes) },
  } satisfies Partial<ContainerArgs>;
}

/** `stopTimeoutS`: seconds until the kill, for every way to stop it; the provider's own default would be none at all. */
export function lifetimeArgs(stopTimeoutS: number) {
  return {
    restart: "unless-stopped",
    stopTimeout: stopTimeoutS,
    destroyGraceSeconds: stopTimeoutS,
    mustRun: true,
    // Whether it serves is looked at afterwards (docs/decisions/037-who-waits-for-health.md).
    wait: false,
    removeVolumes: true,
  } satisfies Partial<ContainerArgs>;
}

/** `NAME=value`, sorted. Never a secret: `docker inspect` shows it. */
export function environmentArgs(environment: Readonly<Record<string, string>>): { envs: string[] } {
  return {
    envs: Object.keys(environment)
      .sort()
      .map((name) => `${name}=${environment[name]}`),
  };
}

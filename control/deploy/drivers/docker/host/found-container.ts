/** A container as Docker's own inspection shows it: the one place that reads its form. */

import { z } from "zod";
import { STACK_LABEL } from "../../../../../infra/components/docker/labels.ts";
import type { ContainerEnd } from "../../../end-words.ts";

const VERSION_LABEL = "org.opencontainers.image.version";

export const labels = z.record(z.string(), z.string()).nullish();

export const containerShape = z.object({
  Id: z.string(),
  Name: z.string(),
  Config: z.object({ Image: z.string(), Labels: labels, Env: z.array(z.string()).nullish() }),
  State: z.object({
    Status: z.string(),
    ExitCode: z.number().nullish(),
    OOMKilled: z.boolean().nullish(),
    StartedAt: z.string().nullish(),
    FinishedAt: z.string().nullish(),
    Health: z.object({ Status: z.string(), Log: z.array(z.object({ Output: z.string() })).nullish() }).nullish(),
  }),
  RestartCount: z.number().nullish(),
  NetworkSettings: z
    .object({ Networks: z.record(z.string(), z.object({ NetworkID: z.string() })).nullish() })
    .nullish(),
  HostConfig: z.object({
    Memory: z.number().nullish(),
    MemorySwap: z.number().nullish(),
    CpuPeriod: z.number().nullish(),
    CpuQuota: z.number().nullish(),
    PidsLimit: z.number().nullish(),
    RestartPolicy: z.object({ Name: z.string() }).nullish(),
    PortBindings: z
      .record(
        z.string(),
        z.array(z.object({ HostIp: z.string().default(""), HostPort: z.string().default("") })).nullable(),
      )
      .nullish(),
  }),
});
export interface FoundContainer {
  readonly id: string;
  readonly name: string;
  /** As it was asked for: a digest, an id, or a name. */
  readonly image: string;
  /** Of our own labels; null for what we have not made. */
  readonly stack: string | null;
  /** Docker's word: `running`, `exited`, `created`, `restarting`, `paused`, `dead`. */
  readonly status: string;
  /** Docker's word: `healthy`, `starting`, `unhealthy`; null without a health check. */
  readonly health: string | null;
  /** What its health check said last. */
  readonly probed: string | null;
  /** Since when it runs, or does not run any more. */
  readonly since: string | null;
  readonly restarts: number;
  /** How it ended last: as its state says, which Docker empties when it starts it again. Null where it has not ended. */
  readonly end: ContainerEnd | null;
  /** Of the program in it, as its image says. */
  readonly version: string | null;
  /** Name of a network -> its id. */
  readonly networks: Readonly<Record<string, string>>;
  readonly settings: ContainerSettings;
  readonly ports: readonly { readonly address: string; readonly port: number }[];
}

/** What `docker update` changes while a container lives. Memory in bytes, processor time in microseconds; 0: not limited. */
export interface ContainerSettings {
  readonly memory: number;
  readonly memorySwap: number;
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly pids: number;
  readonly restart: string;
}

export function toContainer(container: z.infer<typeof containerShape>): FoundContainer {
  const { HostConfig: host } = container;
  const bindings = Object.values(host.PortBindings ?? {}).flatMap((list) => list ?? []);
  return {
    id: container.Id,
    name: container.Name.replace(/^\//, ""),
    image: container.Config.Image,
    stack: stackOf(container.Config.Labels),
    status: container.State.Status,
    health: container.State.Health?.Status ?? null,
    probed: container.State.Health?.Log?.at(-1)?.Output.trim() || null,
    since: sinceOf(container.State),
    restarts: container.RestartCount ?? 0,
    end: endOf(container.State),
    version: versionOf(container.Config),
    networks: Object.fromEntries(
      Object.entries(container.NetworkSettings?.Networks ?? {}).map(([name, { NetworkID }]) => [name, NetworkID]),
    ),
    settings: {
      memory: host.Memory ?? 0,
      memorySwap: host.MemorySwap ?? 0,
      cpuPeriod: host.CpuPeriod ?? 0,
      cpuQuota: host.CpuQuota ?? 0,
      pids: host.PidsLimit ?? 0,
      restart: host.RestartPolicy?.Name ?? "no",
    },
    ports: bindings
      .map(({ HostIp, HostPort }) => ({ address: HostIp === "" ? "0.0.0.0" : HostIp, port: Number(HostPort) }))
      .filter(({ port }) => port > 0),
  };
}

export function stackOf(found: z.infer<typeof labels>): string | null {
  return found?.[STACK_LABEL] ?? null;
}

const ENDED: readonly string[] = ["restarting", "exited", "dead"];

function endOf({ Status, ExitCode, OOMKilled }: z.infer<typeof containerShape>["State"]): ContainerEnd | null {
  return ENDED.includes(Status) ? { exitCode: ExitCode ?? null, outOfMemory: OOMKilled ?? false } : null;
}

/** Docker writes the year 1 where there was nothing yet. */
function sinceOf({ Status, StartedAt, FinishedAt }: z.infer<typeof containerShape>["State"]): string | null {
  return timeOf(Status === "exited" || Status === "dead" ? FinishedAt : StartedAt);
}

/** ISO 8601 in UTC; null for what is no time. */
export function timeOf(text: string | null | undefined): string | null {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) || time < 0 ? null : new Date(time).toISOString();
}

/** An image of ours says it in a label, PostgreSQL's in its environment. */
function versionOf({ Labels, Env }: z.infer<typeof containerShape>["Config"]): string | null {
  const variable = (name: string) => Env?.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1);
  return Labels?.[VERSION_LABEL] || variable("PG_VERSION") || variable("PG_MAJOR") || null;
}

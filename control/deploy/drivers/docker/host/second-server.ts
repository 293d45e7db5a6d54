/** The commands that make a second server of PostgreSQL as Docker shows the first one, but for its image, its data and its network. Pure. */

import { z } from "zod";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";

/** As much of a container's settings as bounds it and what it starts with. */
const shape = z
  .array(
    z.object({
      Config: z.object({
        Env: z.array(z.string()),
        Entrypoint: z.array(z.string()).min(1),
        Cmd: z.array(z.string()).nullish(),
        User: z.string(),
      }),
      HostConfig: z.object({
        Memory: z.number().default(0),
        CpuPeriod: z.number().default(0),
        CpuQuota: z.number().default(0),
        PidsLimit: z.number().nullish(),
        ShmSize: z.number(),
        GroupAdd: z.array(z.string()).nullish(),
        Tmpfs: z.record(z.string(), z.string()).nullish(),
      }),
    }),
  )
  .length(1);

export interface SecondServer {
  readonly name: string;
  readonly image: string;
  /** Flags that give it its data, and the files of the first one. */
  readonly mounts: readonly string[];
  /** `name=value`. */
  readonly labels: readonly string[];
}

/** Variables that the deployment sets; the rest are the image's own, such as its PATH. */
const OURS = /^(?:PGDATA|POSTGRES_[A-Z_]+)=/;

/** `user`: whose its data are to be. INFRA_FAILED for an inspection that is not understood. */
export function secondServer(
  inspection: string,
  { name, image, mounts, labels }: SecondServer,
): { readonly create: readonly string[]; readonly user: string } {
  const { Config: config, HostConfig: host } = read(inspection);
  const each = (flag: string, values: readonly string[]): string[] => values.flatMap((value) => [flag, value]);
  const limited = (flag: string, value: number | null | undefined): string[] =>
    value == null || value <= 0 ? [] : [flag, String(value)];
  const [entrypoint = "", ...rest] = [...config.Entrypoint, ...(config.Cmd ?? [])];
  const create = [
    ...["container", "create", "--name", name, "--network", "none", "--restart", "no", "--stop-timeout", "120"],
    ...["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--user", config.User],
    ...each("--group-add", host.GroupAdd ?? []),
    ...each("--label", labels),
    ...each(
      "--env",
      config.Env.filter((one) => OURS.test(one)),
    ),
    ...each(
      "--tmpfs",
      Object.entries(host.Tmpfs ?? {}).map(([path, options]) => `${path}:${options}`),
    ),
    ...limited("--memory", host.Memory),
    ...limited("--memory-swap", host.Memory),
    ...limited("--cpu-period", host.CpuQuota > 0 ? host.CpuPeriod : 0),
    ...limited("--cpu-quota", host.CpuQuota),
    ...limited("--pids-limit", host.PidsLimit),
    ...["--shm-size", String(host.ShmSize), ...mounts],
    ...["--entrypoint", entrypoint, image, ...rest],
  ];
  return { create, user: config.User };
}

function read(inspection: string): z.infer<typeof shape>[number] {
  try {
    const [found] = shape.parse(JSON.parse(inspection));
    if (found) return found;
  } catch (cause) {
    throw new InfraError("INFRA_FAILED", "Docker's description of the PostgreSQL container is not understood.", {
      cause,
    });
  }
  throw new InfraError("INFRA_FAILED", "Docker does not describe the PostgreSQL container.");
}

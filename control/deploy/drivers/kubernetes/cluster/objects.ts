/** The parts of Kubernetes objects that the driver reads, checked where they come in. */

import { z } from "zod";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { CallOptions, Kubectl } from "./kubectl.ts";

const metadata = z.object({
  name: z.string(),
  uid: z.string().optional(),
  generation: z.number().optional(),
  resourceVersion: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  deletionTimestamp: z.string().optional(),
});

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

const cause = z.object({
  reason: z.string().optional(),
  message: z.string().optional(),
  exitCode: z.number().optional(),
});

const containerStatus = z.object({
  name: z.string(),
  ready: z.boolean().optional(),
  restartCount: z.number().optional(),
  image: z.string().optional(),
  state: z
    .object({
      waiting: cause.optional(),
      terminated: cause.optional(),
      running: z.object({ startedAt: z.string().nullish() }).optional(),
    })
    .optional(),
  lastState: z.object({ terminated: cause.optional() }).optional(),
});

export const podSchema = z.object({
  metadata,
  spec: z.object({ containers: z.array(z.object({ name: z.string(), image: z.string() })) }),
  status: z
    .object({
      phase: z.string().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
      conditions: z.array(condition).optional(),
      containerStatuses: z.array(containerStatus).optional(),
    })
    .optional(),
});
export type Pod = z.infer<typeof podSchema>;

export const statefulSetSchema = z.object({
  metadata,
  spec: z.object({
    replicas: z.number().optional(),
    updateStrategy: z.object({ rollingUpdate: z.object({ partition: z.number().optional() }).optional() }).optional(),
    template: z.object({ metadata: metadata.partial({ name: true }).optional(), spec: podSchema.shape.spec }),
  }),
  status: z
    .object({
      observedGeneration: z.number().optional(),
      replicas: z.number().optional(),
      readyReplicas: z.number().optional(),
      currentRevision: z.string().optional(),
      updateRevision: z.string().optional(),
    })
    .optional(),
});
export type StatefulSet = z.infer<typeof statefulSetSchema>;

export const claimSchema = z.object({
  metadata,
  spec: z.object({
    accessModes: z.array(z.string()).default([]),
    storageClassName: z.string().optional(),
    resources: z.object({ requests: z.object({ storage: z.string().optional() }).optional() }).optional(),
  }),
  status: z.object({ phase: z.string().optional() }).optional(),
});
export type Claim = z.infer<typeof claimSchema>;

export const namedSchema = z.object({ kind: z.string(), metadata });
export const namespaceSchema = z.object({ metadata, status: z.object({ phase: z.string().optional() }).optional() });
export const storageClassSchema = z.object({ metadata });
export const eventSchema = z.object({
  reason: z.string().optional(),
  message: z.string().optional(),
  type: z.string().optional(),
  lastTimestamp: z.string().nullish(),
});

/** What `get` of several objects, or of a kind, finds. An empty answer is an empty list. */
export async function listObjects<T>(
  kubectl: Kubectl,
  what: readonly string[],
  schema: z.ZodType<T>,
  options: CallOptions,
): Promise<T[]> {
  const text = await kubectl.run(["get", ...what, "--ignore-not-found", "--output=json"], options);
  if (text.trim() === "") return [];
  const value = parse(text);
  const list = z.object({ items: z.array(z.unknown()) }).safeParse(value);
  return (list.success ? list.data.items : [value]).map((item) => checked(schema, item));
}

/** One object by its name; null when there is none. */
export async function findObject<T>(
  kubectl: Kubectl,
  kind: string,
  name: string,
  schema: z.ZodType<T>,
  options: CallOptions,
): Promise<T | null> {
  const text = await kubectl.run(["get", kind, name, "--ignore-not-found", "--output=json"], options);
  return text.trim() === "" ? null : checked(schema, parse(text));
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InfraError("INFRA_FAILED", "kubectl answered with something that is no JSON.", { cause });
  }
}

export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InfraError("INFRA_FAILED", "kubectl answered in a form that is not known.", { cause: result.error });
}

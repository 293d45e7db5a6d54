/** What the context's user may do: the question of `kubectl auth can-i`, for all rights in one call. */

import { z } from "zod";
import type { CallOptions, Kubectl } from "./kubectl.ts";
import { checked, parse } from "./objects.ts";

export interface Right {
  readonly verb: string;
  readonly resource: string;
  /** API group; empty for the core. */
  readonly group: string;
  readonly subresource?: string;
  /** Absent for what no namespace holds. */
  readonly namespace?: string;
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });
const listSchema = z.object({ items: z.array(reviewSchema) });

/** In the order given. The reviews are questions: nothing is stored. */
export async function missingRights(
  kubectl: Kubectl,
  rights: readonly Right[],
  options: CallOptions,
): Promise<readonly Right[]> {
  const items = rights.map((right) => ({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: right },
  }));
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const text = await kubectl.run(["create", "--filename=-", "--output=json", "--validate=ignore"], {
    ...options,
    input,
  });
  const { items: answers } = checked(listSchema, parse(text));
  return rights.filter((_, index) => answers[index]?.status.allowed !== true);
}

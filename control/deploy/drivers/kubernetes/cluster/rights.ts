/** What the context's user may do: the question of `kubectl auth can-i`, for all rights in one call. */

import type { CallOptions, Kubectl } from "./kubectl.ts";

export interface Right {
  readonly verb: string;
  readonly resource: string;
  /** API group; empty for the core. */
  readonly group: string;
  readonly subresource?: string;
  /** Absent for what no namespace holds. */
  readonly namespace?: string;
}

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
  const output = '--output=jsonpath={.status.allowed}{"\\n"}';
  const text = await kubectl.run(["create", "--filename=-", "--validate=ignore", output], { ...options, input });
  // One line an answer, in the order of the questions.
  const answers = text.split("\n");
  return rights.filter((_, index) => answers[index]?.trim() !== "true");
}

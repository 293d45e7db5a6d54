/** The partition of a StatefulSet: pods from this ordinal on take another template. */

import type { CallOptions, Kubectl } from "./kubectl.ts";

/** `version`: what was read (resourceVersion); where the object is another one by then the cluster refuses it (`isConflict`). */
export async function setPartition(
  kubectl: Kubectl,
  name: string,
  partition: number,
  {
    signal,
    version,
    annotations,
  }: Pick<CallOptions, "signal"> & {
    readonly version?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const read =
    version === undefined && annotations === undefined ? {} : { metadata: { resourceVersion: version, annotations } };
  const patch = JSON.stringify({ ...read, spec: { updateStrategy: { rollingUpdate: { partition } } } });
  await kubectl.run(["patch", "statefulset", name, "--type=merge", "--field-manager=cairn", `--patch=${patch}`], {
    signal,
  });
}

/** Whether the cluster refused a change because the object is not what was read any more. */
export function isConflict(error: unknown): boolean {
  return error instanceof Error && /the object has been modified|Conflict/.test(error.message);
}

/** The pod of a second server of PostgreSQL as the cluster shows the first one, but for its image and its data. Pure. */

import { z } from "zod";
import { POSTGRES_CLAIM, POSTGRES_CONTAINER } from "../../../../../infra/components/kubernetes/names.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import { shortLabels } from "./short-pods.ts";

const PGDATA = "PGDATA";

/** As much as is changed; everything else goes along as it is. */
const containerShape = z.looseObject({
  name: z.string(),
  env: z.array(z.looseObject({ name: z.string() })).default([]),
});
const workloadShape = z.object({
  spec: z.object({
    template: z.object({
      spec: z.looseObject({
        containers: z.array(containerShape),
        volumes: z.array(z.looseObject({ name: z.string() })).default([]),
      }),
    }),
  }),
});

export interface SecondServer {
  readonly stack: string;
  readonly name: string;
  readonly image: string;
  /** Claim of the first one, which both have mounted. */
  readonly claim: string;
  /** Folder of its data, in the container. */
  readonly path: string;
  /** Labels of the first one's pod, to whose machine it goes: a claim can be mounted on one alone. */
  readonly firstLabels: Readonly<Record<string, string>>;
}

/** `workload`: the StatefulSet of the first. INFRA_FAILED for one that is not understood. */
export function secondServer(
  workload: unknown,
  { stack, name, image, claim, path, firstLabels }: SecondServer,
): object {
  const read = workloadShape.safeParse(workload);
  const spec = read.data?.spec.template.spec;
  const first = spec?.containers.find((one) => one.name === POSTGRES_CONTAINER);
  if (spec === undefined || first === undefined) {
    throw new InfraError("INFRA_FAILED", "The StatefulSet of PostgreSQL is not understood.", { cause: read.error });
  }
  const { startupProbe: _starts, livenessProbe: _lives, readinessProbe: _ready, ports: _ports, ...container } = first;
  const env = [...container.env.filter((one) => one.name !== PGDATA), { name: PGDATA, value: path }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: shortLabels(stack, name) },
    spec: {
      ...spec,
      restartPolicy: "Never",
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: firstLabels } },
          ],
        },
      },
      containers: [{ ...container, image, env }],
      volumes: [
        ...spec.volumes.filter((one) => one.name !== POSTGRES_CLAIM),
        { name: POSTGRES_CLAIM, persistentVolumeClaim: { claimName: claim } },
      ],
    },
  };
}

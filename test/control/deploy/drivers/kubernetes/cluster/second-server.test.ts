import { describe, expect, it } from "vitest";
import { secondServer } from "../../../../../../control/deploy/drivers/kubernetes/cluster/second-server.ts";
import { shortLabels, shortPod } from "../../../../../../control/deploy/drivers/kubernetes/cluster/short-pods.ts";
import {
  claimName,
  databasePath,
  POSTGRES_CLAIM,
  POSTGRES_NODE,
  selectorLabels,
} from "../../../../../../infra/components/kubernetes/names.ts";
import { databaseDataOf, stackNames } from "../../../../../../infra/plan/names.ts";
import { COMBINATIONS, declare } from "../../../../../support/kubernetes/plans.ts";

interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly containers: readonly (Readonly<Record<string, unknown>> & { readonly env: readonly { name: string }[] })[];
    readonly volumes: readonly { readonly name: string }[];
  };
}

const claim = claimName(POSTGRES_CLAIM, "lab", POSTGRES_NODE, 0);
const path = databasePath("lab", databaseDataOf("lab", 18));
const firstLabels = selectorLabels("lab", "postgres", POSTGRES_NODE);

/** Of what the program declares. */
async function declared() {
  const { database } = COMBINATIONS;
  if (database === undefined) throw new Error("There is a combination with a database.");
  const { resources } = await declare(database.plan, database.secrets, { reveal: false });
  return resources.find(({ type, name }) => type.endsWith(":StatefulSet") && name === "lab-postgres")?.inputs;
}

/** A pod has this form. */
const made = (workload: unknown): Pod =>
  secondServer(workload, {
    stack: "lab",
    name: "lab-postgres-upgrade",
    image: "pg:18",
    claim,
    path,
    firstLabels,
  }) as Pod;

describe("the second server on Kubernetes", () => {
  it("is the first one with another image and another folder of the same claim, on its machine", async () => {
    const workload = (await declared()) as { spec: { template: Pod } };
    const first = workload.spec.template.spec.containers[0];
    const { spec } = made(workload);
    const [container] = spec.containers;
    expect(path).toBe("/var/lib/postgresql/data/postgres-18");
    expect(container?.env).toContainEqual({ name: "PGDATA", value: path });
    expect(container?.env.filter(({ name }) => name === "PGDATA")).toHaveLength(1);
    expect(container).toMatchObject({ image: "pg:18", resources: first?.["resources"], command: first?.["command"] });
    expect(container).not.toHaveProperty("livenessProbe");
    expect(spec.volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "data-lab-postgres-0" } });
    expect(spec).toMatchObject({
      restartPolicy: "Never",
      securityContext: workload.spec.template.spec["securityContext"],
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: firstLabels } }],
        },
      },
    });
  });

  it("is found by no Service and no StatefulSet of the stack, and denied every connection", async () => {
    const { labels } = made(await declared()).metadata;
    expect(labels).toMatchObject(selectorLabels("lab"));
    for (const component of ["node", "postgres"] as const) {
      expect(labels["app.kubernetes.io/component"]).not.toBe(component);
    }
    expect(labels).not.toHaveProperty(["cairn.dev/node"]);
  });

  it("is not made from a StatefulSet that is not understood", () => {
    expect(() => made({})).toThrow(expect.objectContaining({ code: "INFRA_FAILED" }));
  });

  it("keeps the folder of data that no upgrade has written", () => {
    expect(databasePath("lab", stackNames("lab").database)).toBe("/var/lib/postgresql/data/pgdata");
  });
});

describe("a pod that does one thing", () => {
  it("has no rights, ends by itself, and mounts what it only reads read-only", () => {
    const { database } = COMBINATIONS;
    if (database === undefined) throw new Error("There is a combination with a database.");
    const mounts = { from: { path: "/from", readOnly: true }, to: { path: "/to", readOnly: false } };
    const what = { name: "lab-copy", image: "x", argv: ["true"], user: { uid: 7, gid: 0 }, mounts };
    expect(shortPod(database.plan, what)).toMatchObject({
      metadata: { name: "lab-copy", labels: shortLabels("lab", "lab-copy") },
      spec: {
        automountServiceAccountToken: false,
        activeDeadlineSeconds: expect.any(Number),
        securityContext: { runAsNonRoot: true, runAsUser: 7, seccompProfile: { type: "RuntimeDefault" } },
        imagePullSecrets: [{ name: "pull" }],
        containers: [
          {
            volumeMounts: [
              { mountPath: "/from", readOnly: true },
              { mountPath: "/to", readOnly: false },
            ],
          },
        ],
        volumes: [{ persistentVolumeClaim: { claimName: "from" } }, { persistentVolumeClaim: { claimName: "to" } }],
      },
    });
  });
});

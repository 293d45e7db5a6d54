/** The way to another major where the target has none of its own: by backup and restore, as commands that work as printed. Pure. */

import { stackNames } from "../../../../infra/plan/names.ts";
import type { DeploymentPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const BACKUP = "before-upgrade.backup";

export function refuseHere(plan: DeploymentPlan): InfraError {
  const commands = [
    `cairn memory backup ${BACKUP}`,
    "cairn infra destroy --yes",
    ...putAside(plan),
    "cairn infra up --adopt --yes",
    `cairn memory restore ${BACKUP} --with-tokens`,
  ];
  return new InfraError(
    "INFRA_UP_REFUSED",
    `On ${plan.target} PostgreSQL gets another major by backup and restore alone.`,
    {
      hint:
        "Only after the second of these set deployment.datahub.image and take `channels` out of cairn.yaml, because a message " +
        `that waits makes the restore refuse: ${commands.map((one) => `\`${one}\``).join(", ")}. ` +
        "Then put `channels` back, and run `cairn infra up --yes`.",
    },
  );
}

/** So that the new server finds no data of the former one, which stay. */
function putAside(plan: DeploymentPlan): string[] {
  if (plan.target === "kubernetes") {
    const { kubeconfig, context, namespace } = plan;
    const where = [
      ...(kubeconfig === null ? [] : [`--kubeconfig ${kubeconfig}`]),
      ...(context === null ? [] : [`--context ${context}`]),
    ];
    const kubectl = ["kubectl", ...where].join(" ");
    const inside = `${kubectl} --namespace ${namespace}`;
    const claim = `data-${stackNames(plan.stack).postgres}-0`;
    const volume = `"$(${inside} get pvc ${claim} --output jsonpath={.spec.volumeName})"`;
    const kept = JSON.stringify({ spec: { persistentVolumeReclaimPolicy: "Retain" } });
    return [`${kubectl} patch pv ${volume} --patch '${kept}'`, `${inside} delete pvc ${claim}`];
  }
  return [];
}

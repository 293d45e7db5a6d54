import { execaSync } from "execa";
import { expect, it } from "vitest";
import { releaseCommand } from "../../../../../control/deploy/drivers/kubernetes/images.ts";

it("the command names cluster and group, and a shell reads it as it was meant", () => {
  const place = { stack: "fleet", namespace: "agents", context: "the boss's", kubeconfig: "/etc/kube config" };
  const shell = `kubectl() { printf '<%s>' "$@"; echo; }\n${releaseCommand(place, "main")}`;
  const where = "<--kubeconfig=/etc/kube config><--context=the boss's><--namespace=agents>";
  expect(execaSync("/bin/sh", ["-ec", shell]).stdout.split("\n")).toEqual([
    `${where}<patch><statefulset><fleet-main><--type=merge><--patch={"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}>`,
    `${where}<rollout><status><statefulset/fleet-main>`,
  ]);
  const plain = releaseCommand({ ...place, context: null, kubeconfig: null }, "main");
  expect(plain).toMatch(/^kubectl --namespace=agents patch statefulset fleet-main /);
});

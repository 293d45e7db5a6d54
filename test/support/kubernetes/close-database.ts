/** Keeps nodes out of the database of the stack `cairn`, `close-database.ts KUBECTL KUBECONFIG CONTEXT NAMESPACE`, until it is killed. */

import process from "node:process";
import { databaseServers } from "../../../control/deploy/drivers/kubernetes/cluster/database-servers.ts";
import { createKubectl } from "../../../control/deploy/drivers/kubernetes/cluster/kubectl.ts";
import { kubernetesPlan } from "./plans.ts";

const [program = "", kubeconfig = "", context = "", namespace = ""] = process.argv.slice(2);
const plan = kubernetesPlan({ kubeconfig, context, namespace });
await databaseServers(createKubectl({ program, kubeconfig, context, namespace }), plan).closeToNodes(
  new AbortController().signal,
);
process.stdout.write("closed\n");
setInterval(() => undefined, 1_000);

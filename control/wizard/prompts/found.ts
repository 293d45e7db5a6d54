/** What was found on the machine, in words. Pure. */
import type { Facts } from "../detect/facts.ts";

/** `dir`: of the deployment, as the terminal shows it. */
export function foundLines(facts: Facts, dir: string, existing: boolean): [name: string, value: string][] {
  const { node, docker, pulumi, kubernetes, ssh, servers, provider, embeddings, unusable } = facts;
  return [
    ["Node.js", node],
    ["Docker", docker === null ? "not found" : (docker.version ?? "installed; its service does not answer")],
    ["Pulumi", pulumi?.version ?? "not found; installed when it is needed"],
    ["kubectl", kubernetes === null ? "not found" : clusterWords(kubernetes)],
    ["SSH", ssh === null ? "not found" : `${keys(ssh.agentKeys, "in the agent")}, ${keys(ssh.keyFiles, "in ~/.ssh")}`],
    ["Models", [...new Set([provider, ...servers].map(({ reason }) => reason)), ...unusable].join("; ")],
    ["Vectors", embeddings.length === 0 ? "no embedding model" : embeddings.map(({ model }) => model).join(", ")],
    [
      "cairn.yaml",
      existing
        ? `there, in ${dir}: its answers are offered, and only what changes is written`
        : `none yet in ${dir}, where it is written (elsewhere: --dir)`,
    ],
  ];
}

function clusterWords({ current, contexts }: NonNullable<Facts["kubernetes"]>): string {
  if (contexts.length === 0) return "installed; no cluster is configured";
  return `${current ?? "no context chosen"} (${contexts.length === 1 ? "1 context" : `${contexts.length} contexts`})`;
}

function keys(count: number, where: string): string {
  return `${count === 1 ? "1 key" : `${count} keys`} ${where}`;
}

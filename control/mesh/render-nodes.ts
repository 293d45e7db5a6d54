/** The nodes of the fleet as a table. */

import type { MeshNode } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export function renderNodes(nodes: readonly MeshNode[], mark: Mark): string {
  const head = ["NODE", "STATE", "VERSION", "SCHEMA", "HOSTS", "ADDRESS"];
  const rows = nodes.map((node) => [
    node.self ? `${node.name} *` : node.name,
    node.status,
    node.version,
    String(node.schema),
    node.hosts.length === 0 ? "-" : node.hosts.join(", "),
    node.address ?? "-",
  ]);
  const [first = "", ...rest] = columns([head, ...rows.map((row) => row.map(visible))]).split("\n");
  return [mark.dim(first), ...rest].join("\n");
}

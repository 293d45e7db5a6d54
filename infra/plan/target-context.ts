/** What the parts of the targets are given to finish a plan with. */
import type { Config } from "../../runtime/config/index.ts";
import type { NodeBase, NodeSettings } from "./node.ts";
import type { CommonPlan } from "./types.ts";

export interface TargetContext {
  readonly config: Config;
  /** What is the same on every target; its nodes are the target's to make. */
  readonly common: Omit<CommonPlan, "nodes">;
  readonly nodes: readonly { readonly base: NodeBase; readonly settings: NodeSettings }[];
  /** Memory of docker hosts in bytes, where it is recorded. */
  readonly machines: Readonly<Record<string, number>>;
  /** Port of `runtime.listen`: what nodes are published on that name no port. */
  readonly listenPort: number;
}

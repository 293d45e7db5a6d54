/** What exists on the Proxmox host: CTs, the containers in them, and every setting that differs from the plan. */

import { type CtSpec, ctHash, nodeCt, postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import { compareCt, ownerOf, parsePctConfig } from "../../../../infra/components/proxmox/ct-config.ts";
import { PRELUDE, script } from "../../../../infra/components/proxmox/shell.ts";
import { stackNames } from "../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { Drift, ObservedNode } from "../../driver.ts";
import { placeOf, withHost } from "./host/host.ts";

/** One CT as it was found. */
interface FoundCt {
  /** Settings; null: there is no such CT. */
  readonly config: ReadonlyMap<string, string> | null;
  readonly running: boolean;
  /** `ctHash` of what was applied last; empty where nothing was. */
  readonly applied: string;
  /** Null: not running, or not there. */
  readonly container: {
    readonly status: string;
    readonly health: string;
    readonly image: string;
  } | null;
}

interface Wanted {
  /** Of the resource group: `<stack>-<node>`. */
  readonly name: string;
  readonly ct: CtSpec;
  /** Whether something is to run in it: a node without an image yet has nothing. */
  readonly runs: boolean;
}

export async function observe(plan: ProxmoxPlan, signal: AbortSignal): Promise<ObservedNode[]> {
  const wanted = wantedCts(plan);
  const found = await findOrUnknown(plan, wanted, signal);
  return plan.nodes.map((node): ObservedNode => {
    const workload = String(node.vmid);
    const common = { name: node.name, workload, place: placeOf(plan, node.pveNode) };
    if (found === null) return { ...common, state: "unknown", health: "unknown", image: null };
    const ct = found.get(node.vmid);
    const owner = ct?.config ? ownerOf(ct.config) : null;
    if (!ct || owner?.stack !== plan.stack || owner.role !== node.name) {
      return { ...common, state: "missing", health: "unknown", image: null };
    }
    if (!ct.running || ct.container === null || ct.container.status !== "running") {
      return { ...common, state: "stopped", health: "unknown", image: ct.container?.image ?? null };
    }
    return { ...common, state: "running", health: healthOf(ct.container.health), image: ct.container.image };
  });
}

/** By `pct config` and Docker's own inspection: Pulumi's provider has no way to read a command's outcome again. */
export async function drift(plan: ProxmoxPlan, signal: AbortSignal): Promise<Drift[]> {
  const wanted = wantedCts(plan);
  const found = await findCts(plan, wanted, signal);
  return wanted.flatMap((one) => driftOf(plan, one, found.get(one.ct.vmid)));
}

function driftOf(plan: ProxmoxPlan, { name, ct, runs }: Wanted, found: FoundCt | undefined): Drift[] {
  // What differs because the plan has moved on is no drift: the graph shows it.
  if (found?.applied !== ctHash(ct)) return [];
  const resource = `${name}-ct`;
  const other = (setting: string, expected: string, observed: string): Drift => ({
    resource,
    setting,
    expected,
    observed,
  });
  if (!found.config) return [other("existence", "there", "missing")];
  const owner = ownerOf(found.config);
  const settings = compareCt(ct, found.config).map(({ setting, expected, observed }) =>
    other(setting, expected ?? "(unset)", observed ?? "(unset)"),
  );
  if (owner?.stack !== plan.stack || owner.role !== ct.role) return settings;
  if (!found.running) return [...settings, other("status", "running", "stopped")];
  if (!runs) return settings;
  const inside = (setting: string, expected: string, observed: string): Drift => ({
    resource: `${name}-container`,
    setting,
    expected,
    observed,
  });
  if (found.container === null) return [...settings, inside("existence", "there", "missing")];
  const { status } = found.container;
  return [...settings, ...(status === "running" ? [] : [inside("status", "running", status)])];
}

function wantedCts(plan: ProxmoxPlan): Wanted[] {
  const names = stackNames(plan.stack);
  const postgres = postgresCt(plan);
  const nodes = plan.nodes.map((node): Wanted => {
    return { name: names.node(node.name), ct: nodeCt(plan, node), runs: node.image !== null };
  });
  return postgres === null ? nodes : [{ name: names.postgres, ct: postgres, runs: true }, ...nodes];
}

/** Null where the host does not answer: its nodes are unknown, which is not the same as gone. */
async function findOrUnknown(
  plan: ProxmoxPlan,
  wanted: readonly Wanted[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, FoundCt> | null> {
  try {
    return await findCts(plan, wanted, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return null;
    throw error;
  }
}

async function findCts(
  plan: ProxmoxPlan,
  wanted: readonly Wanted[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, FoundCt>> {
  return withHost(plan, signal, async (host) => {
    const found = new Map<number, FoundCt>();
    for (const [member, here] of Map.groupBy(wanted, ({ ct }) => ct.member)) {
      const argv = script(
        INSPECT,
        here.flatMap(({ name, ct }) => [String(ct.vmid), name, ct.appliedFile]),
      );
      for (const [vmid, ct] of parseInspection(await host.run({ member, argv }))) found.set(vmid, ct);
    }
    return found;
  });
}

/** Sections of INSPECT: `== vmid status applied`, `-- what docker said`, then the lines of `pct config`. */
function parseInspection(text: string): ReadonlyMap<number, FoundCt> {
  const sections = text.split(/^== /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [head = "", inside = "", ...config] = section.split("\n");
      const [vmid = "", status = "", applied = ""] = head.split(" ");
      const [state = "", health = "", image = ""] = inside.replace(/^-- ?/, "").split(" ");
      const container = state === "" ? null : { status: state, health, image };
      const there = status !== "missing";
      const settings = there ? parsePctConfig(config.join("\n")) : null;
      return [Number(vmid), { config: settings, running: status === "running", applied, container }];
    }),
  );
}

function healthOf(health: string): ObservedNode["health"] {
  return health === "healthy" || health === "starting" || health === "unhealthy" ? health : "unknown";
}

const FORMAT = `{{ .State.Status }} {{ if .State.Health }}{{ .State.Health.Status }}{{ else }}none{{ end }} {{ .Config.Image }}`;

const INSPECT = `${PRELUDE}
command -v pct >/dev/null || fail INFRA_TOOL_MISSING "there is no pct on this host: is it Proxmox VE?"
while [ "$#" -gt 0 ]; do
  vmid=$1 name=$2 applied=$(cat "$3" 2>/dev/null || true); shift 3
  status=$(pct status "$vmid" 2>/dev/null) || status='status: missing'
  inside=
  if [ "$status" = 'status: running' ]; then
    inside=$(pct exec "$vmid" -- docker inspect -f '${FORMAT}' "$name" 2>/dev/null </dev/null) || inside=
  fi
  printf '== %s %s %s\\n-- %s\\n' "$vmid" "\${status#status: }" "$applied" "$inside"
  pct config "$vmid" 2>/dev/null || true
done
`;

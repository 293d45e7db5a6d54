/** CTs as they are on the Proxmox host, and what runs in them: one script for each member, and the one place that reads its answer. */

import { APPLIED_HASH, PENDING_SUFFIX } from "../../../../../infra/components/proxmox/container-scripts.ts";
import type { CtSpec } from "../../../../../infra/components/proxmox/ct.ts";
import { parsePctConfig } from "../../../../../infra/components/proxmox/ct-config.ts";
import { PRELUDE, script } from "../../../../../infra/components/proxmox/shell.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { withHost } from "./host.ts";

/** The container in a CT, by its name there. */
export interface FoundContainer {
  /** Docker's word: `running`, `exited`, `paused`, `restarting`. */
  readonly status: string;
  readonly health: string;
  readonly image: string;
  /** ISO 8601; empty where it never ran. */
  readonly since: string;
  readonly restarts: number;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  /** Hash of the arguments that it was started with; empty for one that this program did not start. */
  readonly spec: string;
  readonly version: string;
}

export interface FoundCt {
  /** Settings; null: there is no such CT. */
  readonly config: ReadonlyMap<string, string> | null;
  readonly running: boolean;
  /** `ctHash` of what was applied last; empty where nothing was. */
  readonly applied: string;
  /** Directories of the plan that are not there. */
  readonly missing: readonly string[];
  /** Whether Docker in it answers. */
  readonly docker: boolean;
  readonly container: FoundContainer | null;
  /** Names of other containers in it that this program started. */
  readonly others: readonly string[];
  /** Whether the files of the container are as they were written; null where that is not known. */
  readonly filesIntact: boolean | null;
  /** Whether the last change of the container did not come to its end. */
  readonly unfinished: boolean;
}

export interface WantedCt {
  /** Of the resource group and of the container: `<stack>-<node>`. */
  readonly name: string;
  readonly ct: CtSpec;
  /** Directory with the container's files. */
  readonly configuration: string;
}

export async function findCts(
  plan: ProxmoxPlan,
  wanted: readonly WantedCt[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, FoundCt>> {
  return withHost(plan, signal, async (host) => {
    const found = new Map<number, FoundCt>();
    for (const [member, here] of Map.groupBy(wanted, ({ ct }) => ct.member)) {
      const answers = here.map(({ name, ct, configuration }) => [
        String(ct.vmid),
        name,
        configuration,
        ct.appliedFile,
        String(ct.directories.length),
        ...ct.directories.map(({ path }) => path),
      ]);
      const text = await host.run({ member, argv: script(INSPECT, [INSIDE, ...answers.flat()]) });
      for (const [vmid, ct] of parseInspection(text)) found.set(vmid, ct);
    }
    return found;
  });
}

/** Sections of INSPECT: `== vmid status applied`, then lines with a mark of their own, then the lines of `pct config`. */
export function parseInspection(text: string): ReadonlyMap<number, FoundCt> {
  const sections = text.split(/^== /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [head = "", ...lines] = section.split("\n");
      const [vmid = "", status = "", applied = ""] = head.split(" ");
      const all = (mark: string): string[] =>
        lines.filter((line) => line.startsWith(`-- ${mark} `)).map((line) => line.slice(mark.length + 4));
      const [container] = all("container");
      const [hash, recorded] = (all("files")[0] ?? "").split(" ");
      const config = status === "missing" ? null : parsePctConfig(lines.join("\n"));
      return [
        Number(vmid),
        {
          config,
          running: status === "running",
          applied,
          missing: all("gone"),
          docker: all("docker").length > 0,
          container: container === undefined ? null : parseContainer(container),
          others: all("other"),
          filesIntact: hash && recorded ? hash === recorded : null,
          unfinished: all("unfinished").length > 0,
        },
      ];
    }),
  );
}

function parseContainer(line: string): FoundContainer {
  const [
    status = "",
    health = "",
    image = "",
    started = "",
    finished = "",
    restarts = "",
    exit = "",
    spec = "",
    version = "",
    outOfMemory = "",
  ] = line.split("|");
  const time = Date.parse(status === "exited" || status === "dead" ? finished : started);
  const since = Number.isNaN(time) || time < 0 ? "" : new Date(time).toISOString();
  const numbers = { restarts: Number(restarts), exitCode: Number(exit) };
  return { status, health, image, since, ...numbers, outOfMemory: outOfMemory === "true", spec, version };
}

const FORMAT = [
  "{{ .State.Status }}",
  "{{ if .State.Health }}{{ .State.Health.Status }}{{ else }}none{{ end }}",
  "{{ .Config.Image }}",
  "{{ .State.StartedAt }}",
  "{{ .State.FinishedAt }}",
  "{{ .RestartCount }}",
  "{{ .State.ExitCode }}",
  `{{ or (index .Config.Labels "cairn.spec") "" }}`,
  `{{ or (index .Config.Labels "org.opencontainers.image.version") "" }}`,
  "{{ .State.OOMKilled }}",
].join("|");

/** Inside a CT. `$1`: name of the container, `$2`: directory with its files. */
const INSIDE = `${PRELUDE}
name=$1 configuration=$2
docker version --format '{{.Server.Version}}' >/dev/null 2>&1 || exit 0
echo '-- docker answers'
found=$(docker container inspect -f '${FORMAT}' "$name" 2>/dev/null) && printf -- '-- container %s\\n' "$found"
docker ps -a --filter label=cairn.spec --format '{{ .Names }}' | while read -r other; do
  [ "$other" = "$name" ] || printf -- '-- other %s\\n' "$other"
done
${APPLIED_HASH}
if [ -d "$configuration" ]; then now=$(applied_hash "$configuration"); else now=none; fi
printf -- '-- files %s %s\\n' "$now" "$(docker container inspect -f '{{ or (index .Config.Labels "cairn.files") "" }}' "$name" 2>/dev/null || true)"
[ ! -e "$configuration${PENDING_SUFFIX}" ] || echo '-- unfinished yes'
`;

const INSPECT = `${PRELUDE}
command -v pct >/dev/null || fail INFRA_TOOL_MISSING "there is no pct on this host: is it Proxmox VE?"
inside=$1; shift
while [ "$#" -gt 0 ]; do
  vmid=$1 name=$2 configuration=$3 applied=$(cat "$4" 2>/dev/null || true) count=$5; shift 5
  status=$(pct status "$vmid" 2>/dev/null) || status='status: missing'
  printf '== %s %s %s\\n' "$vmid" "\${status#status: }" "$applied"
  while [ "$count" -gt 0 ]; do
    [ -d "$1" ] || printf -- '-- gone %s\\n' "$1"
    shift; count=$((count - 1))
  done
  if [ "$status" = 'status: running' ]; then
    pct exec "$vmid" -- /bin/sh -c "$inside" cairn "$name" "$configuration" 2>/dev/null </dev/null || true
  fi
  pct config "$vmid" 2>/dev/null || true
done
`;

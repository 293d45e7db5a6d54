import type { Health } from "../../runtime/client/index.ts";
import { MEMBER_STATES } from "../../runtime/contracts/node-entry.ts";
import { ageMs } from "../memory/backup-words.ts";
import { NodeCommand } from "../node-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { bytes, duration } from "../output/words.ts";
import { findDeployment } from "../service/deployment.ts";
import { type NodeStatus, readNodeStatus } from "../service/node-status.ts";

export default class Status extends NodeCommand<NodeStatus> {
  static override description =
    "Show whether the node runs and how it is\n\nThe exit code is 0 when it runs and is not unhealthy, else 1.";

  static override examples = ["<%= config.bin %> status", "<%= config.bin %> status --json"];

  protected async work({ signal }: Interruption): Promise<NodeStatus> {
    const { flags } = await this.parse(Status);
    return readNodeStatus(findDeployment(flags), signal, { node: flags.node });
  }

  protected override exitCodeOf({ running, health }: NodeStatus): number {
    return running && health !== null && health.status !== "unhealthy" ? EXIT.done : EXIT.failed;
  }

  protected render(status: NodeStatus, mark: Mark): string {
    if (status.state === "busy") return `No node is running, but another process is using ${status.home}.`;
    if (!status.running && status.deployed === null) {
      const { message, hint } = status.error ?? {
        message: "No node is running.",
        hint: "Start one with `cairn start --detach`.",
      };
      return `${message} ${mark.dim(hint ?? "")}`;
    }
    const { health, error } = status;
    const rows: [string, string][] = [
      ["status", health ? healthWord(health, mark) : mark.error(`not answering: ${error?.message ?? "unknown"}`)],
      status.deployed === null
        ? ["process", `${status.pid}${status.started_at ? `, since ${status.started_at}` : ""}`]
        : ["deployed", deployedWords(status.deployed)],
      ["url", status.url ?? ""],
      ...(status.certificate_sha256 === null
        ? []
        : ([["certificate", `SHA-256 ${status.certificate_sha256}`]] satisfies [string, string][])),
      ["version", status.version ?? ""],
      ["directory", status.dir],
      ["home", status.home],
    ];
    return columns(
      [...rows, ...(health ? healthRows(health, mark) : []), ...fleetRows(status, mark)].map(([name, text]) => [
        mark.dim(name),
        text,
      ]),
    );
  }
}

function deployedWords({ stack, target, node, place, nodes }: NonNullable<NodeStatus["deployed"]>): string {
  const others = nodes.length > 1 ? `, one of ${nodes.length}: see \`cairn infra status\`` : "";
  return `${stack} on ${target}, node ${node} (${place})${others}`;
}

/** Only of a fleet. */
function fleetRows({ fleet }: NodeStatus, mark: Mark): [string, string][] {
  if (fleet === null || fleet.length < 2) return [];
  const words = MEMBER_STATES.flatMap((state) => {
    const names = fleet.flatMap(({ name, status }) => (status === state ? [visible(name)] : []));
    if (names.length === 0) return [];
    const word = `${names.length} ${state}${state === "online" ? "" : ` (${names.join(", ")})`}`;
    return state === "offline" ? mark.error(word) : word;
  });
  return [["fleet", `${fleet.length} nodes: ${words.join(", ")}; see \`cairn mesh status\``]];
}

function healthWord({ status, draining }: Health, mark: Mark): string {
  const word =
    status === "healthy" ? mark.good(status) : status === "degraded" ? mark.warn(status) : mark.error(status);
  return draining ? `${word}, draining` : word;
}

/** An older node does not tell; a store that does not answer has a row of its own. */
function backupRows({ backup }: Health, mark: Mark): [string, string][] {
  if (!backup) return [];
  const { state, last, failure, every_s: every } = backup;
  const newest =
    last === null
      ? "none yet"
      : `${duration(ageMs(last.created_at, backup))} ago on ${last.node}, ${bytes(last.bytes)}`;
  if (state === "off") return [["backup", `off (memory.backup.enabled)${last === null ? "" : `, last ${newest}`}`]];
  if (failure !== null)
    return [["backup", `${newest}; ${mark.error(`failing on ${failure.node}: ${failure.message}`)}`]];
  if (state === "late") return [["backup", mark.warn(`${newest}; one is due every ${duration(every * 1_000)}`)]];
  return [["backup", state === "empty" ? "none: the memory is empty" : newest]];
}

/** Only in a mesh. An older node does not tell. */
function meshRows({ mesh: { enabled, standing, members = 1, problem } }: Health, mark: Mark): [string, string][] {
  if (!enabled || standing === undefined) return [];
  if (problem != null) return [["mesh", mark.error(problem)]];
  if (standing === "waiting") return [["mesh", mark.warn("waits to be countersigned by a node of its database")]];
  return [["mesh", members <= 1 ? "no other member" : `member, with ${members - 1} other${members === 2 ? "" : "s"}`]];
}

/** Only where something is wrong: a log that is written needs no line. */
function auditRows({ audit }: Health, mark: Mark): [string, string][] {
  if (!audit || (audit.failing === null && audit.lost === 0)) return [];
  const lost = `${audit.lost} lines lost since the start`;
  if (audit.failing === null) return [["audit log", mark.warn(`${lost}; it is written again`)]];
  return [["audit log", mark.error(`cannot be written (${audit.failing}), ${lost}`)]];
}

/** The limit of which the largest share is used. An older node does not tell. */
function budgetWords(budget: Health["agents"][string]["budget"], mark: Mark): string {
  if (!budget) return "";
  const [first] = budget.limits.toSorted((a, b) => b.share - a.share);
  if (first === undefined) return "";
  const words = `${Math.floor(first.share * 100)} % of ${first.limit} used`;
  if (budget.state === "ok") return `, ${words}`;
  if (budget.state === "near" || budget.on_limit === "warn") return `, ${mark.warn(words)}`;
  return `, ${mark.error(`${words}: stopped until ${first.resets_at}`)}`;
}

/** Of models whose calls are suspended after failures. An older node does not tell. */
function suspendedWords(circuits: Health["providers"][string]["circuits"] = [], mark: Mark): string[] {
  return circuits.flatMap(({ model, state, last_error, retry_after_s }) => {
    if (state === "closed") return [];
    const next = state === "open" && retry_after_s !== null ? `tried again in ${retry_after_s} s` : "being tried again";
    return [mark.warn(`calls of ${visible(model)} are suspended (${last_error}), ${next}`)];
  });
}

function mcpRows({ mcp = {} }: Health, mark: Mark): [string, string][] {
  return Object.entries(mcp).map(([id, { state, reason, tools, changed, changed_digest, left_out }]) => {
    const words = [
      state === "up" ? `${tools} tools` : mark.warn(`${state}${reason ? `: ${reason}` : ""}`),
      ...(changed.length === 0
        ? []
        : [
            mark.warn(
              `changed and withheld: ${changed.map(visible).join(", ")}${changed_digest ? ` (${visible(changed_digest)})` : ""}`,
            ),
          ]),
      ...(left_out.length === 0 ? [] : [`${left_out.length} cannot be offered`]),
    ];
    return ["MCP server", `${id} ${words.join(", ")}`];
  });
}

function skillRows({ skills }: Health, mark: Mark): [string, string][] {
  return (skills?.skipped ?? []).map(({ path, problem }) => [
    "skill",
    `${visible(path)} ${mark.warn(`is skipped: ${visible(problem)}`)}`,
  ]);
}

/** Of a plugin that does what it should there is nothing to say. */
function pluginRows({ plugins = [] }: Health, mark: Mark): [string, string][] {
  return plugins.flatMap(({ id, path, state, reason }): [string, string][] =>
    state === "failed"
      ? [["plugin", `${visible(id ?? path)} ${mark.error(`is not loaded: ${visible(reason ?? "")}`)}`]]
      : [],
  );
}

function healthRows(health: Health, mark: Mark): [string, string][] {
  const { agents, providers, channels, memory } = health;
  const backend = typeof memory["backend"] === "string" ? memory["backend"] : "unknown";
  const reachable = memory["reachable"] === false ? mark.error(", not reachable") : "";
  return [
    ["up", duration(health.uptime_s * 1_000)],
    ["memory", `${backend}${reachable}, schema ${health.schema_version ?? "unknown"}`],
    ...backupRows(health, mark),
    ...meshRows(health, mark),
    ...auditRows(health, mark),
    ...Object.entries(agents).map(
      ([name, { provider, model, active_turns, waiting = 0, queued, budget }]): [string, string] => [
        "agent",
        `${mark.name(name)} on ${provider}${model ? ` (${model})` : ""}, ${active_turns} active, ${waiting > 0 ? `${waiting} waiting for an answer, ` : ""}${queued} queued${budgetWords(budget, mark)}`,
      ],
    ),
    ...Object.entries(providers).map(([id, { available, circuits }]): [string, string] => [
      "provider",
      [
        `${id} ${available ? mark.good("available") : mark.warn("not available")}`,
        ...suspendedWords(circuits, mark),
      ].join("; "),
    ]),
    ...Object.entries(channels).map(([id, { platform, state, reason }]): [string, string] => [
      "channel",
      `${id}${platform === id ? "" : ` (${platform})`} ${state}${reason ? `: ${reason}` : ""}`,
    ]),
    ...mcpRows(health, mark),
    ...skillRows(health, mark),
    ...pluginRows(health, mark),
  ];
}

/**
 * A node's own cairn.yaml, made from the tree as the operator wrote it: references stay references, paths become those of
 * the container, and what only the operator's machine needs is left out.
 */
import { stringify } from "yaml";
import type { Config } from "../../runtime/config/index.ts";
import { isMap, mapAt, type TreeMap, withoutValue, withValue } from "../../runtime/config/tree.ts";
import type { NodeSaid } from "./addresses.ts";
import type { Problems } from "./problems.ts";
import { CONTAINER, POSTGRES } from "./types.ts";
import { containerPath, workspaceRoots } from "./workspaces.ts";

/** Where the certificate of `runtime.tls` is in a container. */
export const CERTIFICATE = `${CONTAINER.configuration}/tls/cert.pem`;
/** Holds the private key of `runtime.tls`, PEM, where the configuration names a file. */
export const TLS_KEY_VARIABLE = "SERVICE_TLS_KEY";

const HEAD = "Made from the deployment's cairn.yaml: change that one, then run `cairn infra up`.";

export interface CommonConfiguration {
  /** As the operator wrote it, without a secret in it. */
  readonly tree: TreeMap;
  /** The same, resolved. */
  readonly config: Config;
  /** Whether the nodes use the database that is deployed with them. */
  readonly deployedDatabase: boolean;
  /** Whether `runtime.tls` names files, which then travel as CERTIFICATE and TLS_KEY_VARIABLE. */
  readonly tlsFiles: { readonly cert: boolean; readonly key: boolean };
}

/** What all nodes of a stack have in common. Nothing in it depends on how many there are: see docs/decisions/012. */
export function commonTree(input: CommonConfiguration, problems: Problems): TreeMap {
  const steps = [withPaths, withTls, withMemory, withServers];
  return steps.reduce((current, step) => step(current, input, problems), withoutValue(input.tree, ["deployment"]));
}

/** The text of one node's cairn.yaml. */
export function renderConfiguration(common: TreeMap, { name, advertise }: NodeSaid): string {
  const named = withValue(common, ["mesh", "name"], name);
  const tree =
    advertise === null
      ? withoutValue(named, ["mesh", "advertise"])
      : withValue(named, ["mesh", "advertise"], advertise);
  return `# ${HEAD}\n${stringify(tree, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

function withPaths(tree: TreeMap, { config }: CommonConfiguration): TreeMap {
  const roots = workspaceRoots(config);
  const placed = withValue(tree, ["runtime", "workspace"], `${CONTAINER.workspaces}/workspace`);
  const agents = Object.entries(mapAt(placed, "agents")).map(([name, agent]) => {
    const own = config.agents[name]?.workspace;
    const path = own === undefined ? null : containerPath(roots, own);
    return [name, isMap(agent) && path !== null ? { ...agent, workspace: path } : agent] as const;
  });
  const all = agents.length === 0 ? placed : { ...placed, agents: Object.fromEntries(agents) };
  const plugins = numbered(all, "plugin_dirs", CONTAINER.plugins, config.plugin_dirs.length);
  return numbered(plugins, "skill_dirs", CONTAINER.skills, config.skill_dirs.length);
}

/** The image has one folder for each entry of the list, called by its place in it. */
function numbered(tree: TreeMap, key: string, directory: string, count: number): TreeMap {
  return count === 0
    ? tree
    : { ...tree, [key]: Array.from({ length: count }, (_none, index) => `${directory}/${index}`) };
}

function withTls(tree: TreeMap, { tlsFiles }: CommonConfiguration): TreeMap {
  const cert = tlsFiles.cert ? withValue(tree, ["runtime", "tls", "cert"], CERTIFICATE) : tree;
  return tlsFiles.key ? withValue(cert, ["runtime", "tls", "key"], `\${${TLS_KEY_VARIABLE}}`) : cert;
}

function withMemory(tree: TreeMap, { config, deployedDatabase }: CommonConfiguration): TreeMap {
  if (config.memory.backend === "embedded") {
    const written = mapAt(tree, "memory")["embedded"];
    return isMap(written) ? withoutValue(tree, ["memory", "embedded", "path"]) : tree;
  }
  if (!deployedDatabase) return tree;
  const named = withValue(tree, ["memory", "postgres", "connection_string"], `\${${POSTGRES.variable}}`);
  return withoutValue(named, ["memory", "postgres", "direct_url"]);
}

function withServers(tree: TreeMap, { config }: CommonConfiguration, problems: Problems): TreeMap {
  const roots = workspaceRoots(config);
  return Object.entries(config.mcp.servers).reduce((current, [id, { cwd }]) => {
    if (cwd === undefined) return current;
    const path = containerPath(roots, cwd);
    if (path !== null) return withValue(current, ["mcp", "servers", id, "cwd"], path);
    problems.warn(`mcp.servers.${id}.cwd`, "outside of the workspaces: the directory is not in the containers");
    return current;
  }, tree);
}

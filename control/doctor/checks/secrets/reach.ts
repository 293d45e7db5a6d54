/** Which agents run commands, and for whom. Pure. */

import type { Config } from "../../../../runtime/config/config.ts";

const SHELL = "shell";

/** Agents whose owner's turns have the tool `shell`. */
export function agentsWithShell(config: Config): readonly string[] {
  if (!config.tools.shell.enabled) return [];
  return Object.entries(config.agents)
    .filter(([, { tools }]) => tools.include?.includes(SHELL) !== false && !tools.exclude.includes(SHELL))
    .map(([name]) => name);
}

/** Of these, the ones that have it in everybody else's turns, too. */
export function agentsWithShellForOthers(config: Config): readonly string[] {
  return agentsWithShell(config).filter((name) => {
    const { include, exclude } = config.agents[name]?.tools.others ?? { exclude: [] };
    return include?.includes(SHELL) === true && !exclude.includes(SHELL);
  });
}

/** What the composition root needs of the tools besides their manifests. */

export type { CodingSettings } from "./coding-pipeline/settings.ts";
export type { DelegationSettings } from "./delegate-task/index.ts";
export { createWorkspaceGate, type WorkspaceGate } from "./shared/locate.ts";
export { createSystemNetwork, type WebNetwork } from "./shared/web/network.ts";
export { type CommandRunner, createCommandRunner } from "./shell/command-runner.ts";
export { SHELL_DEFAULTS, type ShellSettings } from "./shell/settings.ts";
export type { SubagentSettings } from "./subagent-spawn/index.ts";
export type { WebFetchSettings } from "./web-fetch/index.ts";
export type { WebSearchSettings } from "./web-search/backend.ts";

/** What the composition root needs of the tools besides their manifests. */

export { createWorkspaceGate, type WorkspaceGate } from "./shared/locate.ts";
export { SHELL_DEFAULTS, type ShellSettings } from "./shell/settings.ts";

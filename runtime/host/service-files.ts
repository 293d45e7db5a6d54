/** The service's own files, which no tool of an agent may reach, wherever a workspace lies. */

import { join } from "node:path";
import { CONFIG_FILE, isPem, type LoadedConfig, SECRETS_FILE } from "../config/index.ts";

/** What the home directory and the deployment directory hold, named one by one: a workspace may be one of the two, or around it. */
const HOME_ENTRIES =
  "node.key tls.key store attachments logs run spool capture credentials pulumi update.json home.json mcp-tools.json".split(
    " ",
  );
const DEPLOYMENT_ENTRIES = [SECRETS_FILE, CONFIG_FILE, "infra"];

/**
 * Absolute paths. A directory that contains the workspace cannot be kept from an agent, but those of its entries that are
 * listed here can; a directory inside the workspace is kept as a whole.
 */
export function serviceFiles({ home, dir, config }: Pick<LoadedConfig, "home" | "dir" | "config">): string[] {
  const { tls } = config.runtime;
  const { proxmox, kubernetes } = config.deployment;
  const keys = [
    ...(typeof tls === "string" || isPem(tls.key) ? [] : [tls.key]),
    ...(proxmox?.identity_file === undefined ? [] : [proxmox.identity_file]),
    ...(kubernetes.kubeconfig === undefined ? [] : [kubernetes.kubeconfig]),
  ];
  return [
    ...new Set([
      home,
      dir,
      ...HOME_ENTRIES.map((name) => join(home, name)),
      ...DEPLOYMENT_ENTRIES.map((name) => join(dir, name)),
      config.memory.embedded.path,
      // Code that runs with the service's rights.
      ...config.plugin_dirs,
      ...keys,
    ]),
  ];
}

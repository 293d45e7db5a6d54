/** Folders of systemd's units. */

import { isAbsolute, join } from "node:path";

export const SYSTEM_UNITS = "etc/systemd/system";

/** Of a user: below XDG_CONFIG_HOME, which counts only when it is an absolute path (XDG Base Directory), else below ~/.config. */
export function userUnits(home: string, configHome: string | undefined): string {
  const config = configHome !== undefined && isAbsolute(configHome) ? configHome : join(home, ".config");
  return join(config, "systemd/user");
}

/** Names for checks of several categories that answer one question together: `--only security`. */

export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  security: [
    "system.user",
    "system.sandbox",
    "system.network",
    "system.guards",
    "system.listen",
    "secrets.file",
    "secrets.token",
    "secrets.tokens",
    "secrets.hardcoded",
    "secrets.references",
    "secrets.ignored",
    "secrets.private",
    "secrets.workspace",
    "config.valid",
    "config.warnings",
  ],
};

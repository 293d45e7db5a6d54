/** The environment of a server's program: where programs and its files are, language and time zone, and what is configured. */

/** Taken over from the service where set. None of the service's own settings and secrets is among them. */
const INHERITED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"] as const;

/** Pure. Configured variables win. */
export function serverEnvironment(
  host: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = host[name];
    return value ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(inherited), ...configured };
}

/** Flags of a container that does one thing with data, and goes. */

/** As the owner of the files, which may be anybody, without a network. */
export const ONE_OFF = [
  "run",
  "--rm",
  "--network",
  "none",
  "--user",
  "0",
  "--security-opt",
  "no-new-privileges",
  "--read-only",
] as const;

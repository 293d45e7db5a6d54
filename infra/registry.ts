/** The registry that a deployment's images come from, and what it is logged in to with. */
import type { Config } from "../runtime/config/index.ts";
import type { SecretValues } from "./plan/types.ts";

/** Null where the configuration has no credentials: the engine's own are used then. */
export function registryLogin({
  registry,
  username,
  password,
}: Config["deployment"]["image"]): SecretValues["registry"] {
  return registry && username && password ? { server: serverOf(registry), username, password } : null;
}

/** `registry.example.org:5000` of a repository; a name without a host is Docker's public registry. */
export function serverOf(repository: string): string {
  const [first = "", ...rest] = repository.split("/");
  return rest.length > 0 && /[.:]|^localhost$/.test(first) ? first : "docker.io";
}

/** `auths` of Docker's own configuration, which other tools read as well. Docker's public registry has an old name in it. */
export function dockerAuths({ server, username, password }: NonNullable<SecretValues["registry"]>): {
  readonly [server: string]: { readonly auth: string };
} {
  const key = server === "docker.io" || server === "index.docker.io" ? "https://index.docker.io/v1/" : server;
  return { [key]: { auth: Buffer.from(`${username}:${password}`, "utf8").toString("base64") } };
}

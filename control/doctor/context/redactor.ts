/** Everything that must not be seen in a report: secrets of the environment, of .env and of the configuration. */

import { createRedactor, type Redactor } from "../../../runtime/config/redact.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import { isSecretVariable, secretsIn } from "../../../runtime/config/secret-values.ts";
import type { ConfigurationSnapshot } from "./configuration.ts";
import type { SecretsSnapshot } from "./secrets-file.ts";

export function createContextRedactor(
  env: Environment,
  file: SecretsSnapshot,
  configuration: ConfigurationSnapshot,
): Redactor {
  const variables = [...Object.entries(env), ...Object.entries(file.values)];
  const secrets = variables.flatMap(([name, value = ""]) => {
    const found = secretsIn(value);
    return isSecretVariable(name) ? found : found.filter((secret) => secret !== value);
  });
  const configured = "secrets" in configuration ? configuration.secrets : [];
  // PWD ends like a password's variable, and is the directory that every path begins with.
  const ordinary = new Set(["", env["PWD"], env["OLDPWD"]]);
  return createRedactor(new Set([...secrets, ...configured].filter((secret) => !ordinary.has(secret))));
}

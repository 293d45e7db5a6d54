/**
 * The environment of a deployment: .env, and over it the environment of the process. What an operator sets for one run
 * is what counts; a variable that the process has set to nothing does not hide one of the file.
 */
import { CairnError } from "../contracts/errors.ts";
import { type Environment, isSecretReference, type SecretReader, type UnresolvedReference } from "./references.ts";

/** The service's own variables: their values, too, may be in the password manager. */
const SERVICE_VARIABLE = /^(?:SERVICE|TOOL_SYNTH)_/;

export interface ServiceEnvironment {
  readonly env: Environment;
  readonly unresolved: readonly UnresolvedReference[];
  readonly secrets: readonly string[];
}

export function mergeEnvironments(file: Readonly<Record<string, string>>, processEnv: Environment): Environment {
  const set = Object.entries(processEnv).filter(
    ([name, value]) => value !== undefined && (value !== "" || !Object.hasOwn(file, name)),
  );
  return { ...file, ...Object.fromEntries(set) };
}

/** The environment with the service's `op://` variables read. What cannot be read is reported and stays as it is. */
export async function readServiceVariables(env: Environment, read: SecretReader): Promise<ServiceEnvironment> {
  const resolved: Record<string, string> = {};
  const unresolved: UnresolvedReference[] = [];
  for (const [name, reference] of Object.entries(env)) {
    if (reference === undefined || !SERVICE_VARIABLE.test(name) || !isSecretReference(reference)) continue;
    try {
      resolved[name] = await read(reference);
    } catch (error) {
      if (!(error instanceof CairnError)) throw error;
      unresolved.push({ path: [name], reference, reason: error.message, source: "password-manager" });
    }
  }
  return { env: { ...env, ...resolved }, unresolved, secrets: Object.values(resolved) };
}

/** Asks for each secret once, however often it is wanted. */
export function cacheSecrets(read: SecretReader): SecretReader {
  const answers = new Map<string, Promise<string>>();
  return (reference) => {
    const cached = answers.get(reference);
    if (cached) return cached;
    const answer = read(reference);
    answers.set(reference, answer);
    return answer;
  };
}

/** The configuration's public door. */
export { type ApiToken, type ApiTokenOptions, apiTokenSecret, ensureApiToken, generateApiToken } from "./api-token.ts";
export { conversationOf } from "./channel-manifests.ts";
export {
  type AgentConfig,
  agentWorkspace,
  type ChannelConfig,
  type Config,
  isPem,
  type ProviderConfig,
} from "./config.ts";
export {
  type Credentials,
  credentialsPath,
  isUsable,
  problemOf,
  readCredentials,
  removeCredentials,
  withCredentialsLock,
  writeCredentials,
} from "./credentials.ts";
export { type Directories, type DirectoryOptions, resolveDirectories } from "./directories.ts";
export { mergeEnvironments } from "./environment.ts";
export { CONFIG_FILE, claimHome, lockForMove, makeOwnHome, makePrivateDirectory, refuseDuringMove } from "./home.ts";
export { PROVIDER_KINDS, serviceOfKind } from "./known-ids.ts";
export { canonicalListen, formatListen, isLoopback, type ListenAddress, parseListen } from "./listen.ts";
export {
  type Inspection,
  inspectConfig,
  type LoadedConfig,
  type LoadOptions,
  loadConfig,
} from "./load.ts";
export {
  isConfidential,
  LOGIN_KINDS,
  type LoginEndpoints,
  loginOf,
  serverLoginId,
  serverOfLogin,
  takesLogin,
} from "./logins.ts";
export { NOT_IMPLEMENTED } from "./not-implemented.ts";
export { createLearningRedactor, createRedactor, REDACT_PATHS, REDACTED, type Redactor } from "./redact.ts";
export type { Environment, SecretReader } from "./references.ts";
export { type ConfigIssue, formatIssue, formatReport } from "./report.ts";
export { parseDuration } from "./schema/scalars.ts";
export { CONFIG_VERSION, configJsonSchema } from "./schema.ts";
export {
  API_TOKEN_VARIABLE,
  addSecrets,
  readSecretsFile,
  SECRETS_FILE,
  type Secret,
  type SecretsFile,
} from "./secrets-file.ts";
export { type AgentGrant, type TokenGrant, tokenGrants } from "./token-grants.ts";
export { type ToolSynth, type ToolSynthEndpoint, toolSynth } from "./tool-synth.ts";

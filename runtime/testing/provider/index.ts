/** Checks for authors of providers, as `cairn-agents/testing/provider` (docs/plugins.md), with the contract that they check. */

export { ProviderError } from "../../contracts/errors.ts";
export type {
  ContentPart,
  ImagePart,
  Message,
  ProviderState,
  TextPart,
  ToolCall,
  Usage,
} from "../../contracts/message.ts";
export type { ListedModels } from "../../contracts/model-names.ts";
export type {
  ChatChunk,
  ChatOptions,
  ChatReply,
  Provider,
  StopReason,
  ThinkingLevel,
  ToolDefinition,
} from "../../contracts/provider.ts";
export type { ConformanceCheck } from "../check.ts";
export { providerConformance } from "./conformance.ts";
export type {
  BackendCall,
  BackendRequest,
  BackendStep,
  OpenProvider,
  ProviderFeature,
  ProviderHarness,
} from "./harness.ts";

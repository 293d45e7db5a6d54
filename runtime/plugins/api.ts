/**
 * What authors of plugins import, as `cairn-agents/plugin` (docs/plugins.md): the contracts, the errors that a node understands, and
 * what every chat platform needs. A node gives plugins its own copy, wherever they lie.
 */

export type {
  AcceptedMessage,
  Address,
  Admission,
  Attachment,
  Channel,
  ChannelState,
  CommandHandler,
  CommandReply,
  CommandRequest,
  EditResult,
  InboundMessage,
  KeepSent,
  MessageHandler,
  OutboundMessage,
  Receiver,
  Reception,
  ReceptionPosition,
  Stranger,
  StrangerHandler,
  Webhook,
} from "../contracts/channel.ts";
export { ChannelError, ProviderError, ToolError } from "../contracts/errors.ts";
export { type AnyHook, HOOK_EVENTS, type Hook, type HookContexts, type HookEvent } from "../contracts/hooks.ts";
export type { ContentPart, Message, ProviderState, ToolCall, Usage } from "../contracts/message.ts";
export type {
  ChannelPluginNeeds,
  CreateChannel,
  CreateHook,
  CreateProvider,
  CreateTool,
  PluginNeeds,
  ProviderPluginNeeds,
} from "../contracts/plugin-module.ts";
export type { Logger, NewId } from "../contracts/ports.ts";
export type { ChatChunk, ChatOptions, ChatReply, Provider, StopReason, ToolDefinition } from "../contracts/provider.ts";
export type { Tool, ToolContext, ToolResult } from "../contracts/tool.ts";
export { splitMarkdown } from "../domain/fenced-pieces.ts";
export { createChatMessages } from "./channels/chat-messages.ts";
export { MAY_REPEAT, sendParts } from "./channels/parts.ts";
export { createTyping } from "./channels/typing.ts";

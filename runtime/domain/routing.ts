/** The agent of a channel-side conversation: a static binding, else the default agent (specification, "Message lifecycle"). */

export interface ChannelRouting {
  readonly channelBindings: Readonly<Record<string, string>>;
  readonly defaultAgent: string;
}

export function routeToAgent(routing: ChannelRouting, channelId: string): string {
  return Object.hasOwn(routing.channelBindings, channelId)
    ? (routing.channelBindings[channelId] ?? routing.defaultAgent)
    : routing.defaultAgent;
}

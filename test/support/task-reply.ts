/** What the other agent has said, of a result of a task; another result as it is. */
export function replyIn(result: string): string {
  return /<reply mark="[^"]+">\n([\s\S]*)\n<\/reply mark="[^"]+">/.exec(result)?.[1] ?? result;
}

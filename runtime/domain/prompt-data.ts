/**
 * Stored text on its way into a prompt. A program that may write to the memory can write anything: a forged heading, the end of a
 * fence, tokens of a chat template. What is stored stays as it is; what a model is shown has passed through here.
 */

/**
 * Tokens by which chat templates separate roles and turns (ChatML, Llama, Gemma, Mistral, DeepSeek, Phi, EXAONE, Nemotron,
 * Seed, Baichuan, InternLM, MiniMax and those built on them). A server that parses them in a message's text takes what follows for another speaker's.
 */
const CHAT_TOKEN = new RegExp(
  [
    String.raw`<[|｜][\p{L}\p{N}_▁.:/@#+-]{1,64}[|｜]>`,
    String.raw`<[|｜][\p{L}\p{N}_]{1,64}>`,
    String.raw`<[\p{L}\p{N}_]{1,64}[|｜]>`,
    String.raw`\[[|｜][\p{L}\p{N}_]{1,64}[|｜]\]`,
    "</?(?:s|bos|eos|sop|eop|pad|unk|start_of_turn|end_of_turn|BOS_TOKEN|EOS_TOKEN|tools?|tool_calls?|tool_response|think)>",
    String.raw`<(?:(?:extra_id|SPECIAL|reserved)_|unused)\d{1,4}>`,
    "</?seed:[a-z_]{1,64}>",
    "<</?SYS>>",
    String.raw`\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|gMASK|sMASK|UNUSED_TOKEN_\d{1,4})\]`,
    String.raw`\]~!b\[|\]~b\]|\[e~\[`,
  ].join("|"),
  "giu",
);
const TOKEN_BRACKET = /[<>[\]]/g;
const PARENTHESES: Readonly<Record<string, string>> = { "<": "(", ">": ")", "[": "(", "]": ")" };

/** Control characters and others that are not seen: they hide text from people, or change the order in which it is read. */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u3164\uffa0\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u180b-\u180f]|[\u{e0000}-\u{e0fff}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const LINE_BREAK = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;
const TAG_BRACKET = /[[\]{}<>]/g;
/** A label is not there to be read at length. */
const LONGEST_TAG = 80;

/** The text with the brackets of chat-template tokens turned into parentheses: as long as before, and the same where it has none. */
export function withoutChatTokens(text: string): string {
  return text.replace(CHAT_TOKEN, (token) =>
    token.replace(TOKEN_BRACKET, (bracket) => PARENTHESES[bracket] ?? bracket),
  );
}

/** Lines end with `\n`, tabs are spaces, and there is nothing that is not seen: no control characters but the line ends. */
export function visibleText(text: string): string {
  return withoutUnseen(text.replace(LINE_BREAK, "\n").replaceAll("\t", " "));
}

/** The text without control characters and others that are not seen; JSON stays the JSON that it was. */
export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, "");
}

/** Whether the text is one line, without anything that is not seen. */
export function isOneLine(text: string): boolean {
  return !text.includes("\n") && visibleText(text) === text;
}

/** Stored text as a prompt may hold it. Idempotent. */
export function promptText(text: string): string {
  return withoutChatTokens(visibleText(text));
}

/** A stored name (agent, channel, speaker, title, ...) as part of a heading that we write: one line, no brackets. */
export function promptTag(name: string): string {
  const line = visibleText(name).replace(TAG_BRACKET, "_").replace(/\s+/g, " ").trim();
  const short = line.slice(0, LONGEST_TAG).toWellFormed().trim();
  return short === "" ? "unnamed" : short;
}

/** The text without any form of the tag that a fence of this name opens or ends with; the name is letters. */
export function withoutFence(text: string, name: string): string {
  return text.replace(new RegExp(String.raw`<(\s{0,8}/?\s{0,8}${name}\b)`, "gi"), "($1");
}

/** Text of somebody else as it may stand inside a fence of this name: it cannot end the fence, and hides nothing. */
export function fenceable(text: string, name: string): string {
  return withoutFence(withoutChatTokens(withoutUnseen(text)), name);
}

/** Further lines are indented: none of them can pass for a heading. */
export function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

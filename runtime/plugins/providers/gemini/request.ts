import type { Content, FunctionDeclaration, GenerateContentParameters, Part } from "@google/genai/web";
import type { ContentPart, ImagePart, Message } from "../../../contracts/message.ts";
import type { ChatOptions } from "../../../contracts/provider.ts";
import { type CallResult, type Entry, type History, type IdRules, isBlank, shapeHistory } from "../shared/history.ts";
import { takesImage, unseenImage } from "../shared/images.ts";
import { NO_SIGNATURE, type Quirk } from "./quirks.ts";
import { readState } from "./state.ts";
import { needsSignatures, planThinking } from "./thinking.ts";

/** Our messages and options as the parameters of a generateContent request: a pure mapping. */

export interface RequestContext {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly quirks: ReadonlySet<Quirk>;
}

const IDS: IdRules = { longest: 64 };
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"];
/** The API requires that the first and the last word are the user's. */
const OPENING = "(The conversation begins in the middle.)";
const CONTINUE = "Please continue.";
/** The most that a reply of any model may take, in tokens. */
const MOST_TOKENS = 65_536;

export function toRequest(
  messages: readonly Message[],
  options: ChatOptions,
  context: RequestContext,
): GenerateContentParameters {
  const { model, quirks } = context;
  const history = shapeHistory(messages, { ...context, ids: IDS });
  const { config, room } = planThinking(options.thinking, model);
  const thinking = quirks.has("no-thinking") ? undefined : config;
  const answer = options.maxTokens ?? context.maxTokens;
  const temperature = options.temperature ?? context.temperature;
  // It changes with each turn, and the service takes an unchanged beginning out of its cache: the instruction stands before all contents.
  const noted = history.entries.some((entry) => entry.kind === "user" && entry.newest) ? (options.context ?? "") : "";
  const system = [options.system ?? "", ...history.preamble, ...(noted === "" ? [options.context ?? ""] : [])]
    .filter((text) => !isBlank(text))
    .map((text) => text.toWellFormed());
  const inline = quirks.has("no-system-instruction");
  const tools = (options.tools ?? []).map(
    ({ name, description, parameters }): FunctionDeclaration => ({
      name,
      description,
      parametersJsonSchema: { type: "object", ...parameters },
    }),
  );
  return {
    model,
    contents: toContents(history, context, {
      system: inline ? system : [],
      noted: isBlank(noted) ? [] : [noteText(noted)],
      retrieved: isBlank(options.retrieved ?? "") ? [] : [options.retrieved ?? ""],
    }),
    config: {
      // Tools are called by the agent loop, and a reply is one request: what the SDK would do by itself is off.
      automaticFunctionCalling: { disable: true },
      automaticContinuation: false,
      ...(system.length === 0 || inline ? {} : { systemInstruction: { parts: system.map((text) => ({ text })) } }),
      ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools }] }),
      ...(thinking === undefined ? {} : { thinkingConfig: thinking }),
      ...(temperature === undefined ? {} : { temperature: Math.min(Math.max(temperature, 0), 2) }),
      ...(answer === undefined ? {} : { maxOutputTokens: Math.min(answer + room, Math.max(answer, MOST_TOKENS)) }),
    },
  };
}

interface Placement {
  /** Text of the system's that a model without a system instruction reads first. */
  readonly system: readonly string[];
  /** What the service adds to this turn. */
  readonly noted: readonly string[];
  /** What memory found: it is data, and no word of the system's. */
  readonly retrieved: readonly string[];
}

function toContents({ entries }: History, context: RequestContext, { system, noted, retrieved }: Placement): Content[] {
  const contents: Content[] = [];
  if (system.length > 0) addParts(contents, "user", [{ text: system.join("\n\n") }]);
  if (entries[0]?.kind !== "user" && contents.length === 0) addParts(contents, "user", [{ text: OPENING }]);
  const newest = entries.findLastIndex((entry) => entry.kind === "user" && entry.newest);
  let calls: readonly Part[] = [];
  for (const [index, entry] of entries.entries()) {
    switch (entry.kind) {
      case "user":
        // In front of the newest message: everything before it stays as it was.
        addParts(contents, "user", [
          ...(entry.newest ? [...noted, ...retrieved].map(textPart) : []),
          ...entry.parts.map(toPart),
        ]);
        break;
      case "note":
        addParts(contents, "user", [textPart(noteText(entry.text))]);
        break;
      case "assistant": {
        const parts = modelParts(entry, context, index > newest);
        calls = parts.filter(({ functionCall }) => functionCall !== undefined);
        addParts(contents, "model", parts);
        break;
      }
      case "results":
        addParts(contents, "user", resultParts(entry.results, calls));
        break;
    }
  }
  if (contents.at(-1)?.role === "model") addParts(contents, "user", [{ text: CONTINUE }]);
  return contents;
}

/** Adds to the last content if it has the same role, but not to results: for the API a turn begins with the user's own content. */
function addParts(contents: Content[], role: "user" | "model", parts: readonly Part[]): void {
  const last = contents.at(-1);
  const joins = last?.role === role && !last.parts?.some(({ functionResponse }) => functionResponse !== undefined);
  if (joins) last.parts?.push(...parts);
  else contents.push({ role, parts: [...parts] });
}

function textPart(text: string): Part {
  return { text: text.toWellFormed() };
}

/** The API has no role of the system among the contents. */
function noteText(text: string): string {
  return `[System message]\n${text}`;
}

/**
 * A reply goes back part by part as it came. If its text or calls are no longer the same, or somebody else wrote it, its first
 * call carries what the service accepts in place of a signature.
 */
function modelParts(
  entry: Extract<Entry, { kind: "assistant" }>,
  { model, quirks }: RequestContext,
  inTurn: boolean,
): Part[] {
  const kept = quirks.has("no-replay") ? [] : readState(entry.state);
  if (kept.length > 0 && saysTheSame(kept, entry)) return [...kept];
  const unsigned = inTurn && needsSignatures(model);
  return [
    ...(isBlank(entry.text) ? [] : [{ text: entry.text }]),
    ...entry.calls.map(({ name, arguments: args }, index) => ({
      functionCall: { name, args: { ...args } },
      ...(unsigned && index === 0 ? { thoughtSignature: NO_SIGNATURE } : {}),
    })),
  ];
}

function saysTheSame(parts: readonly Part[], entry: Extract<Entry, { kind: "assistant" }>): boolean {
  const text = parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join("");
  const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
  return (
    text.trim() === entry.text.trim() &&
    calls.length === entry.calls.length &&
    calls.every(({ name }, index) => name === entry.calls[index]?.name)
  );
}

/** In the order of the calls: where a call has no id of the service's, its place and its name say which one it was. */
function resultParts(results: readonly CallResult[], calls: readonly Part[]): Part[] {
  const responses = results.map(({ text, images, isError }, index): Part => {
    const { id, name } = calls[index]?.functionCall ?? {};
    const said = isBlank(text) ? `(${images.length} image(s), shown below)` : text;
    return {
      functionResponse: {
        ...(id === undefined ? {} : { id }),
        ...(name === undefined ? {} : { name }),
        response: isError ? { error: said } : { output: said },
      },
    };
  });
  const images: ImagePart[] = results.flatMap((result) => result.images);
  return images.length === 0
    ? responses
    : [...responses, { text: "Images from the tool results above:" }, ...images.map(toPart)];
}

function toPart(part: ContentPart): Part {
  if (part.type === "text") return { text: part.text };
  if (!takesImage(part, IMAGE_TYPES)) return { text: unseenImage(part) };
  return { inlineData: { mimeType: part.mediaType.toLowerCase(), data: part.data } };
}

import type { IncomingHttpHeaders } from "node:http";
import { isRecord } from "../../../runtime/contracts/values.ts";
import { records, type WireError } from "../shared/wire.ts";
import { insists, modelOf, signatureProblem } from "./signatures.ts";

/** What the Gemini API refuses, in its words. */

const FIELDS = [
  "contents",
  "tools",
  "toolConfig",
  "safetySettings",
  "systemInstruction",
  "generationConfig",
  "cachedContent",
];
const CONFIG_FIELDS = [
  "temperature",
  "topP",
  "topK",
  "candidateCount",
  "maxOutputTokens",
  "stopSequences",
  "thinkingConfig",
];
const PART_FIELDS = ["text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"];
const DATA_FIELDS = ["text", "inlineData", "functionCall", "functionResponse"];
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

export function check(body: unknown, _headers: IncomingHttpHeaders, path: string): WireError | undefined {
  const message = isRecord(body) ? problemOf(body, modelOf(path)) : "Invalid JSON payload received.";
  if (message === undefined && path.includes(":stream") && !path.includes("alt=sse")) {
    return { status: 400, message: "The fake answers a stream with events only (alt=sse)." };
  }
  return message === undefined ? undefined : { status: 400, message };
}

function problemOf(body: Record<string, unknown>, model: string): string | undefined {
  const contents = records(body["contents"]);
  const config = isRecord(body["generationConfig"]) ? body["generationConfig"] : {};
  return (
    unknownName(body, FIELDS, "") ??
    unknownName(config, CONFIG_FIELDS, " at 'generation_config'") ??
    (contents.length === 0 ? "* GenerateContentRequest.contents: contents is not specified" : undefined) ??
    first(contents, partsProblem) ??
    first(contents, (_content, index) => orderProblem(contents, index)) ??
    (contents.at(-1)?.["role"] === "model"
      ? "Please ensure that single turn requests end with a user role or the role field is empty."
      : undefined) ??
    (insists(model) ? signaturesProblem(contents, model) : undefined) ??
    toolsProblem(body) ??
    thinkingProblem(config["thinkingConfig"], model)
  );
}

function unknownName(value: Record<string, unknown>, names: readonly string[], where: string): string | undefined {
  const name = Object.keys(value).find((key) => !names.includes(key));
  return name && `Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.`;
}

function first<T>(list: readonly T[], find: (one: T, index: number) => string | undefined): string | undefined {
  for (const [index, one] of list.entries()) {
    const found = find(one, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function partsOf(content: unknown): Record<string, unknown>[] {
  return isRecord(content) ? records(content["parts"]) : [];
}

function partsProblem(content: Record<string, unknown>, index: number): string | undefined {
  if (content["role"] !== "user" && content["role"] !== "model") return "Please use a valid role: user, model.";
  const where = `contents[${index}].parts`;
  const parts = partsOf(content);
  if (parts.length === 0) return `* GenerateContentRequest.${where}: must include at least one parts field`;
  return first(parts, (part, at) => {
    const unknown = unknownName(part, PART_FIELDS, ` at '${where}[${at}]'`);
    if (unknown !== undefined) return unknown;
    // A signature may come in an empty text of its own.
    const isSet = (name: string): boolean =>
      part[name] !== undefined && (part[name] !== "" || part["thoughtSignature"] !== undefined);
    const data = DATA_FIELDS.filter(isSet);
    if (data.length !== 1) {
      return `* GenerateContentRequest.${where}[${at}].data: required oneof field 'data' must have one initialized field`;
    }
    const image = part["inlineData"];
    const type = isRecord(image) ? String(image["mimeType"]) : undefined;
    return type === undefined || IMAGES.includes(type) ? undefined : `Unsupported MIME type: ${type}`;
  });
}

function of(content: unknown, name: "functionCall" | "functionResponse"): Record<string, unknown>[] {
  return partsOf(content).flatMap((part) => (isRecord(part[name]) ? [part[name]] : []));
}

function orderProblem(contents: readonly Record<string, unknown>[], index: number): string | undefined {
  const [content, before, behind] = [contents[index], contents[index - 1], contents[index + 1]];
  const calls = of(content, "functionCall");
  const responses = of(content, "functionResponse");
  if (calls.length > 0) {
    if (content?.["role"] !== "model" || before?.["role"] !== "user") {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    }
    if (of(behind, "functionResponse").length !== calls.length) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
  }
  if (responses.length === 0) return undefined;
  const asked = of(before, "functionCall");
  if (content?.["role"] !== "user" || asked.length === 0) {
    return "Please ensure that function response turn comes immediately after a function call turn.";
  }
  return first(responses, (response, at) => {
    if (!isRecord(response["response"])) return `functionResponse.response of ${at} is required`;
    const call = asked[at];
    const isOther = response["name"] !== call?.["name"] || response["id"] !== call?.["id"];
    return isOther ? `The function response ${at} answers no function call of that name and id.` : undefined;
  });
}

/** In the newest turn the first call of each step is signed. */
function signaturesProblem(contents: readonly Record<string, unknown>[], model: string): string | undefined {
  const turn = contents.findLastIndex(
    (content) => content["role"] === "user" && of(content, "functionResponse").length === 0,
  );
  return first(contents, (content, index) => {
    const signed = partsOf(content).filter((part) => isRecord(part["functionCall"]));
    return first(signed, (part, at) => {
      const name = isRecord(part["functionCall"]) ? String(part["functionCall"]["name"]) : "";
      const signature = part["thoughtSignature"];
      if (typeof signature === "string") return signatureProblem(signature, model, name);
      if (index < turn || at > 0) return undefined;
      return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call \`default_api:${name}\`, position ${index + 1}.`;
    });
  });
}

function toolsProblem(body: Record<string, unknown>): string | undefined {
  const declared = records(body["tools"]).flatMap((tool) => records(tool["functionDeclarations"]));
  const names = declared.map((one) => String(one["name"]));
  const wrong = names.find((name) => !/^[a-zA-Z_][\w.:-]{0,127}$/.test(name));
  if (wrong !== undefined) return `Invalid function name: ${wrong}. Must start with a letter or an underscore.`;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `Duplicate function declaration found: ${twice}`;
  return declared.some((one) => one["parameters"] !== undefined && one["parametersJsonSchema"] !== undefined)
    ? "Only one of parameters and parameters_json_schema may be set."
    : undefined;
}

function thinkingProblem(value: unknown, model: string): string | undefined {
  if (!isRecord(value)) return undefined;
  const { thinkingBudget: budget, thinkingLevel: level } = value;
  if (budget !== undefined && level !== undefined) {
    return "You can only set only one of thinking budget and thinking level.";
  }
  if (/^gemini-(1|2\.0)/.test(model)) return "Thinking is not supported for this model.";
  if (level !== undefined && !insists(model)) return "Thinking level is not supported for this model.";
  if (budget === undefined) return undefined;
  const isPro = model.includes("pro");
  if (budget === 0 && isPro) return "Budget 0 is invalid. This model only works in thinking mode.";
  const [least, most] = isPro ? [128, 32_768] : [0, 24_576];
  return Number(budget) < least || Number(budget) > most
    ? `The thinking budget ${budget} is invalid. Please choose a value between ${least} and ${most}.`
    : undefined;
}

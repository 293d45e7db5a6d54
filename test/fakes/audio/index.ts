import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isRecord } from "../../../runtime/contracts/values.ts";
import { wordsOf } from "./recordings.ts";

/**
 * OpenAI's audio routes on loopback: transcriptions of the recordings of `recordingOf`, and speech whose bytes say what they were made
 * from. It refuses what the service refuses, in its words, records every request, and misbehaves on demand.
 */

export type AudioFault =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Answers once `release` is called. */
  | { readonly kind: "hold" }
  | { readonly kind: "garbage" }
  /** Sends until the client goes. */
  | { readonly kind: "endless" }
  /** The connection breaks in the middle of the answer. */
  | { readonly kind: "cut" };

export interface AudioRequest {
  readonly route: "transcriptions" | "speech";
  readonly model: string;
  /** What is to be spoken, or the words of the recording. */
  readonly text: string;
  /** Of a recording. */
  readonly file?: { readonly name: string; readonly type: string; readonly size: number };
  /** `closed`: the client went away before the answer was out. */
  state: "open" | "answered" | "closed";
}

export interface AudioFake {
  readonly baseUrl: string;
  readonly requests: readonly AudioRequest[];
  of(route: AudioRequest["route"]): readonly AudioRequest[];
  /** Asked at each request that is not refused. */
  setFault(fault: (request: AudioRequest) => AudioFault | undefined): void;
  release(): void;
  close(): Promise<void>;
}

const TRANSCRIBING = ["whisper-1", "gpt-4o-transcribe"];
const SPEAKING = ["tts-1", "gpt-4o-mini-tts"];
const VOICES = ["alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse"];
const SPEECH_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"];
const FILE_FORMATS = ["flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"];
const LARGEST = 26_214_400;
const LONGEST_INPUT = 4096;

interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

export async function startAudioFake(
  options: { readonly apiKey?: string; readonly port?: number } = {},
): Promise<AudioFake> {
  const { apiKey } = options;
  const requests: AudioRequest[] = [];
  let fault: (request: AudioRequest) => AudioFault | undefined = () => undefined;
  let released = Promise.withResolvers<void>();

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = /^Bearer (.*)$/.exec(incoming.headers.authorization ?? "")?.[1] ?? "";
    if (apiKey !== undefined && key !== apiKey) {
      return refuse(response, { status: 401, message: `Incorrect API key provided: ${key}.`, code: "invalid_api_key" });
    }
    const route = `${incoming.method} ${incoming.url}`;
    if (route === "GET /v1/models") {
      const data = [...TRANSCRIBING, ...SPEAKING].map((id) => ({
        id,
        object: "model",
        created: 1,
        owned_by: "openai",
      }));
      return json(response, 200, { object: "list", data });
    }
    const body = await readAll(incoming);
    if (route === "POST /v1/audio/transcriptions") {
      const read = await readTranscription(incoming, body);
      if ("status" in read) return refuse(response, read);
      if (await misbehaves(response, read)) return;
      return json(response, 200, { text: read.text, usage: { type: "duration", seconds: 1 } });
    }
    if (route === "POST /v1/audio/speech") {
      const read = readSpeech(incoming, body);
      if ("status" in read) return refuse(response, read);
      if (await misbehaves(response, read)) return;
      response.writeHead(200, { "content-type": "audio/mpeg" });
      // In pieces, as it is made.
      response.write("ID3");
      response.end(read.text);
      return;
    }
    refuse(response, { status: 404, message: `Invalid URL (${route})` });
  }

  async function misbehaves(response: ServerResponse, request: AudioRequest): Promise<boolean> {
    requests.push(request);
    response.once("close", () => {
      request.state = response.writableFinished ? "answered" : "closed";
    });
    const found = fault(request);
    if (found?.kind === "hold") {
      await Promise.race([released.promise, once(response, "close")]);
      // Then it is answered.
      return response.destroyed;
    }
    if (found?.kind === "garbage") {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<!doctype html><title>Welcome</title>");
    }
    if (found?.kind === "endless") {
      response.writeHead(200, { "content-type": "audio/mpeg" });
      const piece = Buffer.alloc(1024 * 1024);
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      response.once("close", resolve);
      while (!response.destroyed) {
        const taken = new Promise<unknown>((done) => response.write(piece, done));
        await Promise.race([taken, closed]);
      }
    }
    if (found?.kind === "cut") {
      response.writeHead(200, { "content-type": "audio/mpeg", "content-length": 1_000 });
      response.write("ID3", () => response.destroy());
    }
    if (found?.kind === "status") {
      for (const [name, value] of Object.entries(found.headers ?? {})) response.setHeader(name, value);
      refuse(response, { status: found.status, message: found.message ?? `The fake fails with ${found.status}.` });
    }
    return found !== undefined;
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    of: (route) => requests.filter((request) => request.route === route),
    setFault(next) {
      fault = next;
    },
    release() {
      released.resolve();
      released = Promise.withResolvers();
    },
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function readTranscription(
  incoming: IncomingMessage,
  body: Buffer<ArrayBuffer>,
): Promise<AudioRequest | Refusal> {
  const contentType = incoming.headers["content-type"] ?? "";
  if (!contentType.startsWith("multipart/form-data")) {
    return { status: 415, message: "Unsupported media type: a form of multipart/form-data is needed." };
  }
  if (body.length > LARGEST) {
    return { status: 413, message: `Maximum content size limit (${LARGEST}) exceeded (${body.length} bytes read)` };
  }
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData();
  const unknown = [...form.keys()].find((name) => !["file", "model", "response_format"].includes(name));
  if (unknown !== undefined) return { status: 400, message: `Unrecognized request argument supplied: ${unknown}` };
  const model = String(form.get("model"));
  if (!TRANSCRIBING.includes(model)) return noModel(model);
  if (form.get("response_format") !== "json")
    return { status: 400, message: "Invalid value.", param: "response_format" };
  const file = form.get("file");
  if (!(file instanceof File)) return { status: 400, message: "Missing required parameter: 'file'.", param: "file" };
  if (!FILE_FORMATS.includes(file.name.split(".").at(-1) ?? "")) {
    return { status: 400, message: `Unrecognized file format. Supported formats: ${JSON.stringify(FILE_FORMATS)}` };
  }
  const text = wordsOf(Buffer.from(await file.arrayBuffer()));
  if (text === null) {
    return {
      status: 400,
      message: "Audio file might be corrupted or unsupported",
      param: "file",
      code: "invalid_value",
    };
  }
  const { name, type, size } = file;
  return { route: "transcriptions", model, text, file: { name, type, size }, state: "open" };
}

function readSpeech(incoming: IncomingMessage, body: Buffer): AudioRequest | Refusal {
  if (!incoming.headers["content-type"]?.startsWith("application/json")) {
    return { status: 415, message: "Unsupported media type." };
  }
  const given: unknown = JSON.parse(body.toString());
  if (!isRecord(given)) return { status: 400, message: "We could not parse the JSON body of your request." };
  const { model, input, voice, response_format: format = "mp3", ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return { status: 400, message: `Unrecognized request argument supplied: ${unknown}` };
  if (typeof model !== "string" || !SPEAKING.includes(model)) return noModel(String(model));
  if (typeof input !== "string" || input.length === 0) {
    return { status: 400, message: "Input should be a non-empty string.", param: "input" };
  }
  if (input.length > LONGEST_INPUT) {
    return { status: 400, message: `String should have at most ${LONGEST_INPUT} characters`, param: "input" };
  }
  if (!VOICES.includes(String(voice))) {
    const supported = VOICES.map((name) => `'${name}'`).join(", ");
    return { status: 400, message: `Invalid value: '${voice}'. Supported values are: ${supported}.`, param: "voice" };
  }
  if (!SPEECH_FORMATS.includes(String(format))) {
    return { status: 400, message: `Invalid value: '${format}'.`, param: "response_format" };
  }
  return { route: "speech", model, text: input, state: "open" };
}

function noModel(model: string): Refusal {
  return {
    status: 404,
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
    code: "model_not_found",
  };
}

function refuse(response: ServerResponse, { status, message, param, code }: Refusal): void {
  const type = status >= 500 ? "server_error" : status === 429 ? "requests" : "invalid_request_error";
  json(response, status, { error: { message, type, param: param ?? null, code: code ?? null } });
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function readAll(incoming: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

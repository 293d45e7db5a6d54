import type { Failure } from "../../shared/model-http/failure.ts";

/** What an answer of Ollama's with an error status means. */
export async function readError(response: Response): Promise<Failure> {
  const body = await response.text();
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  return {
    kind: "status",
    status: response.status,
    message: messageIn(body),
    ...(Number.isFinite(wait) && wait > 0 ? { retryAfterS: wait } : {}),
  };
}

/** Ollama answers `{"error": "..."}`; proxies in front of it have other shapes, and a page of HTML has no message. */
function messageIn(body: string): string | undefined {
  try {
    const error: unknown = Reflect.get(Object(JSON.parse(body)), "error");
    if (typeof error === "string") return error;
  } catch {
    // Not JSON.
  }
  const plain = body.trim();
  return plain === "" || plain.startsWith("<") ? undefined : plain;
}

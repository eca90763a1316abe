/** One request of the API explorer and its response: sent, measured, read up to a limit, and stopped. */
import { parseJson } from "../api/exact-integer.ts";
import { SseParser, type Frame } from "../api/sse-parser.ts";
import type { ApiRequest } from "./api-request.ts";

/** Bytes of a response that are read. The rest is not loaded. */
export const MAX_BYTES = 2_000_000;
/** Characters of a text that are shown. */
export const MAX_TEXT = 100_000;
/** Frames of a stream that are kept. */
export const MAX_FRAMES = 200;

const SHOWN_HEADERS = [
  ...["content-type", "content-length", "retry-after", "allow", "location", "www-authenticate"],
  ...["cache-control", "etag"],
];

export interface Exchange {
  readonly state: "sending" | "reading" | "done" | "stopped" | "failed";
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Milliseconds until the response began, and until it ended. */
  readonly began: number;
  readonly ended: number;
  readonly bytes: number;
  /** Whether the rest of the response was not loaded. */
  readonly isCut: boolean;
  readonly text: string;
  /** The value of a JSON response; undefined for any other. */
  readonly value: unknown;
  /** The newest frames of a stream, and how many there were. Null if the response is no stream. */
  readonly frames: readonly Frame[] | null;
  readonly frameCount: number;
  /** Why there is no response. */
  readonly error: string;
}

const NOTHING: Exchange = {
  state: "sending",
  status: 0,
  statusText: "",
  headers: [],
  began: 0,
  ended: 0,
  bytes: 0,
  isCut: false,
  text: "",
  value: undefined,
  frames: null,
  frameCount: 0,
  error: "",
};

type Send = (address: string, init: RequestInit) => Promise<Response>;

/**
 * Send a request, and report each change of the exchange. Resolves when the response has ended or the signal aborts; it
 * never rejects.
 */
export async function exchange(
  request: ApiRequest,
  address: string,
  token: string,
  signal: AbortSignal,
  report: (exchange: Exchange) => void,
  { send = fetch, now = () => performance.now() }: { send?: Send; now?: () => number } = {},
): Promise<Exchange> {
  const start = now();
  let current = NOTHING;
  const change = (changes: Partial<Exchange>) => report((current = { ...current, ended: now() - start, ...changes }));
  report(current);
  try {
    const headers = { ...request.headers, ...(token === "" ? {} : { authorization: `Bearer ${token}` }) };
    const { method, body } = request;
    const response = await send(address, { method, headers, body, signal, cache: "no-store", redirect: "error" });
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    change({
      state: "reading",
      status: response.status,
      statusText: response.statusText,
      headers: SHOWN_HEADERS.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      }),
      began: now() - start,
      frames: isStream ? [] : null,
    });
    if (isStream) await readFrames(response, change);
    else change(await readBody(response, type));
    change({ state: "done" });
  } catch (error) {
    if (signal.aborted) change({ state: "stopped" });
    else change({ state: "failed", error: error instanceof Error ? error.message : String(error) });
  }
  return current;
}

async function readBody(response: Response, type: string): Promise<Partial<Exchange>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isCut = false;
  for await (const chunk of chunksOf(response)) {
    chunks.push(chunk);
    bytes += chunk.length;
    isCut = bytes > MAX_BYTES;
    if (isCut) break; // which cancels the response
  }
  const whole = await new Blob(chunks as BlobPart[]).text();
  return { bytes, isCut, text: whole.slice(0, MAX_TEXT), value: isCut ? undefined : jsonOf(whole, type) };
}

async function readFrames(response: Response, change: (changes: Partial<Exchange>) => void): Promise<void> {
  const [parser, decoder] = [new SseParser(), new TextDecoder()];
  let frames: Frame[] = [];
  let [frameCount, bytes] = [0, 0];
  for await (const chunk of chunksOf(response)) {
    const found = parser.push(decoder.decode(chunk, { stream: true }));
    bytes += chunk.length;
    frameCount += found.length;
    frames = [...frames, ...found].slice(-MAX_FRAMES);
    change({ frames, frameCount, bytes });
  }
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function jsonOf(text: string, type: string): unknown {
  if (!/\bjson\b/.test(type)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

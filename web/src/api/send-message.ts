import type { ApiClient } from "./api-client.ts";
import { Problem } from "./problem.ts";

/** A message of the person, with its id. */
export interface OutgoingMessage {
  readonly session_id: string;
  readonly message: string;
  readonly message_id: string;
}

/**
 * Send a message with the definitions of the page's tools. Returns the number of its event. Raises `Problem`.
 *
 * If the server refuses the tools, such as for a name that it uses itself, the message is sent without them.
 */
export async function sendMessage(
  api: Pick<ApiClient, "post">,
  message: OutgoingMessage,
  tools?: readonly unknown[],
  signal?: AbortSignal,
): Promise<number> {
  const options = signal === undefined ? {} : { signal };
  const post = async (body: object) => (await api.post<{ seq: number }>("/api/chat", body, options)).seq;
  if (tools === undefined) return post(message);
  try {
    return await post({ ...message, tools });
  } catch (error) {
    if (!(error instanceof Problem && error.code === "registration")) throw error;
    console.warn(`The server refused the tools of this page: ${error.message}`);
    return post({ ...message, tools: [] });
  }
}

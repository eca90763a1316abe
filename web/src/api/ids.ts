/** Make an id of 128 random bits. `randomUUID` exists only for pages over HTTPS. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0")).join("");
}

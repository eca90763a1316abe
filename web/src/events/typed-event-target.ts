/** An `EventTarget` whose listeners get events of the types in a map. At run time it is `EventTarget` itself. */
export interface TypedEventTarget<TEvents> extends EventTarget {
  addEventListener<K extends keyof TEvents & string>(
    type: K,
    listener: (event: TEvents[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof TEvents & string>(
    type: K,
    listener: (event: TEvents[K]) => void,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

export const TypedEventTarget = EventTarget as new <TEvents>() => TypedEventTarget<TEvents>;

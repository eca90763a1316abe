export interface ToolRegistryChangeDetail {
  readonly action: "registered" | "unregistered" | "cleared";
  /** The tool that was registered or unregistered; undefined for `cleared`. */
  readonly toolName: string | undefined;
  /** The names of all tools after the change, in the order of registration. */
  readonly toolNames: readonly string[];
}

/** A registry has changed. */
export class ToolRegistryChangeEvent extends CustomEvent<ToolRegistryChangeDetail> {
  static readonly type = "tool-registry-change";

  constructor(detail: ToolRegistryChangeDetail) {
    super(ToolRegistryChangeEvent.type, { detail });
  }
}

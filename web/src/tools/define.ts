/** Defines the element `<ag-ui-agent>`. Importing this module is the only side effect of the package. */
import { AgUiAgent } from "./ag-ui-agent.ts";

if (customElements.get("ag-ui-agent") === undefined) customElements.define("ag-ui-agent", AgUiAgent);

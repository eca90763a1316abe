/** Everything that the page loads on demand for its tools. */
export { PageToolController } from "../state/page-tool-controller.ts";
import "../elements/page-run/page-run.ts";
export * from "./index.ts";

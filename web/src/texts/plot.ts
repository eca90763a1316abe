/** The texts of plots. */
import { viewTexts } from "../texts.ts";

export const plotTexts = viewTexts("plot", {
  empty: "Nothing to show yet.",
  asTable: "As table",
  asPlot: "As plot",
  time: "Time",
  moreRows: (count: number) => `The newest ${count} rows are shown.`,
});

/** Texts of the calls that this browser executes. */
import { viewTexts } from "../texts.ts";

export const pageToolTexts = viewTexts("page-tools", {
  elsewhere: "Another tab of this conversation executes it.",
  sending: "Finished. The result is being sent.",
  mayHaveRun: "This may already have run before the page was reloaded or closed. Run it again?",
  runAgain: "Run again",
  giveUp: "Give up",
  copyQuestion: "Copy this text to your clipboard?",
  copy: "Copy",
  notifyQuestion: "Allow notifications of this page?",
  notify: "Allow",
  refuse: "Don’t allow",
  answerTo: (tool: string) => `Decision about ${tool}`,
});

import { css } from "lit";
import { callStyles } from "../call/styles.ts";
import { decisionStyles } from "../decision/styles.ts";
import { formStyles } from "../form/styles.ts";
import { messageStyles } from "../message/styles.ts";
import { requestStyles } from "../request/styles.ts";
import { toolListStyles } from "../tool-list/styles.ts";
import { toolPageStyles } from "../tool-page/styles.ts";
import { toolRunStyles } from "../tool-run/styles.ts";
import { toolSchemasStyles } from "../tool-schemas/styles.ts";
import { toolStatisticsStyles } from "../tool-statistics/styles.ts";
import { valueStyles } from "../value/styles.ts";
import { viewStyles } from "../view/styles.ts";

const layoutStyles = css`
  main {
    container-type: inline-size;
    overflow: hidden;
    padding: 0;
  }
  .panes {
    display: grid;
    grid-template: minmax(0, 1fr) / minmax(0, 1fr);
    height: 100%;
  }
  .pane {
    overflow-y: auto;
    padding: 20px 20px 40px;
  }
  .pane > * {
    max-width: 60rem;
    margin-inline: auto;
  }
  .pane > .notice {
    display: flex;
    align-items: center;
    gap: 12px;
  }
  .back {
    display: inline-block;
    padding: 6px 0 10px;
    color: var(--focus);
    font-size: 0.9rem;
    text-decoration: none;
  }
  .overview h2 {
    margin: 0;
    font: 600 1.1rem/1.4 var(--serif);
  }
  .overview h3 {
    margin: 22px 0 8px;
    font-size: 0.88rem;
  }
  @container (max-width: 759px) {
    .panes[data-shows="tool"] callboard-tool-list,
    .panes[data-shows="list"] .pane {
      display: none;
    }
  }
  @container (min-width: 760px) {
    .panes {
      grid-template-columns: minmax(260px, 340px) minmax(0, 1fr);
    }
    callboard-tool-list {
      border-inline-end: 1px solid var(--line);
    }
    .pane {
      padding: 24px 28px 48px;
    }
    .back {
      display: none;
    }
  }
`;

export const catalogueStyles = [
  ...viewStyles,
  formStyles,
  valueStyles,
  messageStyles,
  decisionStyles,
  requestStyles,
  callStyles,
  toolListStyles,
  toolPageStyles,
  toolRunStyles,
  toolSchemasStyles,
  toolStatisticsStyles,
  layoutStyles,
];

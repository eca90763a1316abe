import { css } from "lit";
import { callStyles } from "../call/styles.ts";
import { composerStyles } from "../composer/styles.ts";
import { connectionStyles } from "../connection/styles.ts";
import { copyLinkStyles } from "../copy-link/styles.ts";
import { decisionStyles } from "../decision/styles.ts";
import { formStyles } from "../form/styles.ts";
import { messageStyles } from "../message/styles.ts";
import { outboxStyles } from "../outbox/styles.ts";
import { requestStyles } from "../request/styles.ts";
import { baseStyles } from "../shared/base-styles.ts";
import { buttonStyles } from "../shared/button-styles.ts";
import { themeStyles } from "../shared/theme-styles.ts";
import { timelineStyles } from "../timeline/styles.ts";
import { dialogStyles } from "../token-dialog/styles.ts";
import { valueStyles } from "../value/styles.ts";
import { welcomeStyles } from "../welcome/styles.ts";

const layoutStyles = css`
  :host {
    display: grid;
    grid-template-rows: auto minmax(0, 1fr) auto;
    grid-template-columns: minmax(0, 1fr);
    height: 100%;
    min-height: 20rem;
    overflow: hidden;
  }
  .top,
  .content,
  .bottom {
    padding-inline: max(16px, calc(50% - 380px));
  }
  .top {
    display: flex;
    align-items: center;
    gap: 12px;
    padding-block: 10px;
    border-bottom: 1px solid var(--line);
  }
  h1,
  slot[name="title"]::slotted(*) {
    flex: 1;
    min-width: 0;
    margin: 0;
    overflow: hidden;
    font: 600 1.1rem/1.4 var(--serif);
    letter-spacing: 0.01em;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  #link-notice {
    display: flex;
    align-items: center;
    justify-content: space-between;
    gap: 8px;
    padding-block: 3px;
    background: color-mix(in srgb, var(--busy) 9%, var(--sheet));
  }
  #scroller {
    position: relative; /* contains labels for screen readers, which would lengthen the page */
    overflow-y: auto;
    overscroll-behavior: contain;
    scroll-padding: 16px;
  }
  #scroller:focus {
    outline: none;
  }
  .content {
    padding-block: 24px;
  }
  .bottom {
    position: relative;
    display: grid;
    gap: 8px;
    padding-block: 10px max(14px, env(safe-area-inset-bottom));
  }
  .floating {
    position: absolute;
    bottom: 100%;
    inset-inline: 0;
    display: flex;
    flex-direction: column;
    align-items: center;
    gap: 6px;
    pointer-events: none;
  }
  .floating button {
    pointer-events: auto;
    min-height: 32px;
    padding: 4px 14px;
    border-radius: 99px;
    box-shadow: var(--shadow);
    font-size: 0.85rem;
  }
  .waiting {
    color: var(--wait);
    border-color: currentcolor;
  }
  #earlier {
    display: block;
    margin: 0 auto 14px;
  }
  @media (max-width: 560px) {
    .wide {
      display: none;
    }
    .content {
      padding-block: 16px;
    }
    .card {
      padding: 10px 12px;
    }
    .choices button {
      flex: 1 1 auto;
    }
    .composer button {
      padding-inline: 12px;
    }
  }
`;

export const chatStyles = [
  themeStyles,
  baseStyles,
  buttonStyles,
  layoutStyles,
  connectionStyles,
  timelineStyles,
  outboxStyles,
  welcomeStyles,
  formStyles,
  composerStyles,
  valueStyles,
  messageStyles,
  decisionStyles,
  requestStyles,
  callStyles,
  copyLinkStyles,
  dialogStyles,
];

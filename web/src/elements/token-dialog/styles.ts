import { css } from "lit";

export const dialogStyles = css`
  dialog {
    width: min(26rem, calc(100vw - 32px));
    padding: 22px;
    color: inherit;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: var(--round);
    box-shadow: var(--shadow);
  }
  dialog::backdrop {
    background: rgb(0 0 0 / 45%);
  }
  dialog h2 {
    margin: 0 0 6px;
    font: 600 1.3rem/1.2 var(--serif);
  }
  dialog p {
    margin: 0 0 14px;
    color: var(--faint);
  }
  dialog .send {
    width: 100%;
    margin-top: 14px;
  }
  dialog .check {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 36px;
    margin-top: 6px;
    font-size: 0.9rem;
  }
  dialog .question {
    margin-bottom: 18px;
    color: var(--ink);
  }
  dialog .choices {
    display: flex;
    justify-content: flex-end;
    gap: 10px;
  }
  dialog .notice {
    margin: 10px 0 0;
  }
`;

import { css } from "lit";

export const composerStyles = css`
  .composer {
    display: flex;
    align-items: flex-end;
    gap: 8px;
    padding: 6px;
    background: var(--sheet);
    border: 1px solid var(--line);
    border-radius: 18px;
    box-shadow: var(--shadow);
  }
  .composer:focus-within {
    border-color: var(--focus);
  }
  .composer textarea {
    flex: 1;
    max-height: 40vh;
    margin: 0;
    border: 0;
    background: none;
    resize: none;
    field-sizing: content;
  }
  .composer textarea:focus-visible {
    outline: none;
  }
`;
